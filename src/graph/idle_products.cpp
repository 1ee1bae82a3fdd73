#include "src/graph/idle_products.h"

#include <algorithm>

#include "src/names/idle.h"

namespace softamp::graph_detail {
namespace {

bool any(const ProductUse&) { return true; }
bool takes_half(const ProductUse& p) { return p.takes_half; }
bool is_matmul(const ProductUse& p) { return !p.convolution; }
bool is_convolution(const ProductUse& p) { return p.convolution; }
bool is_core(const ProductUse& p) { return is_tensor_core(p.accumulator); }
bool sums_halves(const ProductUse& p) { return p.half_partials && !is_core(p); }
bool sums_by_blocks(const ProductUse& p) { return sums_halves(p) || p.inner == AmpInner::kExactDot4; }
/// What rn32_each does otherwise than fma_chain.
bool rounds_each(const ProductUse& p) { return p.inner != AmpInner::kRn32Each || (sums_halves(p) && p.block == 1); }

/// What a setting acts on.
struct Setting {
  const char* key;
  bool (*acts_on)(const ProductUse&);
  const char *none, *expected;  ///< where there is nothing of the kind
};
constexpr const char *kNothing = "the graph has no products", *kProduct = "a graph with MatMul, Conv2D or the like";
constexpr Setting kSettings[] = {
    {"accumulator", any, kNothing, kProduct},
    {"tensor_core_operands", any, kNothing, kProduct},
    {"partials", any, kNothing, kProduct},
    {"matmul_partials", is_matmul, "there is no product of matrices", "one"},
    {"convolution_partials", is_convolution, "there is no convolution", "one"},
    {"block", any, kNothing, kProduct},
    {"inner", any, kNothing, kProduct},
};

}  // namespace

std::optional<std::string> idle_product_setting(const ProductDoor& door, std::span<const ProductUse> products) {
  const bool cores = std::ranges::any_of(products, is_core);
  for (const Setting& s : kSettings) {
    const std::string name = door.asked(s.key);
    if (name.empty()) continue;
    if (std::ranges::none_of(products, s.acts_on)) return detail::idle_message(name, s.none, s.expected);
    const bool of_partials = std::string_view(s.key).ends_with("partials");
    if (of_partials &&
        std::ranges::none_of(products, [&](const ProductUse& p) { return s.acts_on(p) && takes_half(p); }))
      return detail::idle_message(name, cores ? "no fp16 accumulator takes such operands" : "no such result is of fp16",
                                  door.spelled(s.key, "float"));
  }
  const std::string half = door.spelled("partials", "half"), exact = door.spelled("inner", "exact_dot4");
  if (const std::string block = door.asked("block"); !block.empty() && std::ranges::none_of(products, sums_by_blocks)) {
    if (std::ranges::all_of(products, is_core))
      return detail::idle_message(block, "a tensor core sums in groups of its own",
                                  door.spelled("accumulator", name_of(Accumulator::kIpuModelA)));
    return detail::idle_message(block, "no product has half partials", half + (exact.empty() ? "" : ", or " + exact));
  }
  if (const std::string inner = door.asked("inner"); !inner.empty() && std::ranges::none_of(products, rounds_each))
    return detail::idle_message(inner, "differs from fma_chain only in half partials of one product each",
                                half + " " + door.spelled("block", "1") + ", or another word");
  return std::nullopt;
}

}  // namespace softamp::graph_detail
