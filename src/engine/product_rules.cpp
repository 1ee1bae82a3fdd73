#include "softamp/engine/product_rules.h"

#include "softamp/graph/graph.h"

namespace softamp::engine {
namespace {

[[noreturn]] void refuse(const Node& node, Accumulator accumulator, const std::string& why) {
  throw GraphError(node.op + " '" + node.name + "': accumulator " + name_of(accumulator) + " " + why);
}

/// Throws GraphError where the accumulator cannot sum a product of `type`.
void check_accumulator(const Node& node, const kernel::ProductRules& rules, DType type) {
  const Accumulator accumulator = rules.accumulator;
  if (rules.partials == kernel::PartialsType::kHalf || rules.round_partials)
    refuse(node, accumulator, "keeps float partials and partialsType is half; expected partialsType float");
  if (!is_tensor_core(accumulator) || tensor_core(accumulator, rules.a).exists()) return;
  refuse(node, accumulator, std::string("has no operands of ") + std::string(name_of(type)) + "; expected float16");
}

}  // namespace

kernel::ProductRules product_rules(const OpContext& context, const ProductOptions& options, DType type,
                                   bool independent) {
  kernel::ProductRules rules;
  rules.a = rules.b = rules.output = format_of(type);
  const std::string& own = attribute<std::string>(context.node, "partialsType");
  bool half = own.empty() ? options.half_partials : own == "half";
  bool half_between = own.empty() ? options.half_between_blocks : half;
  if ((half || half_between) && type != DType::kFloat16) {
    context.warnings.push_back(context.node.op + " '" + context.node.name + "': partialsType half is ignored: " +
                               (type == DType::kFloat32 ? "smaller than the output type float32"
                                                        : "half does not hold the output type bfloat16"));
    half = half_between = false;
  }
  rules.partials = half ? kernel::PartialsType::kHalf : kernel::PartialsType::kFloat;
  rules.inner = options.inner;
  rules.accumulator = options.accumulator;
  rules.exact_each = half && options.block == 1 && rules.inner == AmpInner::kFmaChain;
  rules.independent = independent;
  rules.round_partials = independent && half_between;
  rules.flush_inner = options.flush_inner;
  rules.stochastic_off = options.stochastic_off;
  if (options.accumulator != Accumulator::kIpuModelA) check_accumulator(context.node, rules, type);
  return rules;
}

}  // namespace softamp::engine
