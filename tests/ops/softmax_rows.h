// The test rows of softmax, its gradients and the cross-entropies (node_rows.h).
#pragma once

#include "tests/ops/node_row.h"

namespace softamp::test {

inline const std::vector<NodeRow>& softmax_rows() {
  using namespace rows_detail;
  static const In logits{{2, 4}}, shares{{2, 4}, 0, 1}, logarithms{{2, 4}, -4, 0};
  static const std::vector<NodeRow> kRows = {
      {"Softmax", {logits}},
      {"LogSoftmax", {logits}},
      {"SoftmaxGrad", {shares, logits}},
      {"LogSoftmaxGrad", {logarithms, logits}},
      // Its gradient of the logits holds for rows of labels whose sum is 1.
      {"SoftmaxCrossEntropyWithLogits", {logits, constant({{2, 4}, 0, 0, {0, 1, 0, 0, .25, .5, .125, .125}})}},
      {"SoftmaxCrossEntropyWithLogits", {constant(logits), shares}},
      {"SparseSoftmaxCrossEntropyWithLogits", {{{3, 4}}, integers({3}, {3, 0, 1})}},
  };
  return kRows;
}

}  // namespace softamp::test
