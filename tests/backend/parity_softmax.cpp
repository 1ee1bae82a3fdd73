// Softmax, its gradients and the cross-entropies on rows of every length around the tree's lanes and blocks.
#include <algorithm>

#include "parity.h"
#include "softamp/graph/operation.h"

namespace softamp::parity {
namespace {

void run(Suite& suite, const Setting& setting, const char* op, DType type, const Shape& shape, bool plain,
         int32_t beyond = 0) {
  const std::string name = std::string(op) + " " + name_of(type) + " " + shape.text() + (plain ? " plain " : " ") +
                           (beyond ? "bad label " : "") + setting.name;
  if (!suite.wants(name)) return;
  Case c;
  c.name = name;
  GraphBuilder b;
  const std::string_view which = op;
  std::vector<Port> inputs = {b.placeholder("x", type, shape)};
  c.feeds.emplace("x", floats(type, shape, 1, plain));
  if (which.starts_with("Sparse")) {
    const int32_t last = static_cast<int32_t>(shape[1]) - 1;
    inputs.push_back(b.placeholder("labels", DType::kInt32, Shape{shape[0]}));
    c.feeds.emplace("labels", integers(Shape{shape[0]}, 2, -beyond, last + beyond));
  } else if (which != "Softmax" && which != "LogSoftmax") {
    inputs.push_back(b.placeholder("second", type, shape));
    c.feeds.emplace("second", floats(type, shape, 2, plain));
  }
  b.add(op, inputs);
  c.graph = b.build();
  c.options = setting.options;
  suite.run(c);
}

}  // namespace

void softmax(Suite& suite) {
  using enum DType;
  for (const Setting& setting : settings())
    for (const DType type : {kFloat16, kBFloat16, kFloat32})
      for (const char* op : {"Softmax", "LogSoftmax", "SoftmaxGrad", "LogSoftmaxGrad", "SoftmaxCrossEntropyWithLogits",
                             "SparseSoftmaxCrossEntropyWithLogits"})
        for (const bool plain : {false, true}) {
          const bool all = plain && (setting.name == "nearest" || setting.name == "stochastic");
          const int64_t n = std::min<int64_t>(suite.elements(), all ? 1000000 : 50000);
          for (const Shape& shape : {Shape{1, 1}, Shape{0, 3}, Shape{5, 2}, Shape{n / 10, 10}, Shape{9, 31},
                                     Shape{3, 33}, Shape{2, 1025}, Shape{1, n}})
            run(suite, setting, op, type, shape, plain);
          if (std::string_view(op).find("Entropy") == std::string_view::npos)
            run(suite, setting, op, type, Shape{2, 3, 5, 7}, plain);
        }
  for (const char* op : {"SparseSoftmaxCrossEntropyWithLogits"})
    run(suite, settings()[0], op, kFloat16, Shape{50, 4}, true, 2);
}

}  // namespace softamp::parity
