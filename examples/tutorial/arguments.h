// What the three programs of the tutorial share: their command line, their exit codes and their last line.
//
// The first arguments carry the tutorial's names and defaults; the others are ours. The tutorial's lines go to standard
// output, everything else to standard error.
#pragma once

#include <softamp/softamp.h>

#include <functional>
#include <string>
#include <vector>

namespace tutorial {

enum ExitCode : int {
  kSuccess = 0,
  kWrongDepth = 1,              ///< as in the tutorial
  kUsage = 2,                   ///< a bad option, value or file
  kFloatingPointException = 3,  ///< an enabled floating-point exception stopped the program
  kInterrupted = 128,           ///< plus the number of the signal
};

/// A program and its defaults.
struct Program {
  std::string name, summary;
  std::vector<std::string> precisions;  ///< what PRECISION may be
  bool has_depth = false;               ///< DEPTH and --disable-stochastic-rounding: the network is a ResNet
  bool evaluates_between = true;        ///< --evaluate-every: accuracy after epochs, and not at the end alone
  softamp::TrainSettings settings;
};

/// What the command line says.
struct Arguments {
  std::string name;
  softamp::TrainSettings settings;
  softamp::RunOutput output;
  bool print_settings = false;
};

/// Reads the command line, calls `body`, which prints the settings as run_training does, trains and says whether it
/// came to the end, and prints the last line. Returns what main returns; no exception leaves it.
int run_program(int argc, char** argv, const Program& program, const std::function<bool(const Arguments&)>& body);

}  // namespace tutorial
