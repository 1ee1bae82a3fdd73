// Softmax, log-softmax, their gradients and the cross-entropies over the last axis. Formulas: kernel/softmax.h.
#include "softamp/graph/operation.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;

void need_classes(InferenceContext& c) {
  const Shape& shape = c.shape(0);
  if (shape.rank() == 0) c.fail("a scalar has no axis of classes");
  for (int a = 0; a + 1 < shape.rank(); ++a)
    if (shape[a] == 0) return;  // no rows, no fault
  if (shape[shape.rank() - 1] == 0) c.fail("the last axis of " + shape.text() + " is empty; expected a class or more");
}

void infer_rows(InferenceContext& c) {
  need_classes(c);
  c.output(0, c.shape(0));
}

void infer_rows_gradient(InferenceContext& c) {
  need_classes(c);
  if (c.shape(0) != c.shape(1)) c.fail("shapes differ: " + c.shape(0).text() + " and " + c.shape(1).text());
  c.output(0, c.shape(0));
}

void infer_cross_entropy(InferenceContext& c, bool sparse) {
  const Shape& features = c.shape(0);
  if (features.rank() != 2) c.fail("features is " + features.text() + "; expected [batch, classes]");
  need_classes(c);
  const Shape labels = sparse ? Shape{features[0]} : features;
  if (c.shape(1) != labels)
    c.fail("labels is " + c.shape(1).text() + "; expected " + labels.text() + " for features " + features.text());
  c.output(0, Shape{features[0]});
  c.output(1, features);
}

AttributeSpec type() {
  return {"T", kType, {}, "dtype of the tensors", {}, {DType::kFloat16, DType::kBFloat16, DType::kFloat32}};
}

Operation cross_entropy(const char* name, const char* summary, const char* labels, void (*infer)(InferenceContext&)) {
  return {name,  summary, {{"features", "T"}, {"labels", labels}}, {{"loss", "T"}, {"backprop", "T"}}, {type()}, 2,
          infer, false};
}

}  // namespace

std::vector<Operation> softmax() {
  return {
      {"Softmax",
       "exp(x - max) / sum of exp(x - max) along the last axis.",
       {{"logits", "T"}},
       {{"softmax", "T"}},
       {type()},
       1,
       infer_rows,
       false},
      {"LogSoftmax",
       "x - max - log of the sum of exp(x - max) along the last axis.",
       {{"logits", "T"}},
       {{"logsoftmax", "T"}},
       {type()},
       1,
       infer_rows,
       false},
      {"SoftmaxGrad",
       "(gradients - sum of gradients softmax) softmax.",
       {{"softmax", "T"}, {"gradients", "T"}},
       {{"output", "T"}},
       {type()},
       1,
       infer_rows_gradient,
       false},
      {"LogSoftmaxGrad",
       "gradients - exp(logsoftmax) times the sum of gradients.",
       {{"logsoftmax", "T"}, {"gradients", "T"}},
       {{"output", "T"}},
       {type()},
       1,
       infer_rows_gradient,
       false},
      cross_entropy("SoftmaxCrossEntropyWithLogits",
                    "loss: sum of -labels log softmax(features); backprop: softmax(features) - labels.", "T",
                    [](InferenceContext& c) { infer_cross_entropy(c, false); }),
      cross_entropy("SparseSoftmaxCrossEntropyWithLogits",
                    "As SoftmaxCrossEntropyWithLogits; the labels are numbers of classes, one to a row.", "int32",
                    [](InferenceContext& c) { infer_cross_entropy(c, true); }),
  };
}

}  // namespace softamp::operations_of
