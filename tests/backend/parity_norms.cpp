// Normalisations and their gradients: every dtype of tensor and parameters, statistics of the batch, given, stable, in
// fp16; groups around the tree's lanes and blocks.
#include <algorithm>
#include <utility>

#include "parity.h"
#include "softamp/graph/operation.h"

namespace softamp::parity {
namespace {

struct Norm {
  const char* op;
  DType type, parameters;
  Shape shape, channels, statistics;  ///< of x, of gamma, of mean and variance
  bool plain;
  Attributes attributes;
  bool unread = false;  ///< batch: no old statistics are given
};

std::string text_of(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes) {
    text += " " + name + "=";
    if (const auto* b = std::get_if<bool>(&value)) text += *b ? "true" : "false";
    if (const auto* i = std::get_if<int64_t>(&value)) text += std::to_string(*i);
    if (const auto* d = std::get_if<double>(&value)) text += std::to_string(*d);
    if (const auto* s = std::get_if<std::string>(&value)) text += *s;
  }
  return text;
}

/// Plain variances are not negative.
Tensor variances(const Shape& shape, DType type, bool plain) {
  Tensor t = floats(type, shape, 7, plain);
  if (!plain) return t;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    if (type == DType::kFloat16)
      static_cast<uint16_t*>(t.data())[i] &= 0x7FFF;
    else
      static_cast<uint32_t*>(t.data())[i] &= 0x7FFFFFFF;
  }
  return t;
}

void run(Suite& suite, const Setting& setting, const Norm& n) {
  const std::string name = std::string(n.op) + " " + name_of(n.type) + "/" + name_of(n.parameters) + " " +
                           n.shape.text() + text_of(n.attributes) + (n.plain ? " plain " : " ") + setting.name;
  if (!suite.wants(name)) return;
  const bool gradient = std::string_view(n.op).find("Grad") != std::string_view::npos;
  const bool batch = std::string_view(n.op).starts_with("Fused");
  Case c;
  c.name = name;
  GraphBuilder b;
  std::vector<Port> inputs;
  const auto feed = [&](const char* input, Tensor value) {
    inputs.push_back(b.placeholder(input, value.type().dtype, value.type().shape));
    c.feeds.emplace(input, std::move(value));
  };
  if (gradient) feed("dy", floats(n.type, n.shape, 1, n.plain));
  feed("x", floats(n.type, n.shape, 2, n.plain));
  feed("gamma", floats(n.parameters, n.channels, 3, n.plain));
  if (!gradient) feed("beta", floats(n.parameters, n.channels, 4, n.plain));
  if (gradient || batch) {
    const DType type = gradient ? DType::kFloat32 : n.parameters;
    const Shape statistics = n.unread ? Shape{0} : n.statistics;
    feed("mean", floats(type, statistics, 5, n.plain));
    feed("variance", variances(statistics, type, n.plain));
  }
  b.add(n.op, inputs, n.attributes);
  c.graph = b.build();
  c.options = setting.options;
  suite.run(c);
}

/// Elements of large cases: more of them under two settings.
int64_t large(Suite& suite, const Setting& setting, bool plain) {
  const bool all = plain && (setting.name == "nearest" || setting.name == "stochastic");
  return std::min<int64_t>(suite.elements(), all ? 1000000 : 50000);
}

void batches(Suite& suite, const Setting& setting, DType type, DType parameters, bool plain) {
  for (const Shape& shape : {Shape{1, 1}, Shape{7, 3}, Shape{large(suite, setting, plain) / 16, 16}, Shape{2, 4, 4, 33},
                             Shape{1025, 2}, Shape{3, 1, 40, 9, 1}, Shape{0, 4}}) {
    const Shape channels{shape[shape.rank() - 1]};
    Norm n{"FusedBatchNormV3", type, parameters, shape, channels, channels, plain, {}, false};
    run(suite, setting, n);
    n.attributes = {{"is_training", false}, {"epsilon", 1e-3}};
    run(suite, setting, n);
    n.attributes = {{"exponential_avg_factor", 0.1}, {"use_stable_statistics", std::string("true")}};
    run(suite, setting, n);
    n.unread = true;
    if (type == DType::kFloat16)
      for (const char* stable : {"false", "true"}) {
        n.attributes = {{"statistics", std::string("half")}, {"use_stable_statistics", std::string(stable)}};
        run(suite, setting, n);
      }
    n.unread = false;
    n.op = "FusedBatchNormGradV3";
    for (const bool training : {false, true}) {
      n.attributes = {{"is_training", training}};
      run(suite, setting, n);
    }
  }
}

/// A norm, its gradient, and the norm with stable statistics and with such of fp16.
void run_with_statistics(Suite& suite, const Setting& setting, Norm n, const char* gradient) {
  run(suite, setting, n);
  const char* const op = std::exchange(n.op, gradient);
  run(suite, setting, n);
  n.op = op;
  for (const char* stable : {"false", "true"}) {
    n.attributes["use_stable_statistics"] = std::string(stable);
    if (*stable == 't') run(suite, setting, n);
    if (n.type != DType::kFloat16) continue;
    n.attributes["statistics"] = std::string("half");
    run(suite, setting, n);
    n.attributes.erase("statistics");
  }
}

void layers(Suite& suite, const Setting& setting, DType type, DType parameters, bool plain) {
  struct Case {
    Shape shape;
    int64_t axis;
    Shape outer, inner;
  };
  const int64_t most = std::min<int64_t>(large(suite, setting, plain), 300000);  // one group
  for (const Case& c : {Case{Shape{5, 1}, -1, Shape{5}, Shape{1}}, Case{Shape{6, 31}, 1, Shape{6}, Shape{31}},
                        Case{Shape{2, 3, 64}, -1, Shape{2, 3}, Shape{64}},
                        Case{Shape{2, 5, 205}, 1, Shape{2}, Shape{5, 205}}, Case{Shape{most}, 0, Shape{}, Shape{most}},
                        Case{Shape{0, 4}, 1, Shape{0}, Shape{4}}, Case{Shape{1030, 2}, 1, Shape{1030}, Shape{2}}}) {
    const Norm n{"LayerNorm", type, parameters, c.shape, c.inner, c.outer, plain, {{"begin_norm_axis", c.axis}}, false};
    run_with_statistics(suite, setting, n, "LayerNormGrad");
  }
}

void groups(Suite& suite, const Setting& setting, DType type, DType parameters, bool plain) {
  struct Case {
    Shape shape;
    int64_t groups;
  };
  for (const Case& c : {Case{Shape{3, 4}, 2}, Case{Shape{2, 5, 5, 12}, 3}, Case{Shape{1, 130, 32}, 2},
                        Case{Shape{2, 9, 7}, 7}, Case{Shape{0, 3, 4}, 2}}) {
    const Shape channels{c.shape[c.shape.rank() - 1]};
    const Norm n{
        "GroupNorm", type, parameters, c.shape, channels, Shape{c.shape[0], c.groups}, plain, {{"groups", c.groups}},
        false};
    run_with_statistics(suite, setting, n, "GroupNormGrad");
  }
}

}  // namespace

void norms(Suite& suite) {
  using enum DType;
  for (const Setting& setting : settings())
    for (const DType type : {kFloat16, kBFloat16, kFloat32})
      for (const DType parameters : {kFloat16, kFloat32})
        for (const bool plain : {false, true}) {
          if (type != kFloat16 && (parameters == kFloat16) == (type == kBFloat16)) continue;
          batches(suite, setting, type, parameters, plain);
          layers(suite, setting, type, parameters, plain);
          groups(suite, setting, type, parameters, plain);
        }
}

}  // namespace softamp::parity
