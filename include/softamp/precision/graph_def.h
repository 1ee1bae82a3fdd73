// TensorFlow's GraphDef, in its binary and its text form: read, rewritten, written. Nothing is lost: operations,
// attributes and function libraries that softamp does not know pass through unchanged.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "softamp/precision/casts.h"

namespace softamp {

/// What is wrong with a GraphDef: names the file, the node (or line and column of a text) and what was expected.
class GraphDefError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct GraphDefImportOptions;
struct ImportedGraph;

/// A value; copies share what they hold until one is rewritten.
class GraphDefFile {
 public:
  /// By the file's ending: .pb binary; .pbtxt, .pb.txt text. Throws GraphDefError for a file not of this form,
  /// duplicate names, inputs that do not exist, and cycles that do not go from a NextIteration to a Merge.
  static GraphDefFile load(const std::filesystem::path& path);
  static GraphDefFile parse_binary(std::string_view bytes, std::string_view place = "GraphDef");
  static GraphDefFile parse_text(std::string_view text, std::string_view place = "GraphDef");

  /// The picture of its nodes. Operations of the table of signatures (src/precision/tensorflow/op_signature_table.cpp:
  /// TensorFlow's own among those of lists and recipes, sources, optimizers and other common ones) have their units and
  /// ports; a list of types gives a unit for each element ("T[0]", "T[1]", ...). Any other is opaque (known = false):
  /// units are its type attributes; if it has exactly one, "T", each port connected to a port of that type is assumed
  /// to be of type T, else none. Such an operation counts as having kernels in float16 and bfloat16, since a list names
  /// it; other opaque ones, and calls of the graph's own functions, have none. Placeholder, _Arg, _Retval and what
  /// `fetches` names are preserved. Throws GraphDefError: a type or a count of ports that is missing or of another
  /// kind, a wrong number of inputs, an input of another type than what it reads, an unknown fetch.
  OpGraph op_graph(ListView<std::string> fetches = {}) const;
  /// A new file: attributes retyped, Cast nodes added (SrcT, DstT, Truncate = false) behind their producers, inputs
  /// redirected; control inputs stay as they are. Throws GraphDefError for a plan of another graph, and for a cast
  /// between a NextIteration and its Merge, which TensorFlow does not allow: they must have one colour.
  GraphDefFile apply(const CastPlan& plan) const;
  /// Step 0 of TensorFlow's pass: FusedBatchNorm and FusedBatchNormGrad become V2 with U = float32.
  GraphDefFile with_fused_batch_norm_v2() const;

  /// The graph with its functions open to passes, as TensorFlow's optimizer opens them first: calls (by name, by
  /// PartitionedCall and its stateful form, of gradients that the library names) are written out, and so are If, Case
  /// and While and their stateless forms where they say `_lower_using_switch_merge`. A node of a function is called
  /// "<call>/<name>"; around it stand Identity and NoOp nodes "Func/<call>/...". What TensorFlow does not write out is
  /// not, and `notes` says why: a function marked `_noinline`, one with effects that nothing waits for, one that XLA
  /// compiles, or that calls itself. Bodies of functions that are still called become parts of the graph without edges
  /// to the rest, as "<function>/<name>", between _Arg and _Retval; those that only a call makes known, and those of
  /// XLA and tf.data, stay, with a note. What is fetched keeps its name. A graph that calls nothing stays as it is.
  /// Throws GraphDefError for faults of functions, and where they become more than 2^18 nodes.
  GraphDefFile opened(ListView<std::string> fetches = {}, std::vector<std::string>* notes = nullptr) const;
  /// The bodies that opened() made parts of the graph back in the library; functions that nothing calls any longer are
  /// gone. Without such bodies the graph itself.
  GraphDefFile closed() const;
  /// Throws GraphDefError unless types agree along every edge, at every call and in every function that it reaches, and
  /// among the operations that share a list of tensors; of a fault that the original has, too, the original's error.
  void verify_rewrite_of(const GraphDefFile& original) const;

  int size() const;
  std::string binary() const;  ///< the same bytes for the same graph
  /// Throws GraphDefError if fields of a newer TensorFlow are present, which only the binary form can hold.
  std::string text() const;
  void save(const std::filesystem::path& path) const;  ///< by the ending; throws GraphDefError

 private:
  friend ImportedGraph import_graph(const GraphDefFile& file, const GraphDefImportOptions& options);
  struct Impl;
  explicit GraphDefFile(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace softamp
