#include "arguments.h"

#include <CLI/CLI.hpp>
#include <boost/algorithm/string/join.hpp>

#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace tutorial {
namespace {

using softamp::InterruptGuard;

/// Holds what CLI11 fills in until it becomes settings.
struct CommandLine {
  Arguments arguments;
  std::string precision, loss_dtype;
  std::optional<std::string> tensorflow, recipe, policy, level, dtype, mechanism;
  std::vector<std::string> set;
  const CLI::Option *scaling = nullptr, *behaviour = nullptr, *loss = nullptr;  ///< to know what was given
  int64_t depth = 0;
  double loss_scaling_factor = 256;
  bool half_partials = false, no_stochastic_rounding = false;
};

class WrongDepth : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Any name of a precision, as fp16, becomes the one that the options list; other words stay, to be refused.
std::string named(std::string& text) {
  try {
    text = softamp::Precision::parse(text).name;
  } catch (const std::invalid_argument&) {
  }
  return {};
}

void add_tutorial_options(CLI::App& app, const Program& program, CommandLine& line) {
  softamp::TrainSettings& s = line.arguments.settings;
  app.add_option("PRECISION", line.precision, boost::algorithm::join(program.precisions, " or "))
      ->required()
      ->type_name("WORD")
      ->transform(CLI::Validator(named, ""))
      ->check(CLI::IsMember(program.precisions));
  if (program.has_depth)
    app.add_option("DEPTH", line.depth, "layers of the ResNet, of the form 6N+2: 8, 14, 20, 26")
        ->required()
        ->type_name("N");
  app.add_option("--batch-size", s.batch_size, "images to a step [=32]")->type_name("N");
  app.add_option("--epochs", s.epochs,
                 s.warmup_epochs ? "timed epochs, after one of warm-up that trains too [=5]"
                                 : "passes over the training images [=5]")
      ->type_name("N");
  line.scaling = app.add_option("--loss-scaling-factor", line.loss_scaling_factor,
                                "the loss is multiplied by this [=256]; under a mechanism [=the mechanism's own scale]")
                     ->type_name("X");
  app.add_option("--learning-rate", s.learning_rate, "[=0.01]")->type_name("X");
  app.add_flag("--use-float16-partials", line.half_partials, "partials of convolutions and products in float16");
  if (program.has_depth)
    app.add_flag("--disable-stochastic-rounding", line.no_stochastic_rounding,
                 "round to nearest; float32 does so anyway");
}

/// CLI11 would take -1 for 2^64 - 1.
std::string not_negative(const std::string& text) {
  return text.starts_with('-') ? "'" + text + "': expected a whole number, 0 or more" : std::string();
}

void add_our_options(CLI::App& app, const Program& program, CommandLine& line) {
  softamp::TrainSettings& s = line.arguments.settings;
  softamp::RunOutput& o = line.arguments.output;
  app.add_option("--data", s.data, "folder of images [=$SOFTAMP_DATA, else a generated set]")->type_name("DIR");
  app.add_flag("--generated", s.generated, "the generated set even where SOFTAMP_DATA is set");
  app.add_option("--train-images", s.train_images, "the first so many training images, 0: all [=0]")->type_name("N");
  app.add_option("--steps", s.steps, "at most so many steps, the warm-up's included, 0: as the epochs say [=0]")
      ->type_name("N");
  app.add_flag("--shuffle,!--no-shuffle", s.shuffle,
               std::string("a new order every epoch, keyed by the seed [=") + (s.shuffle ? "yes]" : "no]"));
  app.add_option("--seed", s.seed, "of first values, orders and random bits [=0]")
      ->type_name("N")
      ->check(CLI::Validator(not_negative, ""));
  app.add_flag("--evaluate", s.evaluate, "accuracy on the test images at the end");
  if (program.evaluates_between)
    app.add_option("--evaluate-every", s.evaluate_every, "and every so many epochs, 0: not [=0]")->type_name("N");
  app.add_option("--test-images", s.test_images, "the first so many test images, 0: all [=0]")->type_name("N");
  line.behaviour =
      app.add_option("--behaviour", s.behaviour,
                     "exceptions and overflow: inv div0 oflo nanoo, all, off [=" +
                         (s.behaviour.empty() ? "off" : s.behaviour) + "; under a mechanism off, by IEEE 754]")
          ->type_name("WORDS");
  line.loss = app.add_option("--loss-dtype", line.loss_dtype,
                             "of logits and loss: compute (the dtype of the network), float32 [=" + line.loss_dtype +
                                 (line.loss_dtype == "float32" ? "]" : "; under a mechanism float32]"))
                  ->type_name("WORD")
                  ->transform(CLI::Validator(named, ""))
                  ->check(CLI::IsMember({"compute", "float32"}));
  app.add_option("--replicas", s.replicas, "simulated replicas, a batch each [=1]")->type_name("N");
  app.add_option("--set", line.set, "any setting of `softamp train`, after all others; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  if (program.evaluates_between) {  // not of the estimator, whose loop is its own
    app.add_option("--print", o.print, "a tensor that every step prints on standard error; repeatable")
        ->type_name("TENSOR")
        ->allow_extra_args(false);
    app.add_option("--enqueue", o.enqueue, "a tensor that every step puts into --outfeed; repeatable")
        ->type_name("TENSOR")
        ->allow_extra_args(false);
    app.add_option("--outfeed", o.outfeed, "the tensors of --enqueue, .npz: step3/NAME [=none]")->type_name("FILE");
  }
  app.add_option("--log", o.log, "JSON lines: settings, every step, every epoch [=none]")->type_name("FILE");
  app.add_option("--checkpoint", o.checkpoint, "state at the end and when interrupted, .npz [=none]")
      ->type_name("FILE");
  app.add_option("--checkpoint-every", o.checkpoint_every, "also after every N steps; 0: never [=0]")
      ->type_name("N")
      ->check(CLI::Validator(not_negative, ""));
  app.add_option("--resume", o.resume,
                 "checkpoint to resume from; the bits are those of a run that was never stopped [=none]")
      ->type_name("FILE");
  app.add_option("--plot", o.plot, "draw the loss curve into FILE.svg or FILE.png [=none]")->type_name("FILE");
  app.add_option("--backend", s.backend,
                 "emu (the CPU), cuda or gpu, auto (a GPU where there is one); results do not depend on it [=emu]")
      ->type_name("WORD");
  app.add_option("--threads", s.threads, "of the backend emu, 0: all; results do not depend on it [=0]")
      ->type_name("N");
  app.add_flag("--print-settings", line.arguments.print_settings,
               "print the settings as `softamp train` reads them, and do nothing else");
  app.add_flag("--quiet", o.quiet, "only the last line");
}

/// The same choices as `softamp rewrite` and `softamp train` have.
void add_mechanism_options(CLI::App& app, CommandLine& line) {
  app.add_flag("--tensorflow{2.3}", line.tensorflow,
               "TensorFlow's graph rewrite, with the lists of --tensorflow=2.3, 2019 or mkl [=2.3]");
  app.add_option("--recipe", line.recipe, "Gaudi's bfloat16 pass: full, basic, or a recipe's JSON file")
      ->type_name("FILE");
  app.add_option("--policy", line.policy, "Keras' policy: mixed_float16, mixed_bfloat16, float16, ...")
      ->type_name("NAME");
  app.add_option("--level", line.level, "MindSpore's level: O0, O1, O2, O3, auto")->type_name("WORD");
  app.add_option("--dtype", line.dtype, "low precision of the mechanism: fp16, bf16 [=the system's own]")
      ->type_name("WORD");
  app.add_option("--mechanism", line.mechanism, "the same in one text: tensorflow=2019, level=O2,dtype=bf16 [=none]")
      ->type_name("TEXT");
}

/// The one mechanism that the options name, as the settings take it; "" where there is none.
std::string mechanism_of(const CommandLine& line) {
  const std::pair<std::string, const std::optional<std::string>&> choices[] = {{"tensorflow", line.tensorflow},
                                                                               {"recipe", line.recipe},
                                                                               {"policy", line.policy},
                                                                               {"level", line.level},
                                                                               {"mechanism", line.mechanism}};
  std::string before, text;
  for (const auto& [name, value] : choices) {
    if (!value) continue;
    if (!before.empty()) throw std::invalid_argument("--" + before + " and --" + name + ": expected one mechanism");
    before = name;
    text = name == "mechanism" ? *value : name + "=" + *value;
  }
  if (line.dtype && before.empty())
    throw std::invalid_argument("--dtype: expected with --tensorflow, --recipe, --policy or --level");
  if (line.dtype) text += ",dtype=" + *line.dtype;
  return text.empty() ? text : softamp::Mechanism::parse(text).text();
}

/// A mechanism takes the place of the tutorial's method: layers begin in float32, gradients are unscaled as its system
/// unscales them, an overflow is seen and does not stop the program; what the command line says otherwise stays.
void choose_mechanism(softamp::TrainSettings& s, const std::string& mechanism, const CommandLine& line) {
  s.mechanism = mechanism;
  if (s.mechanism == "none") return;
  s.fold_scale_into_rate = false;
  if (line.loss->count() == 0) s.loss_in_float32 = true;
  if (line.scaling->count() == 0) s.loss_scale.clear();
  if (line.behaviour->count() == 0) s.behaviour.clear();
}

/// A number as `loss_scale` takes it: seventeen digits tell every double apart.
std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

/// The checkpoint is written at the end of a long run: a folder that is not there is found out at its start.
void check_folder(const std::string& option, const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw std::invalid_argument(option + ": '" + file + "': there is no folder '" + folder.string() + "'");
}

Arguments arguments_from(CommandLine line, const Program& program) {
  softamp::TrainSettings& s = line.arguments.settings;
  s.precision = line.precision;
  if (program.has_depth) {
    try {
      softamp::check_resnet_depth(line.depth);
    } catch (const std::invalid_argument& e) {
      throw WrongDepth(e.what());
    }
    s.network = "resnet" + std::to_string(line.depth);
    s.stochastic_rounding = line.no_stochastic_rounding ? "off" : "on";
  }
  s.loss_scale = text_of(line.loss_scaling_factor);
  s.loss_in_float32 = line.loss_dtype == "float32";
  if (line.half_partials) s.partials = "half";
  if (const std::string mechanism = mechanism_of(line); !mechanism.empty()) choose_mechanism(s, mechanism, line);
  for (const std::string& assignment : line.set) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
      throw std::invalid_argument("--set: '" + assignment + "': expected KEY=VALUE");
    s = s.with(assignment.substr(0, equals), assignment.substr(equals + 1), "--set");
  }
  s.validate();
  s = s.spelled_out();
  const softamp::RunOutput& output = line.arguments.output;
  if (!output.plot.empty()) softamp::check_plot_file(output.plot);
  check_folder("--checkpoint", output.checkpoint);
  return line.arguments;
}

