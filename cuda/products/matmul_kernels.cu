// MatMul and BatchMatMulV2 on the engine of product_tile.h; Einsum, which is one of them between transpositions.
#include "cuda/products/product_tile.h"
#include "cuda/products/scaled_products.h"
#include "softamp/engine/einsum_node.h"
#include "softamp/engine/product_node.h"

namespace softamp::cuda {
namespace {

class MatMulKernel final : public OpKernel {
 public:
  MatMulKernel(const OpContext& c, Device& device, const char* transpose_a, const char* transpose_b)
      : node_(c, transpose_a, transpose_b) {
    const auto rows = static_cast<int64_t>(node_.rows), columns = static_cast<int64_t>(node_.columns),
               k = static_cast<int64_t>(node_.k);
    ProductParts parts;
    parts.schedules.push_back(node_.schedule);
    ProductPart part;
    part.rows = static_cast<uint32_t>(rows);
    part.columns = static_cast<uint32_t>(columns);
    part.a_rows = PlaceMap::strided(node_.transpose_a ? 1 : k);
    part.a_k = PlaceMap::strided(node_.transpose_a ? rows : 1);
    part.b_k = PlaceMap::strided(node_.transpose_b ? 1 : columns);
    part.b_columns = PlaceMap::strided(node_.transpose_b ? k : 1);
    part.out_rows = PlaceMap::strided(columns);
    parts.have_start = node_.start.given;
    part.start_row = static_cast<int64_t>(node_.start.row);
    for (const engine::MatMulNode::Pair& batch : node_.batches) {
      part.a = static_cast<int64_t>(batch.a) * rows * k;
      part.b = static_cast<int64_t>(batch.b) * columns * k;
      parts.add(part);
      part.out += rows * columns;
      part.start += static_cast<int64_t>(node_.start.matrix);
    }
    product_ = TiledProduct(device, node_.rules, c.settings.environment.semantics, parts);
  }

  size_t scratch_bytes() const override { return product_.scratch_bytes(); }
  void enqueue(const DeviceCall& call) const override {
    product_.enqueue(call, call.in[0], call.in[1], call.out[0], call.scratch, node_.start.at(call.in, 0));
  }
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment& environment,
                                    uint64_t index) const override {
    return node_.operands_at(in, environment, index);
  }
  SiteRoundings roundings(uint32_t site) const override { return node_.roundings(site); }

 private:
  engine::MatMulNode node_;
  TiledProduct product_;
};

class EinsumKernel final : public engine::EinsumKernelBase<OpKernel> {
 public:
  EinsumKernel(const OpContext& context, Device& device)
      : EinsumKernelBase(context, [&](const char* kernel, const OpContext& c) {
          return find_kernel(kernel, c.inputs[0].dtype)(c, device);
        }) {}
  void enqueue(const DeviceCall& call) const override {
    each(call.in, call.out, call.scratch,
         [&](const OpKernel& kernel, const void* const* in, void* const* out, void* scratch) {
           kernel.enqueue({in, out, scratch, call.environment, call.status, call.device, call.refusal});
         });
  }
};

constexpr KernelEntry kProductEntries[] = {
    {"MatMul",
     [](const OpContext& c, Device& d) -> std::unique_ptr<OpKernel> {
       return std::make_unique<MatMulKernel>(c, d, "transpose_a", "transpose_b");
     }},
    {"BatchMatMulV2",
     [](const OpContext& c, Device& d) -> std::unique_ptr<OpKernel> {
       return std::make_unique<MatMulKernel>(c, d, "adj_x", "adj_y");
     }},
    {"Einsum", make_kernel<EinsumKernel>},
    {"ScaledMatMul", make_scaled_matmul},
};

}  // namespace

std::span<const KernelEntry> product_kernels() { return kProductEntries; }

}  // namespace softamp::cuda
