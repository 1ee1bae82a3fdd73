// softamp train: one training run, from a file of settings.
#include "src/program/backend_option.h"
#include "src/program/idle_options.h"
#include "src/program/options.h"
#include "src/program/ranks/launched.h"
#include "src/program/rewrite/mechanism_options.h"
#include "src/program/train/shared_train.h"
#include "src/program/train/train_options.h"

#include <utility>

#include "softamp/train/models.h"

namespace softamp::program {
namespace {

struct TrainCommand : TrainVerbOptions {
  MechanismOptions mechanisms;
  bool environment = false;
};

/// Options that change nothing beside others.
void check_train_options(const cli::App& app, const TrainCommand& o) {
  std::vector<std::string_view> used = {"--json", "--quiet"};
  for (const char* print : {"--print-recipe-fp8", "--print-network", "--print-settings"}) {
    if (app.option(print).count() == 0) continue;
    used.emplace_back(print);
    if (o.print_settings && print == std::string("--print-settings"))
      used.insert(used.end(), {"SETTINGS", "--set", "--tensorflow", "--recipe", "--policy", "--level", "--recipe-fp8",
                               "--dtype", "--mechanism", "--environment", "--network", "--data", "--initial",
                               "--backend", "--steps", "--threads"});
    refuse_all_but(app, used, std::string(print) + " trains nothing", "no " + std::string(print));
  }
  const RunOutput& output = o.output;
  if (output.quiet && output.log.empty() && !o.json && !o.find_loss_scale)
    refuse_idle(app, "--lost-updates", "nothing shows them", "--log or --json, or no --quiet");
  if (output.log.empty() && output.plot.empty() && o.csv.empty() && !o.find_loss_scale)
    refuse_idle(app, "--gradient-norms", "nothing shows them", "--log, --csv or --plot");
  if (!o.json || o.find_loss_scale || !o.compare.empty())
    refuse_idle(app, "--rates", "nothing shows them", "--json of a run that trains");
  if (launched_by().ranks == 1)
    refuse_idle(app, "--compare-weights", "one process trains", "several, started by mpirun or srun");
}

}  // namespace

Verb add_train(const cli::App& program) {
  cli::App app = program.add_subcommand("train", "Trains a network under a floating-point behaviour");
  const auto o = std::make_shared<TrainCommand>();
  app.add_option("SETTINGS", o->file, "JSON file of settings; what it leaves out keeps its default [=the defaults]")
      .type_name("FILE");
  app.add_option("--set", o->set, "one setting, applied after the file; repeatable")
      .type_name("KEY=VALUE")
      .allow_extra_args(false);
  add_mechanism_options(app, o->mechanisms);
  add_environment_option(app, o->environment);
  app.add_flag("--print-settings", o->print_settings, "print the settings as JSON and do nothing else");
  app.add_option(
         "--network", o->network,
         "a network by name, or a JSON file of layers (docs/NETWORKS.md), as --set network=NET [=the settings']")
      .type_name("NET");
  app.add_option("--print-network", o->print_network, "print the file of a network and do nothing else")
      .type_name("NET");
  app.add_option("--print-recipe-fp8", o->print_recipe_fp8, "print the file of a recipe and do nothing else")
      .type_name("NAME");
  offer(app, "--print-recipe-fp8", Fp8Recipe::names);
  offer(app, "--network", network_names);
  offer(app, "--print-network", network_names);
  app.add_flag("--find-loss-scale", o->find_loss_scale,
               "instead of training: raise the loss scale by doubling until the first step overflows");
  app.add_option("--data", o->data,
                 "folder of images, or what the network reads: .npz of arrays, text [=the settings', else "
                 "$SOFTAMP_DATA, else generated images]")
      .type_name("PLACE");
  app.add_option("--log", o->output.log, "JSON lines: settings, every step, every epoch [=none]").type_name("FILE");
  app.add_option("--checkpoint", o->output.checkpoint,
                 "where the state goes at the end and when interrupted, .npz [=none]")
      .type_name("FILE");
  add_whole(app, "--checkpoint-every", o->output.checkpoint_every, 0, uint64_t{1} << 40,
            "also after every N steps; 0: never [=0]");
  app.add_option("--resume", o->output.resume,
                 "checkpoint to resume from; the bits are those of a run that was never stopped [=none]")
      .type_name("FILE");
  app.add_flag(
      "--lost-updates", o->output.lost_updates,
      "count the updates that rounding to nearest loses, by variable: a warning, lines at the end, in --log and "
      "--json");
  app.add_flag("--gradient-norms", o->output.gradient_norms,
               "compute the norm of the gradients of each step, which clipping needs anyway: in --log, --csv, --plot");
  app.add_option(
         "--plot", o->output.plot,
         "draw the loss curve into FILE.svg, FILE.png or FILE.pdf; below it learning rate and loss scale, where they "
         "change, and the gradients' norm, where it is computed [=none]")
      .type_name("FILE");
  app.add_option("--histograms", o->output.histograms,
                 "count the exponents of weights, activations and gradients by layer: FILE.json; FILE.svg, FILE.png, "
                 "FILE.pdf: a "
                 "picture of the gradients with and without the loss scale; in --json, too [=none]")
      .type_name("FILE");
  add_whole(app, "--histogram-every", o->output.histogram_every, 0, uint64_t{1} << 40,
            "of every N-th step, of the first and the last; 0: of each tenth of the run [=0]");
  RunOutput::Sample& sample = o->output.sample;
  add_whole(app, "--sample", sample.tokens, 1, 1'000'000,
            "a network that predicts the next token of a text: print, at the end, a text of N tokens that it goes on "
            "with; in --json, too; with --resume of a finished run that alone [=none]");
  app.add_option("--sample-from", sample.begin, "what the text begins with [=the first character of the data]")
      .type_name("TEXT");
  app.add_option_function(
         "--temperature",
         [&sample](const std::string& text) { sample.temperature = parse_nonnegative("--temperature", text); },
         "logits are divided by it before a token is drawn; 0: always the most probable [=1]")
      .type_name("NUMBER");
  add_whole(app, "--sample-seed", sample.seed, 0, ~uint64_t{0}, "of the draws [=the settings' seed]");
  app.add_option(
         "--initial", o->initial,
         "first weights, as --set initial=FILE: .npz or .safetensors with an array for each variable, under its "
         "name, or a checkpoint [=initialisers and seed]")
      .type_name("FILE");
  app.add_option("--print", o->output.print,
                 "a tensor, NODE or NODE:PORT of a step's graphs, that every step prints on standard error; repeatable")
      .type_name("TENSOR")
      .allow_extra_args(false);
  app.add_option("--enqueue", o->output.enqueue, "a tensor that every step puts into --outfeed; repeatable")
      .type_name("TENSOR")
      .allow_extra_args(false);
  app.add_option("--outfeed", o->output.outfeed, "the tensors of --enqueue, .npz: step3/NAME [=none]")
      .type_name("FILE");
  app.add_option("--write-initial", o->output.write_initial, "the weights before the first step, .npz [=none]")
      .type_name("FILE");
  app.add_option("--write-batches", o->output.write_batches,
                 "what the run is fed, before it begins: FILE.npz, or a folder for images.npy and labels.npy [=none]")
      .type_name("PLACE");
  app.add_option("--csv", o->csv, "a line for each step: loss, loss scale, learning rate, flags, gradient norm [=none]")
      .type_name("FILE");
  add_backend(app, o->backend, "the settings', else emu");
  app.add_option_function(
         "--compare", [o](const std::string& text) { o->compare = backend_from_name(text, "--compare"); },
         "instead of training: run every step on this backend, too, and stop at the first bit of loss, gradients, "
         "parameters or slots that differs; exit code 1 if one does [=none]")
      .type_name("WORD");
  offer(app, "--compare", backend_names());
  add_whole(app, "--steps", o->steps, 1, uint64_t{1} << 40,
            "steps at most, as --set steps=N [=the settings'; with --compare 20 where they say none]");
  add_whole(app, "--threads", o->threads, 0, 1024, "0: the settings'; results do not depend on it [=0]");
  add_whole(app, "--compare-weights", o->output.compare_weights_every, 0, 1 << 30,
            "with several processes: after every N steps they compare hashes of their weights; 0: never [=1]");
  app.add_flag("--json", o->json, "print one JSON document; the lines go to standard error");
  app.add_flag("--rates", o->rates, "with --json: also seconds and images a second, which differ from run to run");
  app.add_flag("--quiet", o->output.quiet, "no lines, no progress; only errors");
  offer(app, "--set", setting_keys);
  app.footer(R"(Settings and their defaults: `softamp train --print-settings`. Examples of files: examples/training.

Examples:
  softamp train
  softamp train --set precision=float16 --set stochastic_rounding=on --plot loss.svg
  softamp train --set precision=mixed --find-loss-scale
  softamp train --set precision=float16 --set loss_scale=1024 --histograms gradients.svg
  softamp train --set precision=float16 --set optimizer=sgd --lost-updates
  softamp train --set precision=mixed --set learning_rate_schedule=cosine --gradient-norms --plot loss.svg
  softamp train --steps 20 --write-initial first.npz --write-batches batches.npz
  softamp train --set precision=float16 --initial first.npz
  softamp train --tensorflow=2019
  softamp train --print-network lenet5 > net.json
  softamp train --network net.json --data ~/data
  softamp train --network gpt_tiny --data book.txt --set optimizer=adamw --checkpoint book.npz --sample 300
  softamp train --network gpt_tiny --data book.txt --set optimizer=adamw --resume book.npz --sample 300 --sample-seed 2
  softamp train --set network=resnet8 --level O2 --dtype fp16
  softamp train --recipe-fp8 nvfp4
  softamp train --print-recipe-fp8 mxfp8 > mine.json
  softamp train examples/training/fashion_mixed.json --data ~/data --checkpoint fashion.npz
  softamp train examples/training/fashion_mixed.json --data ~/data --resume fashion.npz --set epochs=20
  softamp train examples/training/fashion_mixed.json --data ~/data --resume fashion.npz --backend cuda
  softamp train --set precision=mixed --backend cuda --compare emu --steps 20
  mpirun -n 4 softamp train examples/training/fashion_mixed.json --data ~/data --checkpoint fashion.npz
Started by mpirun, each process has one replica, or its share of those that the settings name: docs/CLUSTERS.md)");
  return {app, [o, app] {
            check_train_options(app, *o);
            o->mechanism = mechanism_text(o->mechanisms);
            say_idle_environment("softamp train", o->environment, o->output.quiet || launched_by().rank != 0);
            if (o->environment) {
              o->usual_mechanism = environment_mechanism();
              o->recipe_dump = Recipe::dump_path_from_environment().value_or("").string();
            }
            return run_train_on_ranks(*o);
          }};
}

}  // namespace softamp::program
