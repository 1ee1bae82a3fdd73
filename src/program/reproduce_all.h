// What `softamp reproduce` was asked for, and the run of the whole shelf.
#pragma once

#include "src/program/options.h"

#include <string>

#include "src/reproduce/experiment.h"

namespace softamp::program {

struct ReproduceOptions {
  std::string name;  ///< of an experiment; "all"; empty: the list
  reproduce::Request request;
  std::string out, markdown;
  bool seed_given = false, again = false, yes = false, json = false, quiet = false;
};

/// Runs all experiments; what is kept of equal settings is not run again. Returns an ExitCode.
int run_all(const ReproduceOptions& o);

/// The request with the folder of images that would be read: --data's, else $SOFTAMP_DATA, where it takes one.
reproduce::Request with_data(const reproduce::Experiment& experiment, reproduce::Request request);

/// Throws UsageError with the estimate where it is above ten minutes and --yes was not given; `instead`, that is "lower
/// --samples", is what it names beside.
void refuse_long(const std::string& what, double seconds, bool yes, const std::string& instead);

/// Makes --out, and sees that it can be written to, else UsageError. Whether figures can be drawn: where they cannot,
/// standard error says so, unless `quiet`.
bool ready_folder(const std::string& folder, bool quiet);

}  // namespace softamp::program
