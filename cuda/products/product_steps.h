// The blocks of a schedule as the tiled kernels take them: cut into steps that are staged at once.
#pragma once

#include <vector>

#include "cuda/products/product_problem.h"

namespace softamp::cuda {

/// Where chains are rounded to halves.
enum class StepRounding : uint8_t { kNone, kBlocks, kProducts, kPartials };

struct ProductSteps {
  std::vector<ProductStep> steps;
  std::vector<uint32_t> partials;  ///< first step of each independent partial (of the chain, where there are none)
};

/// The steps of a schedule whose operands' positions are `a_k` and `b_k`.
ProductSteps cut_schedule(const Schedule& schedule, StepRounding rounding, const PlaceMap& a_k, const PlaceMap& b_k,
                          const std::vector<int64_t>& table);

/// Appends where the operands of each step lie. False: somewhere too far away for 32 bits.
bool append_places(const ProductSteps& cut, const PlaceMap& a_k, const PlaceMap& b_k, const std::vector<int64_t>& table,
                   std::vector<StepPlaces>& to);

}  // namespace softamp::cuda
