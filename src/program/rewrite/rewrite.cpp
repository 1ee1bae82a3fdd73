// softamp rewrite: a mechanism of mixed precision applied to a finished graph.
#include "src/program/graph_input.h"
#include "src/program/network_graph.h"
#include "src/program/provenance.h"
#include "src/program/rewrite/advise.h"
#include "src/program/rewrite/evaluate.h"
#include "src/program/rewrite/mechanism_options.h"
#include "src/program/rewrite/rewrite_options.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include "softamp/data/npy.h"
#include "softamp/graph/graph_json.h"
#include "softamp/precision/graph_def.h"
#include "softamp/precision/graph_rewrite.h"
#include "src/data/npz_tensors.h"
#include "src/files/output_file.h"
#include "src/files/run_files.h"
#include "src/names/idle.h"
#include "src/numbers/decimal_text.h"
#include "src/precision/recipe_source.h"
#include "src/text/printable.h"
#include "src/text/shortened_list.h"

namespace softamp::program {
namespace {

namespace fs = std::filesystem;

/// A graph may be written over itself.
files::RunFiles list_files(const RewriteVerbOptions& o) {
  constexpr const char* kGraph = "the graph that is read";
  return files::RunFiles()
      .reads(kGraph, o.graph)
      .reads("the recipe that is read", o.recipe ? recipe_file(*o.recipe) : "")
      .reads("the recipe that is read",
             o.recipe_fp8 ? recipe_file(Mechanism{Mechanism::Kind::kFp8, *o.recipe_fp8}) : "")
      .reads("the file of --evaluate", o.evaluate_file)
      .reads("the file of --variables", o.variables)
      .replaces("--out", o.out, kGraph)
      .writes("--output-report", o.report_file);
}

/// Without --report the ending of --output-report decides.
ReportForm report_form(const RewriteVerbOptions& o) {
  if (o.report != ReportForm::kNone) return o.report;
  if (o.report_file.empty()) return o.out.empty() ? ReportForm::kSummary : ReportForm::kNone;
  const std::string ending = fs::path(o.report_file).extension().string();
  if (ending == ".csv") return ReportForm::kCsv;
  if (ending == ".tex") return ReportForm::kLatex;
  if (ending == ".json") return ReportForm::kJson;
  if (ending == ".dot" || ending == ".gv") return ReportForm::kDot;
  return ReportForm::kTable;
}

void check_files(const RewriteVerbOptions& o) {
  const GraphKind in = kind_of_graph("", o.graph);
  if (!o.out.empty() && kind_of_graph("--out: ", o.out) != in)
    throw UsageError("--out: '" + o.out + "': " +
                     (in == GraphKind::kGraphDef
                          ? "a GraphDef is not written as a softamp graph, which cannot hold operations that softamp "
                            "does not know; expected a name that ends in .pb, .pbtxt or .pb.txt"
                          : "a softamp graph is not written as a GraphDef; expected a name that ends in .json"));
  const files::RunFiles files = list_files(o);
  files.check();
  if (report_form(o) == ReportForm::kJson) remember_inputs(files);
  if (!o.out.empty()) files::try_output(o.out, "--out");
  if (!o.report_file.empty()) files::try_output(o.report_file, "--output-report");
}

std::string rendered(const PrecisionReport& report, ReportForm form) {
  switch (form) {
    case ReportForm::kNone: break;
    case ReportForm::kSummary: return report.summary();
    case ReportForm::kTable: return report.table();
    case ReportForm::kCsv: return report.csv();
    case ReportForm::kLatex: return report.latex();
    case ReportForm::kJson: return report.json();
    case ReportForm::kDot: return report.dot();
  }
  return "";
}

constexpr uint64_t kLines = 20;  // of a table of --evaluate

std::string rendered(const std::vector<NodeEvaluation>& rows, ReportForm form, uint64_t top) {
  if (form == ReportForm::kCsv) return evaluation_csv(rows);
  if (form == ReportForm::kLatex) return evaluation_latex(rows, top);
  if (form == ReportForm::kJson) return evaluation_json(rows);
  return evaluation_table(rows, top);
}

/// Nodes that nothing reads: they are the outputs if the graph's file names none. Of several it says so: a training
/// graph's gradients may be among them.
std::vector<std::string> unread_nodes(const OpGraph& graph, bool quiet) {
  std::vector<char> read(graph.nodes.size());
  for (const OpNode& node : graph.nodes)
    for (const OpEdge& e : node.inputs) read[static_cast<size_t>(e.node)] = 1;
  std::vector<std::string> unread;
  files::ShortenedList names(5);
  for (size_t n = 0; n < read.size(); ++n) {
    if (read[n]) continue;
    unread.push_back(graph.nodes[n].name);
    names.add("'" + files::printable(graph.nodes[n].name) + "'");
  }
  if (unread.size() >= 2 && !quiet)
    std::cerr << "softamp rewrite: no --fetch is given: " << unread.size()
              << " nodes that nothing reads count as outputs and keep their dtypes: " << names.text() << '\n';
  return unread;
}

/// Colours the picture and plans its casts; the report takes its parts only after that.
PrecisionReport report_of(OpGraph picture, const ChosenMechanism& mechanism) {
  PrecisionReport report;
  report.colours = mechanism.colour(picture);
  report.plan = plan_casts(picture, report.colours);
  report.before = std::move(picture);
  return report;
}

/// What --feed, --evaluate and --variables give. graph: null for a GraphDef.
GivenValues given_values(const RewriteVerbOptions& o, const Graph* graph) {
  GivenValues values;
  if (!o.evaluate_file.empty()) values.feeds = load_npz(o.evaluate_file);
  for (auto& [name, tensor] : load_feeds(graph, given_to_names("--feed", o.feeds, "NAME=FILE.npy")))
    if (!values.feeds.emplace(name, std::move(tensor)).second)
      throw UsageError("--feed: '" + name + "' is given by --evaluate, too");
  if (!o.variables.empty()) values.variables = load_npz(o.variables);
  values.variables_file = o.variables;
  if (o.batch) values.batch = static_cast<int64_t>(*o.batch);
  return values;
}

/// The graph of a file: of a network, what it computes for a batch, whose first weights are `values` as far as they are
/// not given.
GraphFile load_own(const RewriteVerbOptions& o, const JsonOptions& reading, GivenValues& values) {
  if (!is_network(o.graph)) {
    if (o.batch) throw UsageError("--batch: a softamp graph has its shapes; expected it with a GraphDef or a network");
    GraphFile file = load_graph(o.graph, reading);
    values = given_values(o, &file.graph);
    return file;
  }
  if (!o.advise && !o.evaluates)
    throw UsageError("'" + o.graph + "' is a network; expected a graph, or --evaluate or --advise with it");
  NetworkGraph network = load_network_graph(o.graph, "", given_to_names("--feed", o.feeds, "NAME=FILE.npy"),
                                            o.seed.value_or(0), static_cast<int64_t>(o.batch.value_or(1)));
  values = given_values(o, &network.graph);
  for (auto& [name, tensor] : network.variables)
    if (!values.feeds.contains(name)) values.variables.emplace(name, std::move(tensor));
  return {std::move(network.graph), {network.output}};
}

/// What --evaluate finds.
using Evaluated = std::optional<std::vector<NodeEvaluation>>;

GraphRewrite rewritten_softamp(const RewriteVerbOptions& o, const Graph& graph, const std::vector<std::string>& fetches,
                               const ChosenMechanism& mechanism) {
  if (mechanism.quantizes()) {
    GraphRewrite made = mechanism.quantize(graph, fetches);
    if (!o.out.empty() && !made.state.empty())
      throw UsageError("--out: '" + o.out + "': '" + made.state[0].name +
                       "' is a variable of delayed scaling, whose value a graph's file does not hold; expected a "
                       "recipe with scales of the tensors themselves, or --evaluate");
    return made;
  }
  OpGraph picture = op_graph(graph, fetches);
  if (fetches.empty()) {
    const std::vector<std::string> unread = unread_nodes(picture, o.quiet);  // in the order of the nodes
    size_t next = 0;
    for (OpNode& node : picture.nodes)
      if (next < unread.size() && node.name == unread[next]) node.preserved = ++next > 0;
  }
  PrecisionReport report = report_of(std::move(picture), mechanism);
  Graph rewritten = mechanism.on_kernels(apply(graph, report.plan));
  return {std::move(rewritten), std::move(report)};
}

/// advice: what the guide says of the shapes of the new graph (MIXED_PRECISION T14).
PrecisionReport rewrite_softamp(const RewriteVerbOptions& o, const ChosenMechanism& mechanism,
                                std::vector<std::string>& advice, Evaluated& evaluated) {
  std::vector<fs::path> arrays;
  JsonOptions reading;
  reading.npy_files = &arrays;
  GivenValues values;
  const GraphFile file = load_own(o, reading, values);
  files::RunFiles files = list_files(o);
  files.reads("an array of the graph", arrays).check();
  if (report_form(o) == ReportForm::kJson) remember_inputs(files);
  for (const std::string& name : o.fetches) {
    try {
      file.graph.port(name);
    } catch (const GraphError& e) {
      throw UsageError(std::string("--fetch: ") + e.what());
    }
  }
  const std::vector<std::string>& fetches = o.fetches.empty() ? file.outputs : o.fetches;
  GraphRewrite made = rewritten_softamp(o, file.graph, fetches, mechanism);
  if (!mechanism.quantizes()) advice = shape_advice(made.graph);
  if (o.evaluates) {
    RewriteRuns runs(file, fetches, std::move(values), o.seed.value_or(0));
    if (o.preset) runs.set_preset(*o.preset);
    evaluated = evaluate(runs.before(), runs.after(made));
  }
  // The file names the outputs that kept their dtype, so that a second rewrite keeps them again.
  const Graph computed_as = made.graph.with_preset(made.graph.preset().value_or(Preset::kIeee));
  if (!o.out.empty()) files::write_file(o.out, graph_json(computed_as, fetches), "--out");
  return std::move(made.report);
}

[[noreturn]] void refuse_quantizing_graph_def(const RewriteVerbOptions& o) {
  throw UsageError("--recipe-fp8: '" + o.graph +
                   "': a GraphDef has no operation that quantises operands; expected a softamp graph or a network");
}

PrecisionReport rewrite_graph_def(const RewriteVerbOptions& o, const ChosenMechanism& mechanism, Evaluated& evaluated) {
  if (mechanism.quantizes()) refuse_quantizing_graph_def(o);
  if (!o.kernels.empty()) throw UsageError("--kernels: '" + o.graph + "' is a GraphDef; expected a softamp graph");
  const GraphDefFile original = load_graph_def(o.graph);
  const std::vector<std::string> kept = o.fetches.empty() ? unread_nodes(original.op_graph(), o.quiet) : o.fetches;
  std::vector<std::string> notes;
  const GraphDefFile open = original.opened(kept, &notes);
  GraphDefFile file = mechanism.is_tensorflow() ? open.with_fused_batch_norm_v2() : open;
  PrecisionReport report = report_of(file.op_graph(kept), mechanism);
  // A pass that converts nothing leaves the graph as it was.
  const bool as_it_was = mechanism.is_tensorflow() && report.plan.retyped.empty();
  if (as_it_was) {
    file = open;
    report = report_of(file.op_graph(kept), mechanism);
  }
  report.notes = std::move(notes);
  const GraphDefFile rewritten = file.apply(report.plan).closed();
  rewritten.verify_rewrite_of(original);
  if (o.evaluates) {
    RewriteRuns runs(original, o.fetches, given_values(o, nullptr), o.seed.value_or(0));
    if (o.preset) runs.set_preset(*o.preset);
    evaluated = evaluate(runs.before(), runs.after(rewritten));
  }
  if (!o.out.empty()) (as_it_was ? original : rewritten).save(o.out);
  return report;
}

void check_runs(const RewriteVerbOptions& o) {
  if (o.evaluates && o.advise) throw UsageError("--evaluate: expected without --advise");
  if (o.tolerance && !o.advise) throw UsageError("--tolerance: expected with --advise");
  if (o.top && !o.evaluates) throw UsageError("--top: expected with --evaluate");
  for (const auto& [option, given] : {std::pair{"--feed", !o.feeds.empty()},
                                      {"--variables", !o.variables.empty()},
                                      {"--seed", o.seed.has_value()},
                                      {"--preset", o.preset.has_value()},
                                      {"--batch", o.batch.has_value()}})
    if (given && !o.advise && !o.evaluates)
      throw UsageError(std::string(option) + ": expected with --advise or --evaluate");
  if (o.evaluates && (o.report == ReportForm::kDot || o.report == ReportForm::kSummary))
    throw UsageError("--report: --evaluate has its own; expected table, csv, latex or json");
  if (const ReportForm form = report_form(o); o.top && (form == ReportForm::kCsv || form == ReportForm::kJson))
    throw UsageError("--top: expected with --report table or latex; csv and json have all nodes");
  if (!o.advise) return;
  if (!o.dtype.empty()) throw UsageError("--dtype: --advise compares recipes, which are of bfloat16; expected none");
  for (const auto& [option, given] : {std::pair{"--out", !o.out.empty()},
                                      {"--kernels", !o.kernels.empty()},
                                      {"--report", o.report != ReportForm::kNone},
                                      {"--output-report", !o.report_file.empty()}})
    if (given) throw UsageError(std::string(option) + ": --advise writes no graph and no report");
  for (const std::string& mechanism : o.mechanisms)
    if (mechanism != "--recipe" && mechanism != "--recipe-fp8")
      throw UsageError(mechanism + ": --advise compares recipes; expected --recipe, --recipe-fp8 or none");
  if (!o.mechanisms.empty() || o.environment) return;
  for (const auto& [option, given] : {std::pair{"--add", !o.changes.empty() && o.changes[0].first},
                                      {"--remove", !o.changes.empty()},
                                      {"--cpu", o.cpu},
                                      {"--gpu-capability", o.gpu_capability.has_value()},
                                      {"--regex", !o.regex.empty()},
                                      {"--lenient", o.lenient}})
    if (given)
      throw UsageError(
          detail::idle_message(option, "--advise takes the systems' recipes as they are", "no " + std::string(option)));
}

RewriteRuns load_runs(const RewriteVerbOptions& o) {
  const uint64_t seed = o.seed.value_or(0);
  const bool is_graph_def = kind_of_graph("", o.graph) == GraphKind::kGraphDef;
  if (is_graph_def && o.recipe_fp8) refuse_quantizing_graph_def(o);
  if (is_graph_def) return RewriteRuns(load_graph_def(o.graph), o.fetches, given_values(o, nullptr), seed);
  GivenValues values;
  GraphFile file = load_own(o, {}, values);
  return RewriteRuns(std::move(file), o.fetches, std::move(values), seed);
}

/// MIXED_PRECISION H21.
int advise(const RewriteVerbOptions& o) {
  RewriteRuns runs = load_runs(o);
  if (o.preset) runs.set_preset(*o.preset);
  const Adviser adviser(runs);
  std::vector<Candidate> rows;
  for (const char* text : {"recipe=full", "recipe=basic", "policy=mixed_bfloat16"})
    rows.push_back(adviser.judge(text, [m = Mechanism::parse(text)](const OpGraph& g) { return m.colour(g); }));
  if (o.environment || !o.mechanisms.empty()) {
    const ChosenMechanism chosen(o);
    if (chosen.quantizes())
      rows.push_back(adviser.judge(chosen.text(), chosen.quantize(runs.softamp_graph(), runs.fetches())));
    else if (chosen.text() != rows[0].name && chosen.text() != rows[1].name)
      rows.push_back(adviser.judge(chosen.text(), [&](const OpGraph& g) { return chosen.colour(g); }));
  }
  const auto padded = [](std::string text, size_t width) {
    return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
  };
  std::cout << padded("mechanism", 24) << padded("converted", 14) << padded("casts", 8) << padded("largest error", 16)
            << "mean error\n";
  for (const Candidate& c : rows)
    std::cout << padded(files::printable(c.name), 24)
              << padded(std::to_string(c.converted) + " of " + std::to_string(c.nodes), 14)
              << padded(std::to_string(c.casts), 8) << padded(significant_digits(c.largest, 3), 16)
              << significant_digits(c.mean, 3) << '\n';
  std::cout << "errors are of " << adviser.outputs() << (adviser.outputs() == 1 ? " output" : " outputs")
            << ", in units of the largest magnitude of each\n"
            << "advice: " << advice(rows[0], rows[1], o.tolerance.value_or(0x1p-6)) << '\n'
            << "of a Keras model: Keras' own mixed precision, --policy mixed_bfloat16, whose largest error is "
            << significant_digits(rows[2].largest, 3) << '\n';
  return kSuccess;
}

int run_verb(const RewriteVerbOptions& o) {
  say_idle_environment("softamp rewrite", o.environment, o.quiet);
  check_runs(o);
  if (o.advise) return advise(o);
  check_files(o);
  const ChosenMechanism mechanism(o);
  std::vector<std::string> advice;
  Evaluated evaluated;
  const PrecisionReport report = kind_of_graph("", o.graph) == GraphKind::kSoftamp
                                     ? rewrite_softamp(o, mechanism, advice, evaluated)
                                     : rewrite_graph_def(o, mechanism, evaluated);
  for (const std::string& message : report.colours.messages)
    if (!o.quiet || !message.starts_with("INFO ")) std::cerr << message << '\n';
  for (const std::string& note : report.notes)
    if (!o.quiet) std::cerr << "softamp rewrite: " << files::printable(note) << '\n';
  for (const std::string& remark : mechanism.remarks(report.before))
    std::cerr << "softamp rewrite: " << files::printable(remark) << '\n';
  for (const std::string& line : advice)
    if (!o.quiet) std::cerr << "softamp rewrite: " << files::printable(line) << '\n';
  if (!o.out.empty() && !o.quiet)
    std::cerr << "softamp rewrite: " << files::printable(report.colours.mechanism) << ": " << report.converted_nodes()
              << " of " << report.nodes() << " nodes converted, " << report.plan.casts.size()
              << (report.plan.casts.size() == 1 ? " cast" : " casts") << " added; written to " << o.out << '\n';
  std::string text =
      evaluated ? rendered(*evaluated, report_form(o), o.top.value_or(kLines)) : rendered(report, report_form(o));
  if (report_form(o) == ReportForm::kJson) text.insert(text.rfind('}'), ", \"provenance\": " + provenance().dump());
  if (o.report_file.empty())
    std::cout << text;
  else
    files::write_file(o.report_file, text, "--output-report");
  return kSuccess;
}

}  // namespace

Verb add_rewrite(const cli::App& program) {
  cli::App app = program.add_subcommand("rewrite", "Mixed precision by one mechanism, on a finished graph.");
  app.footer(
      R"(Exactly one of --tensorflow, --recipe, --policy, --level, or --advise. The report goes to standard output, the
system's log to standard error. Outputs keep their names and dtypes.
A node's layer is its attribute "layer", else the scope of its name; a node without the attribute "device" is
on /gpu:0.

Examples:
  softamp rewrite examples/graphs/two_dense_layers.json --tensorflow --report table
  softamp rewrite model.pbtxt --recipe full --report csv --output-report model.csv -o model_bf16.pb
  softamp rewrite graph.json --policy mixed_float16 -o half.json
  softamp rewrite graph.json --advise --feed x=x.npy
  softamp rewrite small_cnn.pbtxt --tensorflow --evaluate feeds.npz --variables cnn.npz --top 5
  softamp rewrite graph.json --level O2 --dtype bf16 --report dot | dot -Tsvg -o graph.svg
  softamp rewrite graph.json --tensorflow=2019 --add allow=Softmax --remove deny=Softmax)");
  auto options = std::make_shared<RewriteVerbOptions>();
  options->add_to(app);
  return {app, [options] { return run_verb(*options); }};
}

}  // namespace softamp::program
