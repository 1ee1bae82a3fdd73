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
  cli::App app;
  std::function<int()> run;  ///< returns an ExitCode; may throw any std::exception, which main reports as kUsage
};

Verb add_sum(const cli::App& program);
Verb add_inspect(const cli::App& program);
Verb add_formats(const cli::App& program);
Verb add_chips(const cli::App& program);
Verb add_round(const cli::App& program);
Verb add_compute(const cli::App& program);
Verb add_vectors(const cli::App& program);
Verb add_registers(const cli::App& program);
Verb add_run(const cli::App& program);
Verb add_rewrite(const cli::App& program);
Verb add_compare(const cli::App& program);
Verb add_demo(const cli::App& program);
Verb add_train(const cli::App& program);
Verb add_study(const cli::App& program);
Verb add_operations(const cli::App& program);
Verb add_reproduce(const cli::App& program);
Verb add_selftest(const cli::App& program);
Verb add_completions(const cli::App& program);
Verb add_man(const cli::App& program);

}  // namespace softamp::program
