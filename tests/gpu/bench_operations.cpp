// Operations that memory limits: roundings, element-wise ones, reductions, softmax, norms, updates. Their rates are
// compared with the device's own copy, by the bytes that their passes read and write.
#include <map>
#include <string>

#include "tests/gpu/bench_operation.h"

namespace softamp::gpu {
namespace {

using enum DType;

/// A graph of one operation as it is put together.
class Making {
 public:
  explicit Making(int64_t elements) : n(elements) {}

  /// An operand with random elements; `exact`: positive ones.
  Port feed(DType type, const Shape& shape, bool positive = false) {
    constexpr int64_t kMost = int64_t{1} << 18;
    const Shape some = shape.elements() > kMost ? Shape{kMost} : shape;
    Tensor elements = parity::floats(type, some, tensors_.size() + 1, true);
    if (positive)
      for (size_t i = size_of(type) - 1; i < elements.type().bytes(); i += size_of(type))
        static_cast<uint8_t*>(elements.data())[i] &= 0x7F;
    return keep(type, shape, std::move(elements));
  }
  Port scalar(float value) { return keep(kFloat32, Shape{}, Tensor::full(kFloat32, Shape{}, value)); }
  Port truth() {
    Tensor yes = parity::truths(Shape{}, 1);
    *static_cast<uint8_t*>(yes.data()) = 1;
    return keep(kBool, Shape{}, std::move(yes));
  }

  const int64_t n;  ///< elements, about
  GraphBuilder builder;

  std::vector<Operation::Operand> operands() const {
    std::vector<Operation::Operand> all;
    for (size_t i = 0; i < types_.size(); ++i) all.push_back({types_[i], tensors_[i].get()});
    return all;
  }

