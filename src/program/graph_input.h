// Graphs that verbs run, from their files: softamp's own, and TensorFlow's GraphDefs made into such; the values that
// they are given by name.
#pragma once

#include "src/program/usage.h"

#include "softamp/graph/executor.h"
#include "softamp/precision/graph_def_import.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

/// The kind of graph that a file's ending stands for.
enum class GraphKind : uint8_t { kSoftamp, kGraphDef };
/// By the ending: .pb, .pbtxt, .pb.txt.
bool is_graph_def(const std::string& file);
/// Throws UsageError that begins with `place`.
GraphKind kind_of_graph(const std::string& place, const std::string& file);

/// Reads a GraphDef; an empty file is refused, which protobuf takes for an empty graph.
GraphDefFile load_graph_def(const std::string& file);

/// What `option` gives to names, by NAME=VALUE; `form` is what is expected.
std::map<std::string, std::string> given_to_names(const std::string& option, const std::vector<std::string>& texts,
                                                  const std::string& form);

/// The arrays of --feed, name -> file. graph: null for a GraphDef, whose placeholders' dtypes are compared when it
/// runs; unsigned integers of 16 bits are bfloat16 where one is expected. Throws npy::Error.
std::map<std::string, Tensor> load_feeds(const Graph* graph, const std::map<std::string, std::string>& files);

/// Values for placeholders and variables.
struct GivenValues {
  std::map<std::string, Tensor> feeds;      ///< by the names that --feed gives
  std::map<std::string, Tensor> variables;  ///< of a file of many
  std::string variables_file{};             ///< "": none
  std::optional<int64_t> batch{};           ///< of placeholders of a GraphDef that leave it open
};

/// A graph that can run.
struct RunnableGraph {
  Graph graph;
  std::vector<std::string> fetches;                  ///< tensors, by the names of the file
  std::map<std::string, std::string> ports;          ///< of each fetch: its port in `graph`
  std::map<std::string, Tensor> feeds;               ///< of placeholders of `graph`
  std::map<std::string, Tensor> variables;           ///< of variables of `graph`
  std::map<std::string, std::string> without_value;  ///< variables of a GraphDef: name -> why
  /// Of GivenValues::variables: names that are neither of a node nor of a slot of one.
  std::vector<std::string> unused{};
};

/// A softamp graph: feeds of variables go to `variables`; a name that the graph does not have stays among the feeds,
/// which the executor refuses.
RunnableGraph runnable(Graph graph, std::vector<std::string> fetches, GivenValues values);
/// A GraphDef, imported for these fetches. Variables that are given no value get their initial ones, computed once with
/// `options`. Throws GraphDefError.
RunnableGraph runnable(const GraphDefFile& file, const std::vector<std::string>& fetches, const GivenValues& values,
                       const ExecutorOptions& options);
/// Throws UsageError that names all variables without a value.
void require_values(const RunnableGraph& graph);
/// Throws UsageError for a file of --variables that does not fit: names that the graph does not have, each with the
/// nearest of its variables, and those of `needed` that no value is given for.
void require_fitting_names(const RunnableGraph& graph, const std::string& file, const std::vector<std::string>& needed);

}  // namespace softamp::program
