// The experiments, each made in the .cpp file of its name. shelf() lists those of one publication together.
#pragma once

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

// clang-format off: a line an experiment
namespace tutorial_lines {
Experiment experiment();
}  // namespace tutorial_lines
namespace tutorial_sum {
Experiment experiment();
}  // namespace tutorial_sum
namespace stagnation {
Experiment experiment();
}  // namespace stagnation
namespace harmonic_series {
Experiment experiment();
}  // namespace harmonic_series
namespace recursive_sum {
Experiment experiment();
}  // namespace recursive_sum
namespace matvec_error {
Experiment experiment();
}  // namespace matvec_error
namespace decay {
Experiment experiment();
}  // namespace decay
namespace unit_circle {
Experiment experiment();
}  // namespace unit_circle
namespace heat_equation {
Experiment experiment();
}  // namespace heat_equation
namespace random_bits {
Experiment experiment();
}  // namespace random_bits
namespace half_partials {
Experiment experiment();
}  // namespace half_partials
namespace loss_scaling {
Experiment experiment();
}  // namespace loss_scaling
namespace vanishing_update {
Experiment experiment();
}  // namespace vanishing_update
namespace fixed_point {
Experiment experiment();
}  // namespace fixed_point
namespace b200_dumps {
Experiment experiment();
}  // namespace b200_dumps
namespace tensor_cores {
Experiment experiment();
}  // namespace tensor_cores
namespace tensor_core_vectors {
Experiment experiment();
}  // namespace tensor_core_vectors
// clang-format on

}  // namespace softamp::reproduce
