// Convolutions and their gradients: random geometries, rules, dtypes, settings and values, and the shapes of ResNet-8.
#include <algorithm>
#include <cstring>
#include <random>

#include "parity.h"
#include "softamp/graph/operation.h"

namespace softamp::parity {
namespace {

using Ints = std::vector<int64_t>;

/// What tensors hold. Few elements are special, so that most sums stay numbers.
enum class Values { kPlain, kSparseSpecials, kLarge, kTiny, kAnything };
constexpr const char* kValueNames[] = {"plain", "specials", "large", "tiny", "anything"};

Tensor values_of(Values kind, DType type, const Shape& shape, uint64_t seed) {
  if (kind == Values::kAnything) return floats(type, shape, seed);
  Tensor t = floats(type, shape, seed, true);
  const Tensor specials = floats(type, shape, seed + 1);
  const FloatFormat f = format_of(type);
  const size_t bytes = size_of(type);
  std::mt19937_64 random(seed + 2);
  for (size_t i = 0; i < static_cast<size_t>(shape.elements()); ++i) {
    char* const at = static_cast<char*>(t.data()) + i * bytes;
    const uint64_t word = random();
    if (kind == Values::kSparseSpecials && word % 61 == 0)
      std::memcpy(at, static_cast<const char*>(specials.data()) + i * bytes, bytes);
    uint64_t code = 0;
    std::memcpy(&code, at, bytes);
    const double value = fp::to_double(f, code);
    if (kind == Values::kLarge && word % 8 == 0) code = fp::from_double(f, value * (f == kFp16 ? 256.0 : 0x1p63));
    if (kind == Values::kTiny && word % 3 != 0) code = fp::from_double(f, value * (f == kFp16 ? 0x1p-12 : 0x1p-64));
    std::memcpy(at, &code, bytes);
  }
  return t;
}

/// One convolution with both of its gradients.
struct Geometry {
  bool depthwise = false;
  DType type = DType::kFloat16;
  int64_t batch = 1, height = 1, width = 1, channels = 1, out = 1;  ///< out: filter[3]
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  bool same = true;

