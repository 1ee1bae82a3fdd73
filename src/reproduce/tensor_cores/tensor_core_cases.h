// The small sums of the experiment `tensor-cores`: tables and their checks.
#pragma once

#include "src/reproduce/experiment.h"
#include "src/reproduce/tensor_cores/tensor_core_sums.h"

namespace softamp::reproduce::matrix_units {

/// Sums of fp16 products by every unit.
void small_sums(Outcome& outcome);
/// Sums of e4m3 products by the families that support them.
void quarter_sums(Outcome& outcome);
/// Sums that fall as a term grows.
void falling_sums(Outcome& outcome);

}  // namespace softamp::reproduce::matrix_units
