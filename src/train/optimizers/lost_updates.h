// The count of lost updates of one variable, from what the update read and wrote.
#pragma once

#include <optional>
#include <span>

#include "softamp/tensor/tensor.h"
#include "softamp/train/lost_updates.h"
#include "softamp/train/optimizer.h"

namespace softamp::train_detail {

/// What an update has read and stored.
struct UpdateValues {
  const Tensor& before;                  ///< the variable
  const Tensor& gradient;                ///< as the Apply operation got it
  std::span<const Tensor* const> slots;  ///< as stored, in the order of Optimizer::slots
  const Tensor& after;                   ///< the variable
  const Tensor* compensation = nullptr;  ///< of WeightUpdate::kKahan, before the update; else null
  double rate;                           ///< as the operation got it
  std::optional<double> decay{};         ///< as it was fed [=the constant]
};

/// Updates of one rounding (not OptimizerOptions::separate_roundings). Fills elements, moving and lost.
void count_lost(const OptimizerOptions& options, const UpdateValues& values, LostUpdates& counts);

}  // namespace softamp::train_detail
