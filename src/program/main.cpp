// softamp: reads the command line, runs one verb, and turns errors into exit codes.
#include "src/names/habits.h"
#include "src/program/description/version.h"
#include "src/program/description/words.h"
#include "src/program/program.h"
#include "src/program/provenance.h"
#include "src/program/ranks/ranks_here.h"
#include "src/program/standard_descriptors.h"
#include "src/program/standard_output.h"
#include "src/text/printable_stream.h"

#include "softamp/machine/float_environment.h"
#include "softamp/machine/interrupt.h"
#include "softamp/names/names.h"
#include "src/text/reason.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace cli = softamp::program::cli;
using softamp::program::UsageError;
using softamp::program::Verb;

constexpr const char* kFooter = R"(Exit codes:
  0  success
  1  a check failed
  2  bad usage or bad input
  3  an enabled floating-point exception stopped the run
  4  of several processes one has ended without a word
  77 a self-test or an experiment that this machine cannot run
  128 + N  signal N interrupted the run, which ended cleanly

Examples:
  softamp sum --value 0.0001 --count 10000 --format fp16 --rounding stochastic --plot sum.svg
  softamp inspect 0.1 --format bf16
  softamp formats
  softamp chips --compare
  softamp round in.npy out.npy --format fp16 --rounding stochastic --bits 13 --seed 1
  echo "3C00 3C01" | softamp compute f16_add
  softamp vectors f16_add --rounding stochastic --level 2
  printf 'behaviour oflo nanoo\nmul 60000 60000\n' | softamp registers -
  softamp run graph.json --feed x=x.npy --fetch y --out results --trace run.jsonl
  softamp rewrite examples/graphs/two_dense_layers.json --tensorflow --report table
  softamp compare run.jsonl other.jsonl
  softamp train examples/training/generated_float16.json --plot loss.svg
  softamp study --grid precision=float16,float32 --grid stochastic_rounding=off,on --plot study.svg
  softamp demo swamping
  softamp reproduce harmonic-series
  softamp reproduce all --out page
  softamp selftest
  softamp selftest --backend cuda
  source <(softamp completions bash)
  softamp man | man -l -

`softamp VERB --help` explains each verb.)";

/// Gives options the names that they have now, and says so.
void rename_options(const cli::App& verb, std::vector<std::string>& arguments, const std::string& place) {
  for (std::string& argument : arguments) {
    if (argument == "--") return;
    const std::string name = argument.substr(0, argument.find('='));
    const std::string now(softamp::renamed_option(name));
    if (now.empty() || verb.find_option(name) || !verb.find_option(now)) continue;
    argument.replace(0, name.size(), now);
    std::cerr << place << ": " << name << " is called " << now << "; the old name goes with the next version\n";
  }
}

/// Refuses options that the verb does not have, before any other error, with what is meant, or the nearest that it has.
void check_option_names(const cli::App& verb, std::span<const std::string> arguments) {
  std::vector<std::string> known;
  for (const cli::Option& option : verb.options())
    for (const std::string& name : option.long_names()) known.push_back("--" + name);
  for (; !arguments.empty() && arguments.front() != "--"; arguments = arguments.subspan(1)) {
    const std::string& argument = arguments.front();
    if (!argument.starts_with("--") || verb.find_option(argument.substr(0, argument.find('=')))) continue;
    const cli::Option set = verb.find_option("--set");
    throw UsageError(softamp::unknown_option_message(
        arguments, known, set ? softamp::program::offered(set) : std::vector<std::string>{}));
  }
}

/// Refuses empty values, which an unset variable of a shell leaves (--resume "$UNSET"): no option takes one.
void check_values(const cli::App& verb, const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const bool is_option = argument.rfind("--", 0) == 0;
    const size_t equals = is_option ? argument.find('=') : std::string::npos;
    if (!argument.empty() && equals != argument.size() - 1) continue;
    const std::string name = argument.empty() ? (i > 0 ? arguments[i - 1] : std::string()) : argument.substr(0, equals);
    const cli::Option option = name.rfind("-", 0) == 0 ? verb.find_option(name) : cli::Option(nullptr);
    throw UsageError(
        (option ? option.name() + ": the value is empty" : "argument " + std::to_string(i + 1) + " is empty") +
        "; expected " + (option && !option.type_name().empty() ? option.type_name() : "a value, or to leave it out"));
  }
}

const Verb& find_verb(const std::vector<Verb>& verbs, const std::string& name) {
  std::vector<std::string> known;
  for (const Verb& verb : verbs) {
    if (verb.app.name() == name) return verb;
    known.push_back(verb.app.name());
  }
  throw UsageError(softamp::unknown_name_message("verb", name, known));
}

/// A launcher's variables that are wrong are for those verbs to refuse that have several processes.
softamp::program::Launched launched_or_alone() {
  try {
    return softamp::program::launched_by();
  } catch (const UsageError&) {
    return {};
  }
}

int run(int argc, char** argv, std::string& place) {
  cli::Program program("Low-precision arithmetic of an IPU-style accelerator, bit for bit.", "softamp");
  const cli::App commands = program.app();
  commands.footer(kFooter);
  program.add_version_flag([commands] { return softamp::program::version_text(commands.option("--json").count() > 0); },
                           "print the versions of program and arithmetic, the compiler, the instruction sets, CUDA");
  bool json = false;  // read by count(), as --version is printed first
  commands.add_flag("--json", json, "with --version: print one JSON document");

  using namespace softamp::program;
  std::vector<Verb> verbs;
  for (const auto add : {add_sum, add_inspect, add_formats, add_chips, add_round, add_compute, add_vectors,
                         add_registers, add_run, add_rewrite, add_compare, add_train, add_study, add_operations,
                         add_demo, add_reproduce, add_selftest, add_completions, add_man})
    verbs.push_back(add(commands));

  const Verb* chosen = nullptr;
  std::vector<std::string> arguments(argv + std::min(argc, 2), argv + argc);
  if (!ranks_agree(launched_or_alone())) return kUsage;
  if (argc > 1 && argv[1][0] != '-') {
    chosen = &find_verb(verbs, argv[1]);
    place += std::string(" ") + argv[1];
    rename_options(chosen->app, arguments, place);
    check_option_names(chosen->app, arguments);
    check_values(chosen->app, arguments);
  }
  std::vector<char*> words(argv, argv + std::min(argc, 2));
  for (std::string& argument : arguments) words.push_back(argument.data());
  if (!program.parse(static_cast<int>(words.size()), words.data(), place)) return kSuccess;  // --help
  if (chosen == nullptr) throw UsageError("--json: expected --version beside it, or a verb before it");
  return chosen->run();
}

}  // namespace

int main(int argc, char** argv) {
  softamp::program::occupy_standard_descriptors();
  softamp::program::remember_command(argc, argv);
  const softamp::engine::DefaultEnvironment guard;  // a library linked with fast-math changes it when it is loaded
  std::string place = "softamp";
  using softamp::files::PrintableStream;
  const PrintableStream errors(std::cerr, STDERR_FILENO, PrintableStream::Texts::kMessages);
  try {
    softamp::program::StandardOutput output;
    const PrintableStream printed(std::cout, STDOUT_FILENO, PrintableStream::Texts::kTables);
    const int code = run(argc, argv, place);
    std::cout.flush();
    if (!std::cout && softamp::InterruptGuard::pending() == SIGPIPE) return 128 + SIGPIPE;  // nobody reads on: `| head`
    output.finish();
    return code;
  } catch (const std::exception& e) {
    std::cerr << place << ": " << softamp::reason_of(e) << '\n';
    return softamp::program::kUsage;
  }
}
