// The tutorial's first method: everything in float16, and stochastic rounding keeps small updates alive.
//
// A ResNet of depth 6N+2 on CIFAR-10, momentum 0.9. The loss is multiplied by the scaling factor, and the learning rate
// divided by it instead of the gradients: momentum is linear. As in the tutorial's script all floating-point behaviour
// is off but stochastic rounding: nothing stops at an overflow, which saturates (--behaviour says otherwise), and the
// loss is computed in the dtype of the network (--loss-dtype). Stochastic rounding acts on float16 results; with
// float32 it changes nothing.
#include "arguments.h"

int main(int argc, char** argv) {
  tutorial::Program program;
  program.name = "stochastic_rounding";
  program.summary = "Trains a ResNet on CIFAR-10 in float16 with stochastic rounding, or in float32.";
  program.precisions = {"float16", "float32"};
  program.has_depth = true;
  softamp::TrainSettings& s = program.settings;
  s.network = "resnet8";
  s.optimizer = "momentum";
  s.momentum = 0.9;
  s.fold_scale_into_rate = true;
  s.loss_in_float32 = false;
  s.warmup_epochs = 1;
  s.evaluate = false;
  return tutorial::run_program(argc, argv, program, [](const tutorial::Arguments& a) {
    return softamp::run_training(a.settings, a.output).finished;
  });
}