  std::string text() const {
    const auto two = [](int64_t a, int64_t b) { return std::to_string(a) + "x" + std::to_string(b); };
    return std::string(depthwise ? "depthwise " : "convolution ") + name_of(type) + " " + std::to_string(batch) + "x" +
           two(height, width) + "x" + two(channels, out) + " k" + two(kernel_h, kernel_w) + " s" +
           two(stride_h, stride_w) + " d" + two(dilation_h, dilation_w) + (same ? " SAME" : " VALID");
  }
};

void run_geometry(Suite& suite, const Geometry& g, const Setting& setting, const ExecutorOptions& options,
                  const std::string& rules, Values values, uint64_t seed, const char* partials = "", int steps = 2) {
  const std::string name =
      g.text() + ", " + rules + ", " + setting.name + ", " + kValueNames[static_cast<size_t>(values)];
  if (!suite.wants(name)) return;
  Case c;
  c.name = name;
  c.options = options;
  c.steps = steps;
  const Shape input{g.batch, g.height, g.width, g.channels}, filter{g.kernel_h, g.kernel_w, g.channels, g.out};
  GraphBuilder b;
  const Port x = b.placeholder("x", g.type, input), f = b.placeholder("f", g.type, filter);
  Attributes attributes{{"strides", Ints{1, g.stride_h, g.stride_w, 1}},
                        {"dilations", Ints{1, g.dilation_h, g.dilation_w, 1}},
                        {"padding", std::string(g.same ? "SAME" : "VALID")},
                        {"partialsType", std::string(partials)}};
  const std::string op = g.depthwise ? "DepthwiseConv2dNative" : "Conv2D";
  const Port y = b.add_named("y", op, {x, f}, attributes);
  const Shape output = b.type(y).shape;
  const Port dy = b.placeholder("dy", g.type, output);
  const auto ints = [](const Shape& s) { return Ints{s[0], s[1], s[2], s[3]}; };
  Attributes of_input = attributes, of_filter = attributes;
  of_input.insert({"input_sizes", ints(input)});
  of_filter.insert({"filter_sizes", ints(filter)});
  b.add_named("dx", op + "BackpropInput", {f, dy}, of_input);
  b.add_named("df", op + "BackpropFilter", {x, dy}, of_filter);
  c.graph = b.build();
  c.feeds.emplace("x", values_of(values, g.type, input, seed * 10 + 1));
  c.feeds.emplace("f", values_of(values, g.type, filter, seed * 10 + 4));
  c.feeds.emplace("dy", values_of(values, g.type, output, seed * 10 + 7));
  suite.run(c);
}

void run_random(Suite& suite, uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 13);
  const auto one_of = [&](const auto&... all) {
    const int64_t list[] = {static_cast<int64_t>(all)...};
    return list[random() % (sizeof...(all))];
  };
  Geometry g;
  g.depthwise = seed % 5 == 4;
  g.type = seed % 8 < 5 ? DType::kFloat16 : seed % 8 == 5 ? DType::kBFloat16 : DType::kFloat32;
  g.batch = one_of(1, 2, 3);
  g.height = 1 + static_cast<int64_t>(random() % 9);
  g.width = 1 + static_cast<int64_t>(random() % 9);
  g.channels = one_of(1, 3, 16, 17, 32);
  g.out = g.depthwise ? one_of(1, 1, 2, 3) : one_of(1, 3, 8, 16, 17, 32);
  g.kernel_h = one_of(1, 3, 3, 5);
  g.kernel_w = one_of(1, 2, 3, 5);
  g.stride_h = one_of(1, 1, 2);
  g.stride_w = one_of(1, 2, 3);
  g.dilation_h = one_of(1, 1, 2);
  g.dilation_w = one_of(1, 1, 2, 4);
  g.same =
      random() % 2 == 0 || (g.kernel_h - 1) * g.dilation_h >= g.height || (g.kernel_w - 1) * g.dilation_w >= g.width;

