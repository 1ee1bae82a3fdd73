// The command `softamp` of a minimal build (SOFTAMP_MINIMAL): its one verb is train, with the options of the full one.
#include <unistd.h>

#include <array>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/machine/float_environment.h"
#include "softamp/machine/interrupt.h"
#include "softamp/names/names.h"
#include "softamp/numerics/version.h"
#include "softamp/precision/mechanism.h"
#include "src/names/habits.h"
#include "src/program/backend_choice.h"
#include "src/program/standard_descriptors.h"
#include "src/program/standard_output.h"
#include "src/program/train/train_options.h"
#include "src/program/train/train_verb.h"
#include "src/program/usage.h"
#include "src/text/printable_stream.h"
#include "src/text/reason.h"

namespace softamp::program {
namespace {

constexpr const char* kHelp =
    R"(Usage: softamp train [SETTINGS] [OPTION...]

Trains a network under a floating-point behaviour. This is a minimal build (SOFTAMP_MINIMAL=ON): of softamp's verbs it has
train alone. Logs, checkpoints and results are those of the full program, to the byte. It does not unpack gzipped
images, and has no recipes.

  SETTINGS              JSON file of settings; what it leaves out keeps its default [=the defaults]
  --set KEY=VALUE       one setting, applied after the file; repeatable
  --print-settings      print the settings as JSON and do nothing else
  --find-loss-scale     instead of training: raise the loss scale by doubling until the first step overflows
  --mechanism TEXT      of mixed precision: tensorflow=2019, policy=mixed_float16, level=O2,dtype=bf16, none [=none]
  --data DIR            folder of images [=the settings', else $SOFTAMP_DATA, else a generated set]
  --log FILE            JSON lines: settings, every step, every epoch [=none]
  --checkpoint FILE     where the state goes at the end and when interrupted, .npz [=none]
  --checkpoint-every N  also after every N steps; 0: never [=0]
  --resume FILE         checkpoint to resume from; the bits are those of a run that was never stopped [=none]
  --lost-updates        count the updates that rounding to nearest loses, by variable: a warning, lines at the end, in
                        --log and --json
  --sample N            of a network that predicts the next token of a text: print a text of N tokens at the end [=none]
  --sample-from TEXT    what the text begins with [=the first character of the data]
  --temperature NUMBER  logits are divided by it before a token is drawn; 0: always the most probable [=1]
  --sample-seed N       of the draws [=the settings' seed]
  --gradient-norms      compute the norm of the gradients of each step: in --log, --csv, --plot
  --plot FILE           draw the loss curve into FILE.svg, FILE.png or FILE.pdf by gnuplot [=none]
  --initial FILE        first weights, .npz of stored arrays under the variables' names, or a checkpoint [=initialisers]
  --print TENSOR        a tensor, NODE or NODE:PORT of a step's graphs, that every step prints on standard error; repeatable
  --enqueue TENSOR      a tensor that every step puts into --outfeed; repeatable
  --outfeed FILE        the tensors of --enqueue, .npz: step3/NAME [=none]
  --write-initial FILE  the weights before the first step, .npz [=none]
  --write-batches PLACE what the run is fed: FILE.npz, or a folder for images.npy and labels.npy [=none]
  --csv FILE            a line for each step: loss, loss scale, learning rate, flags, gradient norm [=none]
  --backend WORD        emu (the CPU), cuda or gpu, auto; results do not depend on it [=the settings', else emu]
  --compare WORD        instead of training: run every step on this backend, too, and stop at the first bit of loss,
                        gradients, parameters or slots that differs; exit code 1 if one does [=none]
  --steps N             steps at most, as --set steps=N [=the settings'; with --compare 20 where they say none]
  --threads N           0: the settings'; results do not depend on it [=0]
  --json                print one JSON document; the lines go to standard error
  --quiet               no lines, no progress; only errors
  --help, --version

Exit codes: 0 success; 1 a difference; 2 bad usage or bad input; 3 an enabled floating-point exception; 128 + N: signal N
interrupted the run, which ended cleanly.

Examples:
  softamp train --set precision=float16 --set stochastic_rounding=on --log run.jsonl --checkpoint run.npz
  softamp train --set precision=mixed --backend cuda --compare emu --steps 20
)";

/// The verb's options from the words after it. A word that is no option is the file of settings.
class Reader {
 public:
  explicit Reader(std::vector<std::string> words) : words_(std::move(words)) {}

  TrainVerbOptions read() {
    bool options_end = false;
    while (at_ < words_.size()) {
      const std::string word = words_[at_++];
      if (word.empty()) throw UsageError("argument " + std::to_string(at_) + " is empty; expected a value");
      if (options_end || word.rfind("--", 0) != 0)
        file(word);
      else if (word == "--")
        options_end = true;
      else
        option(word);
    }
    return std::move(o_);
  }
  bool help() const { return help_; }

 private:
  static constexpr std::array kFlags = {"--print-settings", "--find-loss-scale", "--lost-updates", "--gradient-norms",
                                        "--json",           "--quiet",           "--help"};
  static constexpr std::array kValues = {"--network",       "--print-network", "--set",         "--mechanism",
                                         "--data",          "--log",           "--checkpoint",  "--checkpoint-every",
                                         "--resume",        "--plot",          "--csv",         "--initial",
                                         "--write-initial", "--write-batches", "--print",       "--enqueue",
                                         "--outfeed",       "--backend",       "--compare",     "--steps",
                                         "--threads",       "--sample",        "--sample-from", "--sample-seed",
                                         "--temperature"};

  void file(const std::string& word) {
    if (!o_.file.empty())
      throw UsageError("'" + word + "': expected one file of settings, and '" + o_.file + "' is given");
    o_.file = word;
  }

  void option(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    for (const std::string_view flag : kFlags) {
      if (name != flag) continue;
      if (equals != std::string::npos)
        throw UsageError(name + ": expected no value, found '" + word.substr(equals + 1) + "'");
      return set_flag(name);
    }
    std::vector<std::string> known(kFlags.begin(), kFlags.end());
    for (const std::string_view each : kValues) {
      known.emplace_back(each);
      if (name == each) return set_value(name, equals == std::string::npos ? next(name) : word.substr(equals + 1));
    }
    throw UsageError(unknown_option_message(std::span(words_).subspan(at_ - 1), known, setting_keys()));
  }

  std::string next(const std::string& name) {
    if (at_ == words_.size()) throw UsageError(name + ": expected a value after it");
    return words_[at_++];
  }

  void set_flag(const std::string& name) {
    if (name == "--print-settings") o_.print_settings = true;
    if (name == "--find-loss-scale") o_.find_loss_scale = true;
    if (name == "--lost-updates") o_.output.lost_updates = true;
    if (name == "--gradient-norms") o_.output.gradient_norms = true;
    if (name == "--json") o_.json = true;
    if (name == "--quiet") o_.output.quiet = true;
    if (name == "--help") help_ = true;
  }

  void set_value(const std::string& name, const std::string& value) {
    constexpr uint64_t kMostSteps = uint64_t{1} << 40;
    if (value.empty()) throw UsageError(name + ": the value is empty; expected a value, or to leave it out");
    if (name == "--network") o_.network = value;
    if (name == "--print-network") o_.print_network = value;
    if (name == "--set") o_.set.push_back(value);
    if (name == "--mechanism") o_.mechanism = mechanism(value);
    if (name == "--data") o_.data = value;
    if (name == "--log") o_.output.log = value;
    if (name == "--checkpoint") o_.output.checkpoint = value;
    if (name == "--checkpoint-every")
      o_.output.checkpoint_every = static_cast<int64_t>(parse_whole(name, value, 0, kMostSteps));
    if (name == "--resume") o_.output.resume = value;
    if (name == "--plot") o_.output.plot = value;
    if (name == "--csv") o_.csv = value;
    if (name == "--initial") o_.initial = value;
    if (name == "--print") o_.output.print.push_back(value);
    if (name == "--enqueue") o_.output.enqueue.push_back(value);
    if (name == "--outfeed") o_.output.outfeed = value;
    if (name == "--write-initial") o_.output.write_initial = value;
    if (name == "--write-batches") o_.output.write_batches = value;
    if (name == "--backend") o_.backend = backend_from_name(value);
    if (name == "--compare") o_.compare = backend_from_name(value, name);
    if (name == "--steps") o_.steps = static_cast<int64_t>(parse_whole(name, value, 1, kMostSteps));
    if (name == "--sample") o_.output.sample.tokens = static_cast<int64_t>(parse_whole(name, value, 1, 1'000'000));
    if (name == "--sample-from") o_.output.sample.begin = value;
    if (name == "--sample-seed") o_.output.sample.seed = parse_whole(name, value, 0, ~uint64_t{0});
    if (name == "--temperature") o_.output.sample.temperature = parse_nonnegative(name, value);
    if (name == "--threads") o_.threads = static_cast<int>(parse_whole(name, value, 0, 1024));
  }

  static std::string mechanism(const std::string& text) {
    try {
      return Mechanism::parse(text).text();
    } catch (const std::invalid_argument& e) {
      throw UsageError(std::string("--mechanism: ") + e.what());
    }
  }

  std::vector<std::string> words_;
  size_t at_ = 0;
  bool help_ = false;
  TrainVerbOptions o_;
};

int run(const std::vector<std::string>& words, std::string& place) {
  const std::string verb = words.empty() ? std::string() : words[0];
  if (verb == "--version") {
    std::cout << "softamp " SOFTAMP_VERSION ", a minimal build\narithmetic: version " << kArithmeticVersion << '\n';
    return kSuccess;
  }
  if (verb == "--help") {
    std::cout << kHelp;
    return kSuccess;
  }
  if (verb != "train")
    throw UsageError("'" + verb +
                     "': a minimal build (SOFTAMP_MINIMAL=ON) has the verb train alone; see `softamp --help`");
  place += " train";
  Reader reader({words.begin() + 1, words.end()});
  TrainVerbOptions options = reader.read();
  if (!reader.help()) return run_train(std::move(options));
  std::cout << kHelp;
  return kSuccess;
}

}  // namespace
}  // namespace softamp::program

int main(int argc, char** argv) {
  softamp::program::occupy_standard_descriptors();
  const softamp::engine::DefaultEnvironment guard;
  std::string place = "softamp";
  using softamp::files::PrintableStream;
  const PrintableStream errors(std::cerr, STDERR_FILENO, PrintableStream::Texts::kMessages);
  try {
    softamp::program::StandardOutput output;
    const PrintableStream printed(std::cout, STDOUT_FILENO, PrintableStream::Texts::kTables);
    const int code = softamp::program::run({argv + 1, argv + argc}, place);
    std::cout.flush();
    if (!std::cout && softamp::InterruptGuard::pending() == SIGPIPE) return 128 + SIGPIPE;
    output.finish();
    return code;
  } catch (const std::exception& e) {
    std::cerr << place << ": " << softamp::reason_of(e) << '\n';
    return softamp::program::kUsage;
  }
}
