// What a verb of the module gives, by C++: `verbs NAME` reads 2020 floats from standard input, 1020 of every kind and
// 1000 normal ones, and writes the result's bytes to standard output. tests/python/test_cpp.py holds the module against
// it.
#include "softamp/softamp.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>

using namespace softamp;

namespace {

struct Floats {
  std::span<const float> any, normal;
};
using Codes = std::vector<uint16_t>;

constexpr uint64_t kSeed = 11;
constexpr uint32_t kStep = 2, kOperation = 3;
constexpr uint64_t kFirst = 1000;

template <typename T>
void put(std::span<const T> values) {
  if (std::fwrite(values.data(), sizeof(T), values.size(), stdout) != values.size()) std::exit(2);
}
template <typename T>
void put(const std::vector<T>& values) {
  put(std::span<const T>(values));
}
void put(const Tensor& tensor) { put(std::span(static_cast<const std::byte*>(tensor.data()), tensor.bytes())); }

bulk::BulkOptions addresses() {
  bulk::BulkOptions options;
  options.random.seed = kSeed;
  options.random.step = kStep;
  options.random.operation = kOperation;
  options.random.first_index = kFirst;
  return options;
}
Semantics stochastic(int bits) { return Semantics::ieee(RoundingPolicy::stochastic_carry(bits)); }

Codes halves(std::span<const float> x) {
  Codes codes(x.size());
  bulk::round(x, kFp16, codes, Semantics::ieee());
  return codes;
}

Tensor half_tensor(std::span<const float> x, int64_t rows, int64_t columns) {
  std::vector<double> values;
  for (const uint16_t code : halves(x)) values.push_back(value_of(kFp16, code));
  values.resize(static_cast<size_t>(rows * columns));
  return Tensor::from_values(DType::kFloat16, {rows, columns}, values);
}

/// add, sub, mul, div, fma, sqrt of the first third of the halves with the second and the last.
template <typename Operation>
std::function<void(Floats)> arithmetic(Operation operation) {
  return [operation](Floats x) {
    const Codes h = halves(x.any);
    const size_t n = h.size() / 3;
    const RandomBits random{kSeed};
    Codes out(n);
    for (size_t i = 0; i < n; ++i)
      out[i] = static_cast<uint16_t>(
          operation(h[i], h[n + i], h[2 * n + i], stochastic(9), random.bits(kStep, kOperation, kFirst + i, 9)).code);
    put(out);
  };
}

/// An addition after another, from 0: what softamp.sum and dot say of themselves (docs/PYTHON.md).
void sums(Floats x, bool products) {
  const Codes h = halves(x.normal);
  const size_t n = products ? h.size() / 2 : h.size();
  std::vector<double> out;
  for (uint64_t replica = 0; replica < 3; ++replica) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t random = RandomBits{kSeed}.bits(static_cast<uint32_t>(i), kOperation, replica, 13);
      sum = products ? fp::fma(kFp16, h[i], h[n + i], sum, stochastic(13), random).code
                     : fp::add(kFp16, sum, h[i], stochastic(13), random).code;
    }
    out.push_back(value_of(kFp16, sum));
  }
  put(out);
}

void engine(GraphBuilder&& builder, const ExecutorOptions& options, const std::vector<Feed>& feeds,
            const std::vector<std::string>& fetches) {
  const RunResult result = make_executor(builder.build(), options)->run(feeds, fetches);
  for (const Tensor& value : result.values) put(value);
}

void matmul(Floats x) {
  const Tensor a = half_tensor(x.normal.first(500), 5, 100), b = half_tensor(x.normal.subspan(500, 300), 100, 3);
  GraphBuilder g;
  g.add("MatMul", {g.placeholder("a", DType::kFloat16, {5, 100}), g.placeholder("b", DType::kFloat16, {100, 3})}, {},
        "result");
  ExecutorOptions options;
  options.seed = kSeed;
  options.config.set("floating_point_behaviour.esr", true);
  options.config.set("matmuls.poplar_options", PoplarOptions{{"partialsType", "half"}});
  engine(std::move(g), options, {{"a", &a}, {"b", &b}}, {"result"});
}

void graph(Floats x) {
  const Tensor feed = half_tensor(x.normal.first(6), 2, 3);
  const auto executor = make_executor(load_graph(SOFTAMP_SOURCE_DIR "/examples/graphs/dense.json").graph, {});
  for (const Tensor& value :
       executor->run(std::vector<Feed>{{"x", &feed}}, {"dense/hidden", "dense/probabilities"}).values)
    put(value);
}

