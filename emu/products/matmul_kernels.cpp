// MatMul and BatchMatMulV2 on the product engine; Einsum, which is one of them between transpositions.
#include <algorithm>

#include "emu/op_kernel.h"
#include "emu/parallel.h"
#include "emu/products/product.h"
#include "emu/products/scaled/scaled_products.h"
#include "softamp/engine/einsum_node.h"
#include "softamp/engine/product_node.h"

namespace softamp::emu {
namespace {

class MatMulKernel final : public OpKernel {
 public:
  MatMulKernel(const OpContext& c, const char* transpose_a, const char* transpose_b)
      : settings_(c.settings),
        node_(c, transpose_a, transpose_b),
        plan_(node_.rules, c.settings.environment.semantics, c.settings.isa, c.settings.reference) {}

  void run(const OpCall& call) const override {
    const size_t batches = node_.batches.size(), products = node_.rows * node_.columns * node_.k;
    const int threads = settings_.reference ? 1 : settings_.threads;
    // Small matrices are shared out whole, in pieces that are worth a thread's while; large ones one after another.
    const bool shared = batches > 1 && products < kLarge && !settings_.reference;
    const size_t grain = shared ? std::max<size_t>(1, kPiece / std::max<size_t>(products, 1)) : batches;
    parallel_status(batches, grain, 1, threads, call.status, [&](size_t begin, size_t end, FpStatus* status) {
      for (size_t batch = begin; batch < end; ++batch) one(call, batch, {shared ? 1 : threads, status, call.stop});
    });
  }

  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment& environment,
                                    uint64_t index) const override {
    return node_.operands_at(in, environment, index);
  }
  SiteRoundings roundings(uint32_t site) const override { return node_.roundings(site); }

 private:
  static constexpr size_t kLarge = size_t{1} << 22, kPiece = size_t{1} << 20;  ///< products

  void one(const OpCall& call, size_t batch, const ProductSettings& settings) const {
    const size_t width = node_.rules.a.storage_bits() <= 16 ? 2 : 4, rows = node_.rows, columns = node_.columns;
    const auto at = [&](const void* data, size_t matrix, size_t elements) {
      return static_cast<const char*>(data) + matrix * elements * width;
    };
    const MatMulOperands operands(plan_, at(call.in[0], node_.batches[batch].a, rows * node_.k), node_.transpose_a,
                                  at(call.in[1], node_.batches[batch].b, columns * node_.k), node_.transpose_b, rows,
                                  columns, node_.k, batch * rows * columns);
    run_product(
        plan_,
        {rows, columns, &node_.schedule, &operands, call.out[0], node_.start.at(call.in, batch), node_.start.row},
        call.environment, settings);
  }

  const EngineSettings& settings_;
  engine::MatMulNode node_;
  ProductPlan plan_;
};

class EinsumKernel final : public engine::EinsumKernelBase<OpKernel> {
 public:
  explicit EinsumKernel(const OpContext& context)
      : EinsumKernelBase(
            context, [](const char* kernel, const OpContext& c) { return find_kernel(kernel, c.inputs[0].dtype)(c); }) {
  }
  void run(const OpCall& call) const override {
    each(call.in, call.out, call.scratch,
         [&](const OpKernel& kernel, const void* const* in, void* const* out, void* scratch) {
           kernel.run({in, out, scratch, call.environment, call.status, call.stop});
         });
  }
};

constexpr KernelEntry kMatmulKernelsEntries[] = {
    {"MatMul",
     [](const OpContext& c) -> std::unique_ptr<OpKernel> {
       return std::make_unique<MatMulKernel>(c, "transpose_a", "transpose_b");
     }},
    {"BatchMatMulV2",
     [](const OpContext& c) -> std::unique_ptr<OpKernel> {
       return std::make_unique<MatMulKernel>(c, "adj_x", "adj_y");
     }},
    {"Einsum", [](const OpContext& c) -> std::unique_ptr<OpKernel> { return std::make_unique<EinsumKernel>(c); }},
    {"ScaledMatMul", make_scaled_matmul},
};

}  // namespace

std::span<const KernelEntry> product_kernels() { return kMatmulKernelsEntries; }

}  // namespace softamp::emu