/// The data are named for good, so that logs and checkpoints say which they were.
void settle_data(Arguments& a) {
  const auto folder = a.settings.generated ? std::nullopt : softamp::data_folder(a.settings.data);
  a.settings.data = folder ? folder->string() : std::string();
  a.settings.generated = !folder;
  if (a.settings.generated && !a.output.quiet) {
    const auto image = softamp::find_network(a.settings.network).image;
    std::cerr << a.name << ": the generated images, " << image[0] << "x" << image[1] << "x" << image[2]
              << "; real ones with --data DIR or SOFTAMP_DATA\n";
  }
}

/// The backend is named for good as well.
void settle_backend(Arguments& a) {
  softamp::ExecutorOptions options;
  options.backend = a.settings.backend;
  const softamp::BackendChoice choice = softamp::choose_backend(options);
  if (a.settings.backend != "emu" && !a.output.quiet)
    std::cerr << a.name << ": backend " << a.settings.backend << ": "
              << (a.settings.backend == choice.backend ? choice.about
                  : choice.backend == "cuda"           ? "cuda, " + choice.about
                                                       : "emu, because " + choice.about)
              << '\n';
  a.settings.backend = choice.backend;
}

int run_body(Arguments& a, const std::function<bool(const Arguments&)>& body) {
  if (a.print_settings) {
    std::cout << a.settings.to_json() << '\n';
    return kSuccess;
  }
  settle_data(a);
  settle_backend(a);
  const InterruptGuard guard;
  a.output.stop = [] { return InterruptGuard::pending() != 0; };
  a.output.progress = !a.output.quiet;
  const bool finished = body(a);
  if (!finished && InterruptGuard::pending() != 0) {
    std::cerr << a.name << ": interrupted"
              << (a.output.checkpoint.empty() ? std::string("; no --checkpoint was asked for")
                                              : "; continue with --resume " + a.output.checkpoint)
              << '\n';
    return kInterrupted + InterruptGuard::pending();
  }
  std::cout << "Program ran successfully\n" << std::flush;
  if (!std::cout && InterruptGuard::pending() == SIGPIPE) return kInterrupted + SIGPIPE;  // nobody reads on: `| head`
  if (!std::cout) throw std::runtime_error("cannot write to standard output");
  return kSuccess;
}

}  // namespace

