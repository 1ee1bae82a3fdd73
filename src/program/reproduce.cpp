// softamp reproduce: runs one or all of the published experiments.
#include "src/program/reproduce_all.h"

#include "softamp/data/images.h"
#include "softamp/machine/interrupt.h"

#include <nlohmann/json.hpp>

#include <iostream>

#include "src/machine/progress.h"
#include "src/reproduce/kept.h"
#include "src/reproduce/outcome_text.h"
#include "src/text/columns.h"

namespace softamp::program {
namespace {

using namespace softamp::reproduce;

constexpr const char* kAll = "all";

Json list_json() {
  Json json;
  json["verb"] = "reproduce";
  json["experiments"] = Json::array();
  for (const Experiment& e : shelf()) {
    Json entry;
    entry["name"] = e.name;
    entry["summary"] = e.summary;
    entry["source"] = e.source;
    entry["seconds"] = e.seconds(Request{});
    entry["options"] = option_names(e.options);
    entry["samples"] = e.samples;
    json["experiments"].push_back(std::move(entry));
  }
  return json;
}

void print_list() {
  std::vector<std::vector<std::string>> rows = {{"experiment", "cost", "what it shows"}};
  double total = 0;
  for (const Experiment& e : shelf()) {
    const double seconds = e.seconds(Request{});
    total += seconds;
    rows.push_back({e.name, duration_text(seconds), e.summary});
    rows.push_back({"", "", "  " + e.source});
    rows.push_back(
        {"", "", "  takes " + option_names(e.options) + (e.samples.empty() ? "" : "; --samples: " + e.samples)});
  }
  std::cout << in_columns(rows) << "\nCosts are estimates for two cores; all together take " << duration_text(total)
            << ".\n`softamp reproduce NAME` runs one, `softamp reproduce all --out DIR` all.\n";
}

/// Updates a progress line and reacts to signals.
Watch watch_for(Progress* progress) {
  return Watch(
      [progress](double share) {
        if (progress) progress->update(static_cast<uint64_t>(share * 1000));
      },
      [] { return InterruptGuard::pending() != 0; });
}

int run_one(const ReproduceOptions& o) {
  const Experiment& e = experiment_called(o.name);
  check_request(e, o.request, o.seed_given);
  if (!o.markdown.empty() || o.again)
    throw UsageError(std::string(o.again ? "--again" : "--markdown") + ": only with `softamp reproduce all`");
  const Request request = with_data(e, o.request);
  refuse_long(e.name, e.seconds(request), o.yes, e.options & kSamples ? "lower --samples" : "");
  const bool draw = !o.out.empty() && ready_folder(o.out, o.quiet);
  const Program program{SOFTAMP_VERSION, o.out.empty() ? std::string() : program_digest()};
  if (!o.out.empty()) kept_result(e, request, program, o.out);  // throws if the file is not ours
  const InterruptGuard guard;
  Result result;
  try {
    Progress progress("softamp reproduce " + e.name, 1000, "");
    Watch watch = watch_for(o.quiet ? nullptr : &progress);
    result = run_experiment(e, request, program, watch);
  } catch (const Interrupted&) {
    std::cerr << "softamp reproduce: interrupted; nothing of '" << e.name << "' is kept\n";
    return 128 + InterruptGuard::pending();
  }
  write_then_print(
      [&] {
        if (o.out.empty() || !result.outcome.skipped.empty()) return;
        keep_result(result, o.out);
        if (draw) draw_missing(result, o.out);
        write_page({result}, std::filesystem::path(o.out) / (e.name + ".html"), o.quiet);
      },
      [&] { std::cout << (o.json ? json_text(result_json(result)) : result_text(result)); });
  if (!result.outcome.skipped.empty()) return kSkipped;
  return agreement(result.outcome).all() ? kSuccess : kCheckFailed;
}

/// Without an experiment only the options of the list are allowed.
void check_list(const cli::App& app) {
  for (const cli::Option& option : app.options())
    if (const std::string name = option.name(); option.count() > 0 && name != "--json" && name != "--quiet")
      throw UsageError(name +
                       ": NAME is missing; expected an experiment of the list that `softamp reproduce` prints, "
                       "or all");
}

int run_verb(const cli::App& app, const ReproduceOptions& o) {
  if (o.name == kAll) return run_all(o);
  if (!o.name.empty()) return run_one(o);
  check_list(app);
  if (o.json)
    print_json(list_json());
  else
    print_list();
  return kSuccess;
}

/// A repeatable option whose values are words.
template <typename T, typename Parse>
void add_words(const cli::App& app, const std::string& name, std::vector<T>& target, Parse parse,
               const std::string& text) {
  app.add_option_function(
         name,
         [&target, name, parse](const std::vector<std::string>& words) {
           try {
             for (const std::string& word : words) target.push_back(parse(word));
           } catch (const UnknownName& e) {
             throw UsageError(name + ": " + e.what());
           }
         },
         text)
      .type_name("WORD")
      .allow_extra_args(false);
}

Words experiment_names() {
  Words names;
  for (const Experiment& e : shelf()) names.push_back(e.name);
  names.emplace_back(kAll);
  return names;
}

}  // namespace

Verb add_reproduce(const cli::App& program) {
  cli::App app = program.add_subcommand("reproduce", "Runs published experiments and compares the results");
  const auto o = std::make_shared<ReproduceOptions>();
  app.add_option("NAME", o->name, "an experiment, or all [=none: lists them]").type_name("NAME");
  add_words(app, "--format", o->request.formats, format_from_name,
            "a format to run in, see `softamp formats`; repeatable [=the experiment's]");
  add_words(app, "--rounding", o->request.roundings, rounding_from_name,
            "nearest, nearest-away, zero, up, down, stochastic, odd; repeatable [=the experiment's]");
  add_words(app, "--fixed-format", o->request.fixed_formats, fixed_format_from_name,
            "a fixed-point format to run in: q2.14 has 2 bits before the point, the sign among them, and 14 after it; "
            "repeatable [=the experiment's]");
  app.add_option_function(
         "--bits",
         [o](const std::string& text) { o->request.bits = static_cast<int>(parse_whole("--bits", text, 1, 32)); },
         "random bits of a stochastic rounding, 1..32 [=the experiment's]")
      .type_name("N");
  app.add_option_function(
         "--seed",
         [o](const std::string& text) {
           o->request.seed = parse_whole("--seed", text, 0, std::numeric_limits<uint64_t>::max());
           o->seed_given = true;
         },
         "seed of the random bits, 64 bits [=0]")
      .type_name("N");
  app.add_option_function(
         "--samples",
         [o](const std::string& text) { o->request.samples = parse_whole("--samples", text, 1, uint64_t{1} << 40); },
         "number of repetitions; the list says of what [=the experiment's]")
      .type_name("N");
  app.add_option(
         "--data", o->request.data,
         "folder of the data that an experiment reads: Fashion-MNIST, or results of tensor cores [=$SOFTAMP_DATA, else "
         "such runs are skipped]")
      .type_name("DIR");
  app.add_option(
         "--out", o->out,
         "write a page (NAME.html; all: index.html), its figures (SVG, PNG), tables (CSV) and everything (JSON) "
         "here; all: also continue an interrupted run [=none]")
      .type_name("DIR");
  app.add_option("--markdown", o->markdown, "all: also write the results in Markdown [=none]").type_name("FILE");
  app.add_flag("--brief", o->request.brief, "a quick look: smaller sizes, and the checks that these allow");
  app.add_flag("--again", o->again, "all: also run experiments whose results are kept in --out");
  app.add_flag("--yes", o->yes, "also run what will take more than ten minutes");
  app.add_flag("--json", o->json, "print one JSON document");
  app.add_flag("--quiet", o->quiet, "no progress, no remarks; only errors");
  offer(app, "NAME", experiment_names);
  offer(app, "--format", names_of_compute_formats);
  offer(app, "--rounding", names_of_all<RoundingMode>);
  app.footer(
      R"(Each result is marked `agrees` or `differs` next to the published one, or `recorded` if nothing was published. For one
seed an experiment gives the same bits on any number of cores. Exit code 0: all checks agree; 1: one differs; 2: an
experiment failed, or a file could not be written; 77: the experiment cannot run here. (`all` skips such ones, and says so.)

Examples:
  softamp reproduce
  softamp reproduce harmonic-series
  softamp reproduce harmonic-series --format e5p4 --rounding nearest
  softamp reproduce tutorial-sum --samples 1000000 --seed 7 --out sums
  softamp reproduce all --out page --data ~/data
  softamp reproduce all --brief)");
  return {app, [app, o] { return run_verb(app, *o); }};
}

}  // namespace softamp::program
