// The experiments, each made in the .cpp file of its name. Those of one publication stand together in shelf().
#pragma once

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

Experiment tutorial_lines();    ///< the IPU tutorial's single lines: 0.0001 + 0.25 - 0.25 and its like
Experiment tutorial_sum();      ///< its twenty stochastic sums of 10,000 x 0.0001
Experiment stagnation();        ///< where a running sum stops, in every format
Experiment harmonic_series();   ///< 1 + 1/2 + 1/3 + ... until the sum stops changing
Experiment recursive_sum();     ///< the sum of 1/i of the 2022 survey, with its bounds
Experiment matvec_error();      ///< backward error of a matrix-vector product of the 2022 survey, with its bounds
Experiment decay();             ///< forward Euler for y' = -y and y' = -y/20
Experiment unit_circle();       ///< forward Euler for u' = v, v' = -u
Experiment heat_equation();     ///< the heat equation in one dimension
Experiment random_bits();       ///< bias of four stochastic variants against the number of random bits
Experiment half_partials();     ///< a dot product with half partials at blocks of 1, 4, 16, all
Experiment loss_scaling();      ///< the share of gradients that underflow as the loss scale moves
Experiment vanishing_update();  ///< fp16 weights nearest, stochastic, and fp32 master weights
Experiment fixed_point();       ///< training in fixed point, after Gupta et al.
Experiment b200_dumps();        ///< two dumps of an NVIDIA B200, by their digests
Experiment tensor_cores();      ///< small products that tell generations of tensor cores apart

}  // namespace softamp::reproduce
