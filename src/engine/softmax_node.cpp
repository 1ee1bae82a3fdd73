#include "softamp/engine/softmax_node.h"

#include <stdexcept>

#include "softamp/graph/operation.h"

namespace softamp::engine {
namespace {

SoftmaxKind softmax_kind_of(const std::string& op) {
  if (op == "Softmax") return SoftmaxKind::kSoftmax;
  if (op == "LogSoftmax") return SoftmaxKind::kLogSoftmax;
  if (op == "SoftmaxGrad") return SoftmaxKind::kGradient;
  if (op == "LogSoftmaxGrad") return SoftmaxKind::kLogGradient;
  return op == "SoftmaxCrossEntropyWithLogits" ? SoftmaxKind::kDense : SoftmaxKind::kSparse;
}

}  // namespace

SoftmaxNode::SoftmaxNode(const OpContext& c)
    : kind(softmax_kind_of(c.node.op)),
      type(c.inputs[0].dtype),
      classes(static_cast<uint64_t>(c.inputs[0].shape[c.inputs[0].shape.rank() - 1])),
      rows(classes ? static_cast<uint64_t>(c.inputs[0].shape.elements()) / classes : 0),
      name_(c.node.op + " '" + c.node.name + "'"),
      draws_(c.settings.environment.semantics.draws(format_of(type))) {}

void SoftmaxNode::fail_label(uint64_t row, int32_t label) const {
  throw std::out_of_range(name_ + ": label " + std::to_string(label) + " of row " + std::to_string(row) +
                          "; expected 0 .. " + std::to_string(classes - 1));
}

OpKernel::SiteRoundings SoftmaxNode::roundings(uint32_t site) const {
  if (!draws_ || rows == 0 || site > (entropy() ? 1u : 0u)) return {};
  return {1, entropy() && site == 0 ? rows : rows * classes};
}

}  // namespace softamp::engine