 private:
  Port keep(DType type, const Shape& shape, Tensor elements) {
    tensors_.push_back(std::make_unique<Tensor>(std::move(elements)));
    types_.push_back({type, shape});
    return builder.placeholder("x" + std::to_string(types_.size()), type, shape);
  }
  std::vector<TensorType> types_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
};

struct Row {
  const char* name;
  double goal;   ///< of the copy's rate
  double bytes;  ///< that its passes read and write for an element
  bool stochastic;
  void (*make)(Making&);
};

Shape rows_of(int64_t n, int64_t columns) {
  const int64_t width = std::min(columns, n);
  return Shape{n / width, width};
}
void add(Making& m, const char* op, DType type, int operands) {
  std::vector<Port> in;
  for (int i = 0; i < operands; ++i) in.push_back(m.feed(type, Shape{m.n}));
  m.builder.add(op, in);
}
void cast(Making& m) { m.builder.add("Cast", {m.feed(kFloat32, Shape{m.n})}, {{"DstT", kFloat16}}); }
void add_halves(Making& m) { add(m, "AddV2", kFloat16, 2); }
void sum(Making& m, DType type, std::vector<int64_t> axes) {
  m.builder.add("Sum", {m.feed(type, rows_of(m.n, 1024))}, {{"axes", std::move(axes)}});
}
void norm(Making& m, const char* op, const Shape& shape, bool batch) {
  const Shape channels{shape[shape.rank() - 1]};
  std::vector<Port> in{m.feed(kFloat16, shape), m.feed(kFloat32, channels), m.feed(kFloat32, channels)};
  if (batch) in.insert(in.end(), {m.feed(kFloat32, Shape{0}), m.feed(kFloat32, Shape{0})});
  m.builder.add(op, in);
}
void update(Making& m, const char* op, DType type, int slots, Attributes attributes) {
  std::vector<Port> in;
  for (int i = 0; i < 1 + slots; ++i) in.push_back(m.feed(type, Shape{m.n}, true));
  in.push_back(m.scalar(0.01f));
  if (slots == 2) in.push_back(m.scalar(0.0f));
  in.push_back(m.feed(type, Shape{m.n}));
  in.push_back(m.truth());
  m.builder.add(op, in, std::move(attributes));
}

constexpr double kRounding = 0.95, kElements = 0.85, kRows = 0.6, kUpdates = 0.7;
const Row kTable[] = {
    {"round_nearest_fp32_to_fp16", kRounding, 6, false, cast},
    {"round_stochastic_fp32_to_fp16", kRounding, 6, true, cast},
    {"add_fp16_nearest", kElements, 6, false, add_halves},
    {"add_fp16_stochastic", kElements, 6, true, add_halves},
    {"mul_fp32", kElements, 12, false, [](Making& m) { add(m, "Mul", kFloat32, 2); }},
    {"relu_fp16", kElements, 4, false, [](Making& m) { add(m, "Relu", kFloat16, 1); }},
    {"relu_gradient_fp16", kElements, 6, false, [](Making& m) { add(m, "ReluGrad", kFloat16, 2); }},
    {"tanh_fp16_stochastic", kElements, 4, true, [](Making& m) { add(m, "Tanh", kFloat16, 1); }},
    {"add_n_of_three_fp16_stochastic", kElements, 8, true, [](Making& m) { add(m, "AddN", kFloat16, 3); }},
    {"sum_of_all_fp32", kRows, 4, false,
     [](Making& m) {
       sum(m, kFloat32, {0, 1});
     }},
    {"sum_of_rows_fp16", kRows, 2, false, [](Making& m) { sum(m, kFloat16, {1}); }},
    {"sum_of_columns_fp16", kRows, 2, false, [](Making& m) { sum(m, kFloat16, {0}); }},
    {"bias_gradient_fp16", kRows, 2, false,
     [](Making& m) { m.builder.add("BiasAddGrad", {m.feed(kFloat16, rows_of(m.n, 64))}); }},
    // Three passes: the greatest, the sums, the outputs.
    {"softmax_fp16_stochastic", kRows, 8, true,
     [](Making& m) { m.builder.add("Softmax", {m.feed(kFloat16, rows_of(m.n, 1024))}); }},
    // Two: the moments, the outputs.
    {"layer_norm_fp16_stochastic", kRows, 6, true, [](Making& m) { norm(m, "LayerNorm", rows_of(m.n, 1024), false); }},
    {"batch_norm_fp16_stochastic", kRows, 6, true,
     [](Making& m) {
       const Shape rows = rows_of(m.n, 64);
       norm(m, "FusedBatchNormV3", Shape{rows[0], 1, 1, rows[1]}, true);
     }},
    {"momentum_fp16_stochastic", kUpdates, 10, true,
     [](Making& m) {
       update(m, "ApplyMomentum", kFloat16, 1, {{"momentum", 0.9}});
     }},
    {"adam_fp32", kUpdates, 28, false,
     [](Making& m) {
       update(m, "ApplyAdam", kFloat32, 2, {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}});
     }},
};

}  // namespace

void bench_operations(cuda::Device& device, const Sizes& sizes, double copied, Figures& figures) {
  for (const Row& row : kTable) {
    const double most = static_cast<double>(device.properties().memory) / 4 / row.bytes;
    for (const int64_t wanted : sizes.elements) {
      const bool last = wanted == sizes.elements.back();
      int64_t n = wanted;
      while (static_cast<double>(n) > most && n > 1024) n /= 2;
      Making m(n);
      row.make(m);
      const Graph graph = m.builder.build();
      Operation operation(device, graph, m.operands(), options_of(row.stochastic, false, 16));
      for (const bool status : {false, true}) {
        if (status && !last) continue;
        const Spread s = measure(device, sizes, [&] { operation.put(status); });
        const double rate = static_cast<double>(n) / s.median;
        const std::string name = row.name + (status ? std::string("_with_status")
                                             : last ? ""
                                                    : "_of_" + std::to_string(n));
        figures.add(name, rate * 1e-9, "G/s", rate * row.bytes / copied,
                    "the device copy rate by the bytes of its passes, " + std::to_string(n) + " elements",
                    last && !status ? row.goal : 0, s);
      }
    }
  }
}

}  // namespace softamp::gpu
