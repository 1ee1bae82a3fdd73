#include "softamp/engine/product_rules.h"

#include "softamp/graph/graph.h"

namespace softamp::engine {
namespace {

[[noreturn]] void refuse(const Node& node, Accumulator accumulator, const std::string& why) {
  throw GraphError(node.op + " '" + node.name + "': accumulator " + name_of(accumulator) + " " + why);
}

/// The first tensor core with such operands.
const char* first_with(const kernel::ProductRules& rules) {
  kernel::ProductRules other = rules;
  for (int i = 0; i < kAccumulators; ++i) {
    other.accumulator = static_cast<Accumulator>(i);
    if (kernel::core_of(other).exists()) return name_of(other.accumulator);
  }
  return "";
}

/// Throws GraphError where the accumulator cannot sum a product of `type`.
void check_accumulator(const Node& node, const kernel::ProductRules& rules, DType type) {
  const Accumulator accumulator = rules.accumulator;
  if (rules.partials == kernel::PartialsType::kHalf || rules.round_partials)
    refuse(node, accumulator, "keeps float partials and partialsType is half; expected partialsType float");
  if (!is_tensor_core(accumulator) || kernel::core_of(rules).exists()) return;
  if (rules.operands != TensorCoreOperands::kOwn)
    refuse(node, accumulator,
           std::string("has no operands of ") + name_of(rules.operands) +
               ", which tensor_core_operands says; expected " + first_with(rules) + " or later");
  refuse(node, accumulator, std::string("has no operands of ") + std::string(name_of(type)) + "; expected float16");
}

/// partialsType half of a tensor core: its fp16 accumulator, where it has one for these operands.
// implements: N481
void take_half_accumulator(const OpContext& context, kernel::ProductRules& rules) {
  rules.half_accumulator = true;
  if (kernel::core_of(rules).exists()) return;
  rules.half_accumulator = false;
  if (!kernel::core_of(rules).exists()) return;  // refused
  context.warnings.push_back(context.node.op + " '" + context.node.name +
                             "': partialsType half is ignored: accumulator " + name_of(rules.accumulator) +
                             " has an fp16 accumulator only for operands of float16, e4m3 and e5m2");
}

}  // namespace

// implements: N108
kernel::ProductRules product_rules(const OpContext& context, const ProductOptions& options, DType type,
                                   bool independent) {
  kernel::ProductRules rules;
  rules.a = rules.b = rules.output = format_of(type);
  const std::string& own = attribute<std::string>(context.node, "partialsType");
  bool half = own.empty() ? options.half_partials : own == "half";
  bool half_between = own.empty() ? options.half_between_blocks : half;
  rules.accumulator = options.accumulator;
  rules.operands = options.operands;
  if (is_tensor_core(options.accumulator) && half) {
    take_half_accumulator(context, rules);
    half = half_between = false;
  }
  if ((half || half_between) && type != DType::kFloat16) {
    context.warnings.push_back(context.node.op + " '" + context.node.name + "': partialsType half is ignored: " +
                               (type == DType::kFloat32 ? "smaller than the output type float32"
                                                        : "half does not hold the output type bfloat16"));
    half = half_between = false;
  }
  rules.partials = half ? kernel::PartialsType::kHalf : kernel::PartialsType::kFloat;
  rules.inner = options.inner;
  rules.exact_each = half && options.block == 1 && rules.inner == AmpInner::kFmaChain;
  rules.independent = independent;
  rules.round_partials = independent && half_between;
  rules.flush_inner = options.flush_inner;
  rules.stochastic_off = options.stochastic_off;
  if (options.accumulator != Accumulator::kIpuModelA) check_accumulator(context.node, rules, type);
  return rules;
}

}  // namespace softamp::engine