const block::BlockFormat& nvfp4() {
  static const block::BlockFormat format = parse_block_format("nvfp4:rounding=stochastic,bits=9");
  return format;
}

void quantize(Floats x, bool back) {
  const auto finite = x.any.subspan(20, 960);
  const auto layout = bulk::BlockLayout::of(std::vector<int64_t>{6, 160});
  std::vector<uint8_t> codes(finite.size()), scales(bulk::scale_count(layout, nvfp4()));
  bulk::BulkOptions options = addresses();
  options.random.first_index = 0;
  const uint32_t amax = bulk::quantize(finite, layout, nvfp4(), codes, scales, options);
  if (!back) return put(codes), put(scales);
  std::vector<float> values(finite.size());
  bulk::dequantize(codes, scales, layout, nvfp4(), amax, values);
  put(values);
}

const std::map<std::string, std::function<void(Floats)>> kVerbs = {
    {"round",
     [](Floats x) {
       Codes codes(x.any.size());
       bulk::round(x.any, kFp16, codes, stochastic(13), addresses());
       put(codes);
     }},
    {"round_values",
     [](Floats x) {
       std::vector<float> values(x.any.size());
       bulk::round_values(x.any, FloatFormat::bf16(), values, Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kUp)));
       put(values);
     }},
    {"round_as_a_chip",
     [](Floats x) {
       std::vector<uint8_t> codes(x.any.size());
       bulk::round_as({.chip = chip_from_name("nvidia_sm100"), .to = FloatFormat::e5m2()}, x.any, codes, addresses());
       put(codes);
     }},
    {"widen",
     [](Floats x) {
       std::vector<float> values(x.any.size());
       bulk::widen(std::span<const uint16_t>(halves(x.any)), kFp16, std::span<float>(values), Semantics::ieee());
       put(values);
     }},
    {"add",
     arithmetic([](auto a, auto b, auto, const Semantics& s, uint32_t r) { return fp::add(kFp16, a, b, s, r); })},
    {"sub",
     arithmetic([](auto a, auto b, auto, const Semantics& s, uint32_t r) { return fp::sub(kFp16, a, b, s, r); })},
    {"mul",
     arithmetic([](auto a, auto b, auto, const Semantics& s, uint32_t r) { return fp::mul(kFp16, a, b, s, r); })},
    {"div",
     arithmetic([](auto a, auto b, auto, const Semantics& s, uint32_t r) { return fp::div(kFp16, a, b, s, r); })},
    {"fma",
     arithmetic([](auto a, auto b, auto c, const Semantics& s, uint32_t r) { return fp::fma(kFp16, a, b, c, s, r); })},
    {"sqrt", arithmetic([](auto a, auto, auto, const Semantics& s, uint32_t r) { return fp::sqrt(kFp16, a, s, r); })},
    {"quantize", [](Floats x) { quantize(x, false); }},
    {"fake_quantize",
     [](Floats x) {
       std::vector<float> values(960);
       bulk::fake_quantize(x.any.subspan(20, 960), bulk::BlockLayout::of(std::vector<int64_t>{6, 160}), nvfp4(), values,
                           addresses());
       put(values);
     }},
    {"dequantize", [](Floats x) { quantize(x, true); }},
    {"sum", [](Floats x) { sums(x, false); }},
    {"dot", [](Floats x) { sums(x, true); }},
    {"running_sum",
     [](Floats) {
       RunningSumSetup setup;
       setup.semantics = stochastic(13);
       setup.addend = fp::from_double(kFp16, 0.0625);
       setup.count = 3000;
       setup.replicas = 4;
       setup.seed = kSeed;
       put(running_sum(setup).codes);
     }},
    {"matmul", matmul},
    {"graph", graph},
    {"train",
     [](Floats) {
       RunOutput output;
       output.quiet = true;
       put(run_training(TrainSettings::from_json(R"({"generated": true, "precision": "float16", "steps": 3,
           "stochastic_rounding": "on", "train_images": 256, "evaluate": false, "seed": 3})"),
                        output)
               .losses);
     }},
};

}  // namespace

int main(int count, char** words) {
  const auto verb = count == 2 ? kVerbs.find(words[1]) : kVerbs.end();
  std::vector<float> x(2020);
  if (verb == kVerbs.end() || std::fread(x.data(), sizeof(float), x.size(), stdin) != x.size()) {
    for (const auto& [name, ignored] : kVerbs) std::printf("%s\n", name.c_str());
    return verb == kVerbs.end() && count == 1 ? 0 : 2;
  }
  verb->second({std::span(x).first(1020), std::span(x).subspan(1020)});
}
