#include "softamp/train/mindspore/loss_scale_manager.h"

#include <bit>
#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"

namespace softamp::cells {
namespace {

/// What MindSpore's step says: whether anything overflowed.
void tell(LossScale& machine, bool overflow) {
  LossScaleEvidence evidence;
  evidence.finite = !overflow;
  machine.update(evidence);
}

LossScaleOptions dynamic_options(double initial, double factor, int64_t window, bool strict) {
  const engine::DefaultEnvironment guard;
  if (!(factor > (strict ? 0 : 1)))
    throw std::invalid_argument("scale_factor is " + shortest_decimal(kBinary64, std::bit_cast<uint64_t>(factor)) +
                                "; expected a number above " + (strict ? "0" : "1"));
  LossScaleOptions o = LossScaleOptions::mindspore();
  o.initial = initial;
  o.growth = factor;
  o.backoff = 1 / factor;
  o.window = window;
  o.unbounded = strict;
  return o;
}

/// The host gives up after so many overflows in a row, the device never.
LossScaleOptions on_device(LossScaleOptions o) {
  o.max_consecutive = 0;
  return o;
}

}  // namespace

bool LossScaleUpdateCell::operator()(bool overflow) {
  tell(machine_, overflow);
  return overflow;
}

DynamicLossScaleUpdateCell::DynamicLossScaleUpdateCell(double value, double factor, int64_t window, bool strict)
    : LossScaleUpdateCell(on_device(dynamic_options(value, factor, window, strict))) {}

FixedLossScaleUpdateCell::FixedLossScaleUpdateCell(double value)
    : LossScaleUpdateCell(LossScaleOptions::mindspore_fixed(value, true)) {}

void LossScaleManager::update_loss_scale(bool overflow) { tell(machine_, overflow); }

std::unique_ptr<LossScaleUpdateCell> LossScaleManager::get_update_cell() const {
  if (!get_drop_overflow_update()) return nullptr;
  return std::make_unique<LossScaleUpdateCell>(on_device(machine_.options()));
}

FixedLossScaleManager::FixedLossScaleManager(double loss_scale, bool drop_overflow_update)
    : LossScaleManager(LossScaleOptions::mindspore_fixed(loss_scale, drop_overflow_update)) {}

DynamicLossScaleManager::DynamicLossScaleManager(double initial, double factor, int64_t window, bool strict)
    : LossScaleManager(dynamic_options(initial, factor, window, strict)) {}

}  // namespace softamp::cells
