#include "src/program/rewrite/rewrite_options.h"

#include "src/program/options.h"
#include "src/program/rewrite/mechanism_options.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <limits>

namespace softamp::program {
namespace {

constexpr const char* kMechanismOptions[] = {"--tensorflow", "--recipe", "--policy", "--level", "--recipe-fp8"};

/// A number from 0 to `most`; else the option is refused with what was expected.
double number_up_to(const std::string& option, const std::string& text, double most, const std::string& expected) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= most))
    throw UsageError(option + ": '" + text + "': expected " + expected);
  return value;
}
double parse_capability(const std::string& text) {
  return number_up_to("--gpu-capability", text, 1000, "a number such as 7.0");
}
double parse_tolerance(const std::string& text) { return number_up_to("--tolerance", text, 1, "a number in 0..1"); }

constexpr name_rows::Row<ReportForm> kReports[] = {{ReportForm::kSummary, {"summary"}}, {ReportForm::kTable, {"table"}},
                                                   {ReportForm::kCsv, {"csv"}},         {ReportForm::kLatex, {"latex"}},
                                                   {ReportForm::kJson, {"json"}},       {ReportForm::kDot, {"dot"}}};
const Words kRegexModes = {"full", "search"};

const Words kKernels = {"float16", "bfloat16", "float32"};

/// A dtype by any of its names.
std::string parse_kernels(const std::string& word) {
  const auto dtype = parse_dtype(word);
  return name_rows::word_from_name("dtype", kKernels, dtype ? name_of(*dtype) : word);
}

}  // namespace

void RewriteVerbOptions::add_to(const cli::App& app) {
  app.add_option(
         "GRAPH", graph,
         "the graph: .json (softamp, or with --advise and --evaluate a network), .pb or .pbtxt (TensorFlow's GraphDef)")
      .required()
      .type_name("FILE");
  // A flag with a value: "--tensorflow GRAPH" must not read the graph as its preset.
  app.add_flag("--tensorflow{2.3}", tensorflow,
               "TensorFlow's graph rewrite, with the lists of --tensorflow=2.3, 2019 or mkl [=2.3]");
  app.add_option("--recipe", recipe, "Gaudi's bfloat16 pass: full, basic, or a recipe's JSON file").type_name("FILE");
  app.add_option("--policy", policy, "a Keras policy for every layer: mixed_float16, mixed_bfloat16, float32, ...")
      .type_name("NAME");
  app.add_option("--level", level, "a MindSpore level: O0, O1, O2, O3, auto").type_name("WORD");
  add_fp8_recipe_option(app, recipe_fp8);
  app.add_option("--dtype", dtype, "low precision: fp16, bf16 [=the system's own]").type_name("WORD");
  const auto repeatable = [&](const std::string& name, const std::string& text, const std::string& type, auto keep) {
    app.add_option_function(
           name,
           [keep](const std::vector<std::string>& values) {
             for (const std::string& value : values) keep(value);
           },
           text)
        .type_name(type)
        .allow_extra_args(false);
  };
  repeatable(
      "--fetch",
      "an output whose name and dtype must stay; repeatable [=the file's outputs, or all tensors that nothing reads]",
      "NAME", [this](const std::string& name) { fetches.push_back(name); });
  repeatable("--add", "--tensorflow: more operations of a list (allow, infer, deny, clear); repeatable", "LIST=OP,OP",
             [this](const std::string& text) { changes.emplace_back(true, text); });
  repeatable("--remove", "--tensorflow: fewer operations of a list; repeatable", "LIST=OP,OP",
             [this](const std::string& text) { changes.emplace_back(false, text); });
  app.add_flag("--environment", environment,
               "obey the systems' environment variables: TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_*, TF_BF16_*");
  app.add_option_function(
         "--gpu-capability", [this](const std::string& text) { gpu_capability = parse_capability(text); },
         "compute capability of the GPU; TensorFlow and Keras require 7.0 [=7.0]")
      .type_name("X");
  app.add_flag("--cpu", cpu, "there is no GPU").excludes("--gpu-capability");
  add_word(app, "--regex", regex, "mode", kRegexModes,
           "--recipe: its patterns match full names, or search in them: full, search [=full]");
  app.add_flag("--lenient", lenient, "--recipe: an unknown key of its file is a warning; without it, an error");
  add_word(app, "--kernels", kernels, parse_kernels, kKernels,
           "--level: the device multiplies in this dtype alone: float16, bfloat16, float32. Other products get casts, "
           "and each a line of INFO, \"Raise precision\" or \"Reduce precision\" [=in all]");
  app.add_flag("--advise", advise,
               "write nothing: run the graph and its conversions by Full, Basic and a Keras policy, and advise");
  app.add_option_function(
         "--evaluate",
         [this](const std::vector<std::string>& files) {
           evaluates = true;
           if (!files.empty()) evaluate_file = files[0];
         },
         "run the graph before and after on these values, NumPy's savez of placeholders and variables by name, and "
         "print "
         "what each node loses, the worst first")
      .type_name("FILE.npz")
      .expected(0, 1);
  add_whole(app, "--top", top, 1, std::numeric_limits<uint64_t>::max(), "--evaluate: lines of its table [=20]");
  repeatable("--feed",
             "--advise, --evaluate: the value of a placeholder, a variable or a tensor inside the graph; repeatable "
             "[=what a GraphDef assigns to a "
             "variable, else drawn from --seed]",
             "NAME=FILE.npy", [this](const std::string& text) { feeds.push_back(text); });
  app.add_option("--variables", variables,
                 "--advise, --evaluate: values of variables by name: NumPy's savez, or a checkpoint of `softamp train`")
      .type_name("FILE.npz");
  app.add_option_function(
         "--tolerance", [this](const std::string& text) { tolerance = parse_tolerance(text); },
         "--advise: the largest error that is accepted, of an output's largest magnitude [=2^-6]")
      .type_name("X");
  add_whole(app, "--seed", seed, 0, std::numeric_limits<uint64_t>::max(),
            "--advise, --evaluate: of the values that are drawn [=0]");
  add_word(
      app, "--preset", preset, preset_from_name,
      "--advise, --evaluate: the arithmetic of the runs: ieee, in which an overflow is infinite, or ipu [=what the "
      "graph's file says, else ieee, that of the systems]");
  add_whole(
      app, "--batch", batch, 1, uint64_t{1} << 20,
      "--advise, --evaluate: extent of axis 0 where a GraphDef or a network leaves it open [=that of its feeds; 1 of "
      "a network]");
  add_word(app, "--report", report, "report", kReports,
           "print what happened to every node: summary, table, csv, json, dot [=summary; none with -o]");
  app.add_option("--output-report", report_file, "write the report to this file [=standard output]").type_name("FILE");
  app.add_option("-o,--out", out, "write the graph: .json of a .json, .pb or .pbtxt of a GraphDef").type_name("FILE");
  app.add_flag("--quiet", quiet, "only warnings on standard error");
  offer_mechanisms(app);
  // The order of the mechanisms decides which of two is refused.
  app.after_parsing([this, app] {
    mechanisms.clear();
    for (const cli::Option& option : app.given_in_order())
      for (const char* name : kMechanismOptions)
        if (option.has_name(name)) mechanisms.emplace_back(name);
  });
}

}  // namespace softamp::program
