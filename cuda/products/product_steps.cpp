#include "cuda/products/product_steps.h"

#include <algorithm>

namespace softamp::cuda {
namespace {

class Cutter {
 public:
  explicit Cutter(StepRounding rounding) : rounding_(rounding) {}

  void block(const engine::ChainBlock& block) {
    if (fresh_partial_) result_.partials.push_back(static_cast<uint32_t>(result_.steps.size()));
    fresh_partial_ = false;
    const bool rounds = rounding_ == StepRounding::kBlocks || rounding_ == StepRounding::kProducts ||
                        (rounding_ == StepRounding::kPartials && block.closes_partial);
    // A product that is rounded separately is its own block, whatever the schedule.
    const uint32_t unit = rounding_ == StepRounding::kProducts ? 1 : block.length;
    if (rounding_ == StepRounding::kNone) {
      fill(block);
    } else if (!joins(block, unit, rounds)) {
      end_step();
      for (uint32_t left = block.length; left != 0;) {
        end_step();
        const uint32_t length = std::min(left, ProductStep::kMost);
        left -= length;
        now_ = {k_, block.number, static_cast<uint16_t>(length), 0, 0, 0};
        if (rounds && left == 0) now_.every = static_cast<uint16_t>(std::min(unit, length));
        k_ += length;
      }
    } else {
      now_.length = static_cast<uint16_t>(now_.length + block.length);
      k_ += block.length;
    }
    last_number_ = block.number;
    if (block.closes_partial) {
      end_step();
      fresh_partial_ = true;
    }
  }

  ProductSteps finish() {
    end_step();
    return std::move(result_);
  }

 private:
  /// Whether the block continues the open step.
  bool joins(const engine::ChainBlock& block, uint32_t unit, bool rounds) const {
    if (now_.length == 0 || now_.length + block.length > ProductStep::kMost) return false;
    if (!rounds) return now_.every == 0;
    return now_.every != 0 && now_.length % now_.every == 0 && unit <= now_.every && block.number == last_number_ + 1;
  }
  /// Without roundings, blocks follow each other in full steps.
  void fill(const engine::ChainBlock& block) {
    for (uint32_t left = block.length; left != 0;) {
      if (now_.length == ProductStep::kMost) end_step();
      if (now_.length == 0) now_ = {k_, block.number, 0, 0, 0, 0};
      const uint32_t length = std::min(left, ProductStep::kMost - now_.length);
      now_.length = static_cast<uint16_t>(now_.length + length);
      left -= length;
      k_ += length;
    }
  }
  void end_step() {
    if (now_.length) result_.steps.push_back(now_);
    now_ = {};
  }

  StepRounding rounding_;
  ProductSteps result_;
  ProductStep now_{};
  uint32_t k_ = 0, last_number_ = 0;
  bool fresh_partial_ = true;
};

/// Whether the elements of each eight products of a step are neighbours.
bool in_runs(const ProductStep& step, const PlaceMap& map, const int64_t* table) {
  if (map.table < 0 && map.width == 1 && map.height == 1) return map.outer == 1;
  for (uint32_t k = step.k; k + 8 <= step.k + step.length; k += 8)
    for (uint32_t i = 1; i < 8; ++i)
      if (map.place(table, k + i) != map.place(table, k) + i) return false;
  return true;
}

/// Sets one operand's places in a step.
bool set_places(const ProductStep& step, const PlaceMap& map, const int64_t* table, int32_t* places, int32_t* runs) {
  constexpr int64_t kMost = int64_t{1} << 30;
  bool near = true;
  for (uint32_t k = 0; k < ProductStep::kMost; ++k) {
    const int64_t place = k < step.length ? map.place(table, step.k + k) : 0;
    near = near && place < kMost && place > -kMost;
    places[k] = k < step.length && near ? static_cast<int32_t>(place) : StepPlaces::kAbsent;
  }
  for (uint32_t k = 0; k < ProductStep::kMost; k += 8) {
    bool run = k + 8 <= step.length;
    for (uint32_t i = 1; i < 8; ++i) run = run && places[k + i] == places[k] + static_cast<int32_t>(i);
    runs[k / 8] = run ? places[k] : k < step.length ? StepPlaces::kSingly : StepPlaces::kAbsent;
  }
  return near;
}

}  // namespace

bool append_places(const ProductSteps& cut, const PlaceMap& a_k, const PlaceMap& b_k, const std::vector<int64_t>& table,
                   std::vector<StepPlaces>& to) {
  bool near = true;
  for (const ProductStep& step : cut.steps) {
    StepPlaces places{};
    near = set_places(step, a_k, table.data(), places.a, places.a_run) && near;
    near = set_places(step, b_k, table.data(), places.b, places.b_run) && near;
    to.push_back(places);
  }
  return near;
}

ProductSteps cut_schedule(const Schedule& schedule, StepRounding rounding, const PlaceMap& a_k, const PlaceMap& b_k,
                          const std::vector<int64_t>& table) {
  Cutter cutter(rounding);
  for (const engine::ChainBlock& block : schedule.blocks) cutter.block(block);
  ProductSteps cut = cutter.finish();
  for (ProductStep& step : cut.steps)
    step.flags = static_cast<uint16_t>((in_runs(step, a_k, table.data()) ? ProductStep::kRunsOfA : 0) |
                                       (in_runs(step, b_k, table.data()) ? ProductStep::kRunsOfB : 0));
  return cut;
}

}  // namespace softamp::cuda
