// The passes of TensorFlow's graph rewrite over a picture: what is coloured ALLOW and DENY, and why.
//
// Source: auto_mixed_precision.cc of TensorFlow r2.3 (steps as numbered in graph_rewrite.cpp). Each pass colours all
// vertices reachable from a set of roots; roots are taken in the order of their names, so that reasons, too, do not
// depend on the order of nodes.
#pragma once

#include <string>
#include <vector>

#include "softamp/precision/graph_rewrite.h"
#include "src/precision/tensorflow/tensor_lists.h"

namespace softamp::precision_detail {

class RewritePasses {
 public:
  /// classes, processable: per node. device_kind ("GPU", "CPU"): what processable nodes are on.
  RewritePasses(const OpGraph& graph, DType low, std::vector<OpClass> classes, std::vector<uint8_t> processable,
                const char* device_kind, bool force_all);

  /// Pass 1. False if nothing was coloured.
  bool allow_listed();
  void deny_forward();           ///< pass 2
  void match_tensor_lists();     ///< after passes 2 and 5
  void allow_between();          ///< pass 3
  void allow_through_clear();    ///< pass 4
  void remove_without_kernel();  ///< pass 5
  /// Throws std::runtime_error with TensorFlow's status if a NextIteration leads to anything but a Merge.
  void match_loops();
  void allow_casts();  ///< pass 6

  /// Of a unit, at the end.
  bool low(int unit) const;
  std::string reason(int unit);

 private:
  enum class Why : uint8_t {
    kNothing,
    kAllowList,
    kForced,
    kDenyList,
    kDownstream,    // of a
    kBetween,       // a and b
    kThroughClear,  // from a
    kUnsafeList,    // list of tensors that a makes unsafe
    kListDenied,    // with a
    kListAllowed,   // with a
    kNoKernel,
    kLoopFloat,  // with a
    kLoopLow,    // with a
    kCast,
  };
  struct Paint {
    Why why = Why::kNothing;
    int a = -1, b = -1;  // nodes
  };

  const OpNode& node_of(int v) const { return graph_.nodes[static_cast<size_t>(view_.node(v))]; }
  OpClass class_of(int v) const { return classes_[static_cast<size_t>(view_.node(v))]; }
  bool processable(int v) const { return processable_[static_cast<size_t>(view_.node(v))]; }
  /// A float32 unit with a kernel in low precision: what passes 3 and 4 walk through.
  bool convertible(int v) const { return v < graph_.units() && units_[static_cast<size_t>(v)] == Unit::kConvertible; }
  bool has_low_type(int v) const { return v < graph_.units() && units_[static_cast<size_t>(v)] != Unit::kNoLowType; }
  void paint(int v, Why why, int a = -1, int b = -1) { paint_[static_cast<size_t>(v)] = {why, a, b}; }
  /// An Identity that reads a variable which is no resource, or an Enter behind one.
  bool reads_plain_variable(int node);
  template <class Is>
  std::vector<int> roots(const Is& is) const;
  /// "downstream of 'a'", "between 'a' and 'b'"; other -1: none.
  std::string told(const char* before, int node, const char* behind = "", int other = -1) const;

  enum class Unit : uint8_t { kNoLowType, kOtherType, kConvertible };
  enum class Known : uint8_t { kUnknown, kNo, kYes };

  const OpGraph& graph_;
  const DType low_;
  const char* const device_kind_;
  const bool force_all_;
  const std::vector<OpClass> classes_;
  const std::vector<uint8_t> processable_;
  TypeView view_;
  const std::vector<TensorListCluster> lists_;
  std::vector<Unit> units_;
  std::vector<uint8_t> allow_, deny_;  // per vertex
  std::vector<Paint> paint_;
  std::vector<Known> plain_variable_;  // per node; filled as asked for
};

}  // namespace softamp::precision_detail
