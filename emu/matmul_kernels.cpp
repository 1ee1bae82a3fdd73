// MatMul and BatchMatMulV2 on the product engine.
#include "emu/op_kernel.h"
#include "emu/product.h"
#include "softamp/engine/product_options.h"

namespace softamp::emu {
namespace {

class MatMulKernel final : public OpKernel {
 public:
  MatMulKernel(const OpContext& c, bool transpose_a, bool transpose_b)
      : node_(c.node),
        settings_(c.settings),
        type_(c.inputs[0].dtype),
        transpose_a_(transpose_a),
        transpose_b_(transpose_b),
        batch_sum_(attribute<bool>(c.node, "batch_sum")),
        rules_(engine::product_rules(c, c.settings.matmuls, type_, batch_sum_)),
        plan_(rules_, c.settings.environment.semantics, c.settings.isa, c.settings.reference) {
    const Shape &a = c.inputs[0].shape, &b = c.inputs[1].shape, &out = c.node.outputs[0].shape;
    rows_ = static_cast<size_t>(out[out.rank() - 2]);
    columns_ = static_cast<size_t>(out[out.rank() - 1]);
    k_ = static_cast<size_t>(a[a.rank() - (transpose_a ? 2 : 1)]);
    schedule_ = Schedule::plain(k_, engine::block_length(c.settings.matmuls), batch_sum_);
    number_batches(a, b, out);
  }

  void run(const OpCall& call) const override {
    const size_t width = size_of(type_);
    for (size_t batch = 0; batch < batches_.size(); ++batch) {
      const auto at = [&](const void* data, size_t matrix, size_t elements) {
        return static_cast<const char*>(data) + matrix * elements * width;
      };
      const MatMulOperands operands(plan_, at(call.in[0], batches_[batch].a, rows_ * k_), transpose_a_,
                                    at(call.in[1], batches_[batch].b, columns_ * k_), transpose_b_, rows_, columns_, k_,
                                    batch * rows_ * columns_);
      run_product(plan_, {rows_, columns_, &schedule_, &operands, call.out[0]}, call.environment,
                  {settings_.reference ? 1 : settings_.threads, call.status});
    }
  }

  /// The two factors at which the chain of an output first raises something; empty where a rounding does.
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment& environment, uint64_t index) const override {
    const Pair batch = batches_[index / (rows_ * columns_)];
    const uint64_t row = index % (rows_ * columns_) / columns_, column = index % columns_;
    kernel::ProductRules rules = rules_;
    rules.output = kFp32;  // the final rounding is left out
    kernel::ProductChain chain(rules, environment, index);
    const Semantics& s = environment.semantics;
    size_t k = 0;
    for (const ChainBlock& block : schedule_.blocks) {
      for (uint32_t i = 0; i < block.length; ++i, ++k) {
        const uint64_t a = code_at(in[0], batch.a * rows_ * k_ + (transpose_a_ ? k * rows_ + row : row * k_ + k));
        const uint64_t b =
            code_at(in[1], batch.b * columns_ * k_ + (transpose_b_ ? column * k_ + k : k * columns_ + column));
        chain.step(kernel::widen_operand(rules.a, a, s), kernel::widen_operand(rules.b, b, s), block.number);
        if (kernel::ProductChain(chain).finish().flags & (kInvalid | kOverflow)) return {a, b};
      }
      chain.end_block(block.number);
      if (block.closes_partial) chain.close_partial(block.number);
      if (kernel::ProductChain(chain).finish().flags & (kInvalid | kOverflow)) return {};
    }
    return {};
  }

  SiteRoundings roundings(uint32_t site) const override {
    const auto outputs = static_cast<uint64_t>(node_.outputs[0].shape.elements());
    if (site == 0 && (rules_.partials == kernel::PartialsType::kHalf || rules_.round_partials))
      return {schedule_.blocks.empty() ? 0 : schedule_.blocks.back().number + uint64_t{1}, outputs};
    const bool final_rounding =
        rules_.output != kFp32 && (rules_.independent || rules_.partials == kernel::PartialsType::kFloat);
    return site == 1 && final_rounding ? SiteRoundings{1, outputs} : SiteRoundings{};
  }

 private:
  uint64_t code_at(const void* data, size_t i) const {
    return size_of(type_) == 2 ? uint64_t{static_cast<const uint16_t*>(data)[i]}
                               : uint64_t{static_cast<const uint32_t*>(data)[i]};
  }

  /// The matrices of each product of a batch; an extent of 1 stretches.
  struct Pair {
    size_t a, b;
  };
  void number_batches(const Shape& a, const Shape& b, const Shape& out) {
    size_t count = 1;
    for (int axis = 0; axis < out.rank() - 2; ++axis) count *= static_cast<size_t>(out[axis]);
    for (size_t batch = 0; batch < count; ++batch)
      batches_.push_back({matrix_of(batch, a, out), matrix_of(batch, b, out)});
  }
  static size_t matrix_of(size_t batch, const Shape& operand, const Shape& out) {
    size_t matrix = 0, stride = 1;
    for (int axis = out.rank() - 3, mine = operand.rank() - 3; mine >= 0; --axis, --mine) {
      const auto extent = static_cast<size_t>(out[axis]), own = static_cast<size_t>(operand[mine]);
      matrix += own == 1 ? 0 : batch % extent * stride;
      stride *= own;
      batch /= extent;
    }
    return matrix;
  }

  const Node& node_;
  const EngineSettings& settings_;
  DType type_;
  bool transpose_a_, transpose_b_, batch_sum_;
  kernel::ProductRules rules_;
  ProductPlan plan_;
  size_t rows_, columns_, k_;
  Schedule schedule_;
  std::vector<Pair> batches_;
};

constexpr KernelEntry kEntries[] = {
    {"MatMul",
     [](const OpContext& c) -> std::unique_ptr<OpKernel> {
       return std::make_unique<MatMulKernel>(c, attribute<bool>(c.node, "transpose_a"),
                                             attribute<bool>(c.node, "transpose_b"));
     }},
    {"BatchMatMulV2",
     [](const OpContext& c) -> std::unique_ptr<OpKernel> {
       return std::make_unique<MatMulKernel>(c, attribute<bool>(c.node, "adj_x"), attribute<bool>(c.node, "adj_y"));
     }},
};

}  // namespace

std::span<const KernelEntry> product_kernels() { return kEntries; }

}  // namespace softamp::emu
