// Reductions over axes of every kind: outputs whose elements are neighbours, whose outputs are, neither; counts around
// the blocks and lanes of the tree; every dtype, special values, accumulators.
#include <algorithm>
#include <optional>

#include "parity.h"
#include "softamp/graph/operation.h"

namespace softamp::parity {
namespace {

struct Axes {
  Shape shape;
  std::vector<int64_t> axes;
};

std::string text_of(const std::vector<int64_t>& axes) {
  std::string text;
  for (const int64_t axis : axes) text += (text.empty() ? "" : ",") + std::to_string(axis);
  return "[" + text + "]";
}

Tensor elements_of(DType type, const Shape& shape, bool plain) {
  return type == DType::kInt32 ? integers(shape, 1, INT32_MIN, INT32_MAX) : floats(type, shape, 1, plain);
}

/// `all`: the elements are this number, each.
void reduce(Suite& suite, const Setting& setting, const char* op, DType type, const Axes& a, bool plain,
            Attributes attributes, std::optional<double> all = std::nullopt) {
  const bool over_axes = attributes.contains("axes");
  const std::string name = std::string(op) + " " + name_of(type) + " " + a.shape.text() + " over " + text_of(a.axes) +
                           (attributes.contains("accumulator") ? " half" : "") + (plain ? " plain " : " ") +
                           (all ? "all " + std::to_string(*all) + " " : "") + setting.name;
  if (!suite.wants(name)) return;
  Case c;
  c.name = name;
  GraphBuilder b;
  if (over_axes) attributes["axes"] = a.axes;
  b.add(op, {b.placeholder("x", type, a.shape)}, std::move(attributes));
  c.graph = b.build();
  c.feeds.emplace("x", all ? Tensor::full(type, a.shape, *all) : elements_of(type, a.shape, plain));
  c.options = setting.options;
  suite.run(c);
}

/// Elements of large cases: more of them under two settings.
int64_t large(Suite& suite, const Setting& setting) {
  const bool all = setting.name == "nearest" || setting.name == "stochastic";
  return all ? std::min<int64_t>(suite.elements(), 300000) : std::min<int64_t>(suite.elements(), 50000);
}

/// Axes and shapes of a tensor of about `n` elements.
std::vector<Axes> shapes(int64_t n) {
  return {
      {Shape{}, {}},
      {Shape{1}, {}},
      {Shape{7}, {0}},
      {Shape{33}, {0}},
      {Shape{1025}, {-1}},
      {Shape{n}, {}},
      {Shape{n / 40, 40}, {0}},
      {Shape{n / 40, 40}, {1}},
      {Shape{2, 1023}, {1}},
      {Shape{1024, 3}, {0}},
      {Shape{3, 1025}, {-1}},
      {Shape{n / 16, 16}, {0}},
      {Shape{3, n / 12, 4}, {1}},
      {Shape{4, 6, n / 96, 4}, {0, 2}},
      {Shape{4, 6, n / 96, 4}, {1, 3}},
      {Shape{2, 3, 2, n / 60, 5}, {0, 2, 4}},
      {Shape{2, 1, 5, 1, 7}, {1, 3}},
      {Shape{0, 5}, {1}},
  };
}

void over_axes(Suite& suite, const Setting& setting) {
  using enum DType;
  for (const DType type : {kFloat16, kBFloat16, kFloat32, kFloat64, kInt32})
    for (const char* op : {"Sum", "Mean", "Max", "Min"}) {
      if (type == kInt32 && std::string(op) == "Mean") continue;
      for (const Axes& a : shapes(large(suite, setting)))
        for (const bool plain : {false, true}) {
          if (plain && (type == kInt32 || a.shape.elements() < 100)) continue;
          Attributes attributes{{"axes", a.axes}, {"keep_dims", a.shape.rank() % 2 == 0}};
          reduce(suite, setting, op, type, a, plain, attributes);
          if (type != kFloat16 || op[0] != 'S') continue;
          attributes["accumulator"] = std::string("half");
          reduce(suite, setting, plain ? "Sum" : "Mean", type, a, plain, attributes);
        }
    }
}

}  // namespace

void reductions(Suite& suite) {
  using enum DType;
  for (const Setting& setting : settings()) {
    over_axes(suite, setting);
    for (const DType type : {kFloat16, kBFloat16, kFloat32}) {
      // Sums of nothing, and of more blocks than are joined at once.
      reduce(suite, setting, "Sum", type, {Shape{5, 0}, {1}}, true, {{"axes", std::vector<int64_t>{}}});
      reduce(suite, setting, "Mean", type, {Shape{5, 0, 2}, {1}}, true, {{"axes", std::vector<int64_t>{}}});
      for (const Shape& shape : {Shape{1, 1}, Shape{large(suite, setting) / 3, 3}, Shape{5, 5, 5, 16}, Shape{1024, 2},
                                 Shape{1025, 2}, Shape{0, 4}, Shape{8, 0}, Shape{5000, 5}, Shape{7000, 1}})
        for (const bool plain : {false, true}) reduce(suite, setting, "BiasAddGrad", type, {shape, {}}, plain, {});
    }
    // A sum that begins with +0 has another sign; numbers that some settings take as zeros add up to something.
    for (const DType type : {kFloat16, kBFloat16, kFloat32})
      for (const double all : {-0.0, 0x1p-130})
        for (const char* op : {"Sum", "Max", "Min", "L2Loss", "BiasAddGrad"})
          for (const Axes& a : {Axes{Shape{40, 64}, {0}}, Axes{Shape{3, 1088}, {1}}}) {
            Attributes attributes;
            if (op != std::string("L2Loss") && op != std::string("BiasAddGrad")) attributes["axes"] = a.axes;
            reduce(suite, setting, op, type, a, true, attributes, all);
          }
    for (const DType type : {kFloat16, kBFloat16, kFloat32, kFloat64})
      for (const Shape& shape : {Shape{}, Shape{large(suite, setting)}, Shape{25, 2, 50}})
        for (const bool plain : {false, true}) reduce(suite, setting, "L2Loss", type, {shape, {}}, plain, {});
    for (const DType type : {kFloat16, kBFloat16, kFloat32, kFloat64, kInt32})
      for (const char* op : {"ArgMax", "ArgMin"})
        for (const bool plain : {false, true}) {
          if (type == kInt32 && plain) continue;
          reduce(suite, setting, op, type, {Shape{large(suite, setting)}, {}}, plain, {{"axis", int64_t{0}}});
          reduce(suite, setting, op, type, {Shape{3, 100, 9}, {}}, plain, {{"axis", int64_t{1}}});
          reduce(suite, setting, op, type, {Shape{3, 9, 70}, {}}, plain, {{"axis", int64_t{-1}}});
          reduce(suite, setting, op, type, {Shape{1100, 2}, {}}, plain, {{"axis", int64_t{0}}, {"keep_dims", true}});
        }
  }
  // More than 256 blocks to an output: joined twice.
  const Setting& stochastic = settings()[2];
  for (const char* op : {"Sum", "Mean"}) {
    const Axes a{Shape{270 * 1024 + 5}, {0}};
    reduce(suite, stochastic, op, kFloat16, a, true, {{"axes", a.axes}});
    reduce(suite, stochastic, op, kFloat16, a, true, {{"axes", a.axes}, {"accumulator", std::string("half")}});
  }
}

}  // namespace softamp::parity
