// Requests as text: the command that repeats one, its JSON, and errors for options that an experiment does not take.
#pragma once

#include <string>

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

/// "--format, --seed"; "no options" if it takes none.
std::string option_names(unsigned options);

/// Throws std::invalid_argument if the request has an option that the experiment does not take, or a value twice:
/// "--bits: 'b200' does not take it; it takes --seed, --samples", "--format: 'fp16' is given twice".
void check_request(const Experiment& experiment, const Request& request, bool seed_given);

/// The command that repeats the run. It goes into files that may be published: a folder of data is "DIR" in it.
std::string command_line(const Experiment& experiment, const Request& request);

/// Those of a request's choices that `experiment` takes: equal for two requests that give the same result. A folder of
/// data appears as a digest of its files' names, sizes and times.
Json request_json(const Experiment& experiment, const Request& request);

}  // namespace softamp::reproduce
