// The options of `softamp reproduce`, and the run of all experiments.
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

/// Runs all experiments, except those whose results are kept from a run with equal settings. Returns an ExitCode.
int run_all(const ReproduceOptions& o);

/// The request with the folder of images to read: --data's, else $SOFTAMP_DATA, if the experiment takes one.
reproduce::Request with_data(const reproduce::Experiment& experiment, reproduce::Request request);

/// Throws UsageError with the estimate if it is above ten minutes and --yes was not given; it also suggests `instead`,
/// such as "lower --samples".
void refuse_long(const std::string& what, double seconds, bool yes, const std::string& instead);

/// Makes the folder of --out, and checks that it can be written to, else UsageError. Returns whether figures can be
/// drawn; if not, prints that to standard error, unless `quiet`.
bool ready_folder(const std::string& folder, bool quiet);

}  // namespace softamp::program
