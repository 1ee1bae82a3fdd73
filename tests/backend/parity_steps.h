// What the families of training steps share: how a trainer is compared with another one.
#pragma once

#include <cstdint>
#include <string>

#include "parity.h"
#include "softamp/train/trainer.h"

namespace softamp::parity {

/// How a run computes.
struct Mode {
  const char* name;
  const char* precision;
  bool stochastic, half_partials;
};

/// Backend, status, seed, rounding and partials; all else stays as a trainer has it.
TrainerOptions options_of(const Mode& mode, const std::string& backend);

/// Everything that a step reports, numbers as their bits.
std::string text_of_step(const StepResult& result);

/// The first difference between what two trainers keep; `elements` grows by what was compared.
std::string difference_between(const Trainer::State& expected, const Trainer::State& found, uint64_t& elements);

}  // namespace softamp::parity
