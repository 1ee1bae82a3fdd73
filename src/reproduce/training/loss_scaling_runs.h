// The trainings behind `loss-scaling`: one in fp32 whose gradients are analysed, and one in mixed precision for each
// loss scale.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace softamp::reproduce {

struct RunSetup {
  int64_t image = 28;     ///< height and width of generated images
  int64_t images = 2048;  ///< of them
  int64_t batch = 32;
  uint64_t steps = 240;
  double rate = 0.05;
  uint64_t seed = 0;
};

/// Gradients of the loss by activations (all tensors that are propagated back through the layers) and by weights, of
/// one step.
struct Gradients {
  std::vector<float> activations, weights;
};

/// The result of training at a fixed loss scale.
struct ScaleRun {
  double scale = 1;
  std::vector<double> losses;  ///< of each step
  int64_t skipped = 0;
  double zero_share = 0;  ///< of the activation gradients of the last step, as fp16 had them, that are zero
  double last_quarter() const;
};

/// Called with the fraction of steps done.
using Told = std::function<void(double)>;

/// After `steps` steps in fp32, those of the next.
Gradients reference_gradients(const RunSetup& setup, const Told& told);

/// fp16 with fp32 weights, at the scale 2^exponent; steps with gradients that are not finite are skipped.
ScaleRun run_at_scale(const RunSetup& setup, int exponent, const Told& told);

}  // namespace softamp::reproduce
