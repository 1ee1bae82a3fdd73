#include "softamp/train/mindspore/loss_scale_manager.h"

#include <bit>
#include <stdexcept>

#include "softamp/report/number_text.h"

namespace softamp::cells {
namespace {

LossScaleOptions dynamic_options(double initial, double factor, int64_t window, bool on_host) {
  if (!(factor > 1))
    throw std::invalid_argument("scale_factor is " + shortest_decimal(kBinary64, std::bit_cast<uint64_t>(factor)) +
                                "; expected a number above 1");
  LossScaleOptions o = LossScaleOptions::mindspore();
  o.initial = initial;
  o.growth = factor;
  o.backoff = 1 / factor;
  o.window = window;
  if (!on_host) o.max_consecutive = 0;
  o.validate();
  return o;
}

}  // namespace

bool LossScaleUpdateCell::operator()(bool overflow) {
  LossScaleEvidence evidence;
  evidence.finite = !overflow;
  machine_.update(evidence);
  return overflow;
}

DynamicLossScaleUpdateCell::DynamicLossScaleUpdateCell(double value, double factor, int64_t window)
    : LossScaleUpdateCell(dynamic_options(value, factor, window, false)) {}

FixedLossScaleUpdateCell::FixedLossScaleUpdateCell(double value)
    : LossScaleUpdateCell(LossScaleOptions::mindspore_fixed(value, true)) {}

void LossScaleManager::update_loss_scale(bool overflow) {
  LossScaleEvidence evidence;
  evidence.finite = !overflow;
  machine_.update(evidence);
}

FixedLossScaleManager::FixedLossScaleManager(double loss_scale, bool drop_overflow_update)
    : LossScaleManager(LossScaleOptions::mindspore_fixed(loss_scale, drop_overflow_update)) {}

std::unique_ptr<LossScaleUpdateCell> FixedLossScaleManager::get_update_cell() const {
  if (!get_drop_overflow_update()) return nullptr;
  return std::make_unique<FixedLossScaleUpdateCell>(machine().options().initial);
}

DynamicLossScaleManager::DynamicLossScaleManager(double initial, double factor, int64_t window)
    : LossScaleManager(dynamic_options(initial, factor, window, true)) {}

std::unique_ptr<LossScaleUpdateCell> DynamicLossScaleManager::get_update_cell() const {
  const LossScaleOptions& o = machine().options();
  return std::make_unique<DynamicLossScaleUpdateCell>(o.initial, o.growth, o.window);
}

}  // namespace softamp::cells