  const Setting& setting = settings()[random() % settings().size()];
  ExecutorOptions o = setting.options;
  std::string rules;
  const bool half = g.type == DType::kFloat16 && random() % 4 != 0;
  PoplarOptions& poplar = o.config.convolutions.poplar_options;
  poplar["partialsType"] = half ? "half" : "float";
  rules += half ? "half" : "float";
  if (random() % 4 == 0) {
    const bool between = random() % 2 == 0;
    poplar["partialsType.interTile"] = between ? "half" : "float";
    rules += between ? " half between" : " float between";
  }
  if (random() % 6 == 0) {
    poplar["disableSRForAMPVertices"] = "true";
    rules += " stochastic off";
  }
  o.amp_block = static_cast<int>(one_of(16, 16, 1, 1, 4, 0));
  o.amp_inner = static_cast<AmpInner>(one_of(0, 0, 0, 0, 0, 1, 2));
  if (o.amp_inner != AmpInner::kFmaChain) rules += " inner " + std::to_string(static_cast<int>(o.amp_inner));
  o.f32_flush_inner = random() % 10 == 0;
  if (o.f32_flush_inner) rules += " flushed inside";
  // Another accumulator, where nothing that it excludes has been drawn.
  const bool free = !half && poplar.count("partialsType.interTile") == 0 && o.amp_inner == AmpInner::kFmaChain;
  if (free && !o.f32_flush_inner && g.type == DType::kFloat16) {
    o.accumulator = static_cast<Accumulator>(seed % kAccumulators);
    rules += std::string(" ") + name_of(o.accumulator);
  }
  rules += " block " + std::to_string(o.amp_block);
  const auto values = static_cast<Values>(one_of(0, 0, 0, 1, 1, 1, 2, 3, 4));
  run_geometry(suite, g, setting, o, std::to_string(seed) + " " + rules, values, seed, "", seed % 4 == 0 ? 3 : 1);
}

/// Layers of ResNet-8 on small images: in a GPU's run, on the whole ones.
void run_resnet(Suite& suite) {
  const bool full = suite.elements() > 1000000;
  struct Layer {
    int64_t size, channels, out, kernel, stride;
  };
  for (const Layer& l : {Layer{32, 3, 16, 3, 1}, Layer{32, 16, 16, 3, 1}, Layer{32, 16, 32, 3, 2},
                         Layer{32, 16, 32, 1, 2}, Layer{16, 32, 64, 3, 2}, Layer{8, 64, 64, 3, 1}})
    for (const Setting& setting : settings())
      for (const DType type : {DType::kFloat16, DType::kFloat32}) {
        const bool stochastic = setting.name == "stochastic", nearest = setting.name == "nearest";
        if (!stochastic && !nearest) continue;
        for (const int block : {16, 1}) {
          if (block == 1 && (type == DType::kFloat32 || (!full && l.channels != 16))) continue;
          if (!full && nearest && l.size != 32) continue;
          Geometry g;
          g.type = type;
          g.batch = full ? 32 : l.size == 32 ? 2 : 1;
          g.height = g.width = full ? l.size : std::min<int64_t>(l.size, 10);
          g.channels = l.channels;
          g.out = l.out;
          g.kernel_h = g.kernel_w = l.kernel;
          g.stride_h = g.stride_w = l.stride;
          ExecutorOptions o = setting.options;
          o.amp_block = block;
          run_geometry(suite, g, setting, o, "layer half block " + std::to_string(block), Values::kPlain, 5, "half", 1);
        }
      }
}

/// Sums over more places than a partial has, eight products of which the last is of another line, and tensors without
/// elements.
void run_edges(Suite& suite) {
  for (const Setting& setting : settings()) {
    for (const char* partials : {"half", "float"}) {
      Geometry column;
      if (partials[0] == 'f') column.type = DType::kFloat32;
      column.batch = 2;
      column.height = 5;
      column.width = 8;
      column.kernel_h = 3;
      column.channels = 7;
      column.out = 8;
      column.same = false;
      run_geometry(suite, column, setting, setting.options, std::string("column ") + partials, Values::kPlain, 20,
                   partials, 1);
      Geometry g;
      if (partials[0] == 'f') g.type = DType::kFloat32;  // the order of partials shows
      g.batch = 3;
      g.height = g.width = 27;
      g.kernel_h = 3;
      g.kernel_w = 1;
      g.channels = 2;
      g.out = 3;
      ExecutorOptions o = setting.options;
      o.amp_block = setting.name.size() % 2 ? 16 : 4;
      run_geometry(suite, g, setting, o, std::string("many places ") + partials, Values::kPlain, 21, partials, 1);
      g.depthwise = true;
      run_geometry(suite, g, setting, o, std::string("many places ") + partials, Values::kPlain, 22, partials, 1);
    }
    for (const auto& [batch, channels, out] : {std::tuple<int, int, int>{0, 2, 3}, {2, 0, 3}, {2, 2, 0}})
      for (const bool depthwise : {false, true}) {
        Geometry g;
        g.depthwise = depthwise;
        g.batch = batch;
        g.height = 4;
        g.width = 5;
        g.kernel_h = g.kernel_w = 3;
        g.channels = channels;
        g.out = out;
        run_geometry(suite, g, setting, setting.options, "empty", Values::kPlain, 3, "half", 1);
      }
  }
}

}  // namespace

void convolutions(Suite& suite) {
  const uint64_t count = suite.elements() > 1000000 ? 600 : 150;
  for (uint64_t seed = 0; seed < count; ++seed) run_random(suite, seed);
  run_resnet(suite);
  run_edges(suite);
}

}  // namespace softamp::parity
