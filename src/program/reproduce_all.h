// The options of `softamp reproduce`, and the run of all experiments.
#pragma once

#include "src/program/options.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "src/reproduce/kept.h"

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

/// Calls `write` and then `print`, in any case: figures are shown even if a file cannot be written. What stopped
/// `write` is thrown afterwards.
void write_then_print(const std::function<void()>& write, const std::function<void()>& print);

/// Writes the results as one page, which links to the files beside it.
void write_page(const std::vector<reproduce::Result>& results, const std::filesystem::path& page, bool quiet);

/// Makes the folder of --out, and checks that it can be written to, else UsageError. Returns whether figures can be
/// drawn; if not, prints that to standard error, unless `quiet`.
bool ready_folder(const std::string& folder, bool quiet);

}  // namespace softamp::program
