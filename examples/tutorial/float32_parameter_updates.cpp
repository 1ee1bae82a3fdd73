// The tutorial's second method: float16 computation, and float32 masters of the parameters, which take the updates.
//
// A small convolutional network on Fashion-MNIST, Adam with epsilon 1e-4. Gradients come back through the cast to
// float32 and are divided by the scaling factor there. All exceptions are on: an overflow stops the program with the
// device's report.
#include "arguments.h"

int main(int argc, char** argv) {
  tutorial::Program program;
  program.name = "float32_parameter_updates";
  program.summary = "Trains a small network on Fashion-MNIST in float16 with float32 parameters, or in float32.";
  program.precisions = {"mixed", "float32"};
  softamp::TrainSettings& s = program.settings;
  s.network = "fashion_cnn";
  s.optimizer = "adam";
  s.epsilon = 1e-4;
  s.behaviour = "inv div0 oflo nanoo";
  s.warmup_epochs = 1;
  s.evaluate = false;
  return tutorial::run_program(argc, argv, program, [](const tutorial::Arguments& a) {
    return softamp::run_training(a.settings, a.output).finished;
  });
}
