// The `softamp` command: the interface between main.cpp and the verbs, one file each.
//
// A verb writes its result to standard output and everything else (progress, reports, errors) to standard error.
#pragma once

#include "src/program/cli.h"
#include "src/program/usage.h"

#include <functional>

namespace softamp::program {

/// A verb: its part of the command line, and what to run after parsing.
struct Verb {
  CLI::App* app;
  std::function<int()> run;  ///< returns an ExitCode; may throw any std::exception, which main reports as kUsage
};

Verb add_sum(CLI::App& program);
Verb add_inspect(CLI::App& program);
Verb add_formats(CLI::App& program);
Verb add_chips(CLI::App& program);
Verb add_round(CLI::App& program);
Verb add_compute(CLI::App& program);
Verb add_vectors(CLI::App& program);
Verb add_registers(CLI::App& program);
Verb add_run(CLI::App& program);
Verb add_rewrite(CLI::App& program);
Verb add_compare(CLI::App& program);
Verb add_demo(CLI::App& program);
Verb add_train(CLI::App& program);
Verb add_study(CLI::App& program);
Verb add_operations(CLI::App& program);
Verb add_reproduce(CLI::App& program);
Verb add_selftest(CLI::App& program);
Verb add_completions(CLI::App& program);
Verb add_man(CLI::App& program);

}  // namespace softamp::program
