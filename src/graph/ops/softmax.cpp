// Softmax, log-softmax, their gradients and the cross-entropies over the last axis. Formulas: kernel/softmax.h.
#include "src/graph/ops/rows.h"

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

AttributeSpec type() { return type_of(floats(), "dtype of the tensors"); }

// implements: N230
Operation cross_entropy(const char* name, const char* summary, const char* labels, void (*infer)(InferenceContext&)) {
  return row(name, summary, {{"features", "T"}, {"labels", labels}}, {{"loss", "T"}, {"backprop", "T"}}, {type()},
             infer, 2);
}

// implements: N228
void softmax(GradientContext& c) { c.set(0, c.add("SoftmaxGrad", {c.output(), c.arriving()})); }

void log_softmax(GradientContext& c) { c.set(0, c.add("LogSoftmaxGrad", {c.output(), c.arriving()})); }

/// For the logits: the loss' gradient of a row times the operation's output `backprop`. For dense labels: times -log
/// softmax.
void cross_entropy(GradientContext& c) {
  const Port rows = c.add("ExpandDims", {c.arriving()}, {{"axis", -1}});
  if (c.wants(0)) c.set(0, c.add("Mul", {rows, c.output(1)}));
  if (c.wants(1)) c.set(1, c.add("Neg", {c.add("Mul", {rows, c.add("LogSoftmax", {c.input(0)})})}));
}

}  // namespace

std::vector<Operation> softmax() {
  return {
      row("Softmax", "exp(x - max) / sum of exp(x - max) along the last axis.", {{"logits", "T"}}, {{"softmax", "T"}},
          {type()}, infer_rows)
          .with(softmax),
      row("LogSoftmax", "x - max - log of the sum of exp(x - max) along the last axis.", {{"logits", "T"}},
          {{"logsoftmax", "T"}}, {type()}, infer_rows)
          .with(log_softmax),
      row("SoftmaxGrad", "(gradients - sum of gradients softmax) softmax.", {{"softmax", "T"}, {"gradients", "T"}},
          {{"output", "T"}}, {type()}, infer_rows_gradient),
      row("LogSoftmaxGrad", "gradients - exp(logsoftmax) times the sum of gradients.",
          {{"logsoftmax", "T"}, {"gradients", "T"}}, {{"output", "T"}}, {type()}, infer_rows_gradient),
      cross_entropy("SoftmaxCrossEntropyWithLogits",
                    "loss: sum of -labels log softmax(features); backprop: softmax(features) - labels.", "T",
                    [](InferenceContext& c) { infer_cross_entropy(c, false); })
          .with(cross_entropy),
      cross_entropy("SparseSoftmaxCrossEntropyWithLogits",
                    "As SoftmaxCrossEntropyWithLogits; the labels are numbers of classes, one to a row.", "int32",
                    [](InferenceContext& c) { infer_cross_entropy(c, true); })
          .with(cross_entropy),
  };
}

}  // namespace softamp::operations_of
