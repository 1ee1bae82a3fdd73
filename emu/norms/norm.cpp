#include "emu/norms/norm.h"

#include "emu/bulk/dispatch.h"

namespace softamp::emu {
NormNode::NormNode(const OpContext& c)
    : engine::NormNode(c),
      threads(c.settings.reference ? 1 : c.settings.threads),
      load(load_of(type, c.settings.environment.semantics)),
      results(type, shape.rows * shape.channels, c.settings) {
  by_body = c.settings.reference || options.half_statistics || load == Load::kNone || results.by_body() ||
            shape.rows * shape.channels == 0;
  if (by_body) return;
  const uint64_t width = shape.group_channels();
  group_lanes = kind == NormKind::kGroups && width <= 32 && (width & (width - 1)) == 0 ? 32 / width : 0;
  vectors = &norms_of(c.settings.isa);
  reductions = &reductions_of(c.settings.isa);
}

void enter_parameters(const kernel::Elements& from, uint64_t channels, const Semantics& s, float* to) {
  kernel::Steps ignored;
  for (uint64_t c = 0; c < channels; ++c) to[c] = ignored.enter(from, c, s);
  std::fill(to + channels, to + padded_floats(channels), 0.0f);
}

std::span<const KernelEntry> norm_kernels() {
  static constexpr KernelEntry kEntries[] = {
      {"FusedBatchNormV3", make_norm}, {"FusedBatchNormGradV3", make_norm_gradient},
      {"LayerNorm", make_norm},        {"LayerNormGrad", make_norm_gradient},
      {"GroupNorm", make_norm},        {"GroupNormGrad", make_norm_gradient},
  };
  return kEntries;
}

}  // namespace softamp::emu