int run_program(int argc, char** argv, const Program& program, const std::function<bool(const Arguments&)>& body) {
  CommandLine line;
  line.arguments.name = program.name;
  line.arguments.settings = program.settings;
  line.arguments.settings.program = program.name;
  line.loss_dtype = program.settings.loss_in_float32 ? "float32" : "compute";
  CLI::App app(program.summary, program.name);
  app.option_defaults()->always_capture_default(false);
  add_tutorial_options(app, program, line);
  add_our_options(app, program, line);
  add_mechanism_options(app, line);
  app.footer("Exit codes: 0 success, " + std::string(program.has_depth ? "1 a depth that is not 6N+2, " : "") +
             "2 bad usage or input, 3 a floating-point\nexception, 128 + N stopped by signal N after the step.");
  try {
    app.parse(argc, argv);
    Arguments arguments = arguments_from(line, program);
    return run_body(arguments, body);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help
    std::cerr << program.name << ": " << e.what() << "; see `" << program.name << " --help`\n";
    return kUsage;
  } catch (const WrongDepth& e) {
    std::cerr << program.name << ": " << e.what() << '\n';
    return kWrongDepth;
  } catch (const softamp::FloatingPointError& e) {
    std::cerr << e.what() << '\n';
    return kFloatingPointException;
  } catch (const std::exception& e) {
    std::cerr << program.name << ": " << e.what() << '\n';
    return kUsage;
  }
}

}  // namespace tutorial
