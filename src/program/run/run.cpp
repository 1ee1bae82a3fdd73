// softamp run: a graph in JSON or a GraphDef, arrays in, arrays out.
#include "src/program/backend_option.h"
#include "src/program/graph_input.h"
#include "src/program/network_graph.h"
#include "src/program/options.h"
#include "src/program/program.h"
#include "src/program/provenance.h"
#include "src/program/run/run_options.h"

#include "softamp/findings/exception.h"
#include "softamp/findings/tensor_text.h"
#include "softamp/graph/executor.h"
#include "softamp/graph/graph_json.h"
#include "softamp/graph/graph_text.h"
#include "softamp/graph/trace.h"
#include "softamp/machine/interrupt.h"
#include "softamp/names/names.h"
#include "src/data/npz_tensors.h"
#include "src/files/output_file.h"
#include "src/files/run_files.h"
#include "src/machine/progress.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace softamp::program {
namespace {

namespace fs = std::filesystem;

/// A placeholder that is fed the result of the step before, and which of the fetches that is.
struct FedBack {
  std::string name, tensor;
  size_t fetch;
};

std::vector<FedBack> fed_back(const RunnableGraph& runnable, const std::vector<std::string>& texts,
                              const std::map<std::string, std::string>& feeds) {
  const Graph& graph = runnable.graph;
  const std::vector<std::string>& fetches = runnable.fetches;
  std::vector<FedBack> all;
  for (const auto& [name, tensor] : given_to_names("--feed-back", texts, "NAME=TENSOR")) {
    if (!feeds.contains(name))
      throw UsageError("--feed-back: '" + name + "' has no value for the first step; expected --feed " + name +
                       "=FILE.npy");
    const auto fetch = std::find(fetches.begin(), fetches.end(), tensor);
    if (fetch == fetches.end()) throw UsageError("--feed-back: " + unknown_name_message("fetch", tensor, fetches));
    const int placeholder = graph.find(name);
    const TensorType& type = graph.type(graph.port(runnable.ports.at(tensor)));
    if (placeholder >= 0 && graph.node(placeholder).op == "Placeholder" &&
        !(graph.node(placeholder).outputs[0] == type))
      throw UsageError("--feed-back: '" + tensor + "' is " + text_of(type) + "; Placeholder '" + name + "' expects " +
                       text_of(graph.node(placeholder).outputs[0]));
    all.push_back({name, tensor, static_cast<size_t>(fetch - fetches.begin())});
  }
  return all;
}

/// The settings that are not the default: "esr=true, matmuls.partialsType=half"; "the defaults" if there is none.
std::string changed_settings(const ExecutorOptions& options) {
  const Json all = read_json(settings_json(options)), defaults = read_json(settings_json(ExecutorOptions{}));
  std::string text;
  const auto compare = [&](const std::string& key, const Json& value, const Json& usual) {
    if (value != usual)
      text += (text.empty() ? "" : ", ") + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  };
  for (const auto& [key, value] : all.items()) {
    if (!value.is_object()) compare(key, value, defaults.value(key, Json()));
    if (value.is_object())
      for (const auto& [inner, inside] : value.items())
        compare(key + "." + inner, inside, defaults.value(key, Json::object()).value(inner, Json()));
  }
  if (options.backend != ExecutorOptions{}.backend) compare("backend", options.backend, {});
  return text.empty() ? "the defaults" : text;
}

/// The file of a fetch: "scope/y:1" is scope_y_1.npy.
fs::path file_of(const fs::path& folder, std::string fetch) {
  for (char& c : fetch)
    if (c == '/' || c == ':') c = '_';
  return folder / (fetch + ".npy");
}

/// The file of each fetch; refuses two with the same one.
std::map<fs::path, std::string> files_of(const fs::path& folder, const std::vector<std::string>& fetches) {
  std::map<fs::path, std::string> files;
  for (const std::string& fetch : fetches) {
    const auto [at, is_new] = files.emplace(file_of(folder, fetch), fetch);
    if (!is_new && at->second != fetch)
      throw UsageError("--out: '" + at->second + "' and '" + fetch + "' would both be written to " +
                       at->first.string() + "; expected fetches whose files differ");
  }
  return files;
}

/// The graph; the names of arrays that it reads go to `arrays`.
GraphFile load_with_arrays(const std::string& file, std::vector<fs::path>& arrays) {
  JsonOptions options;
  options.npy_files = &arrays;
  return load_graph(file, options);
}

/// Tensors that nothing reads: a run without --fetch computes them if the file names no outputs.
std::vector<std::string> unread_outputs(const Graph& graph) {
  std::vector<char> read(static_cast<size_t>(graph.size()));
  for (const Node& node : graph.nodes())
    for (const Port& p : node.inputs)
      if (p.node >= 0) read[static_cast<size_t>(p.node)] = 1;
  std::vector<std::string> names;
  for (int n = 0; n < graph.size(); ++n)
    if (!read[static_cast<size_t>(n)] && !graph.node(n).outputs.empty() && graph.node(n).op != "Placeholder")
      names.push_back(graph.node(n).name);
  return names;
}

Json status_json(const RunResult& result) {
  Json list = Json::array();
  for (const OperationStatus& o : result.operations) {
    Json indices;
    for (int b = 0; b < kFlagCount; ++b)
      if (o.status.flags >> b & 1) indices[flag_names(static_cast<uint8_t>(1u << b))] = o.status.first_index[b];
    list.push_back({{"operation", o.name}, {"op", o.op}, {"lowest_index", indices}});
  }
  return list;
}

class Run {
 public:
  Run(const RunOptions& o, const cli::App& app)
      : o_(o), app_(app), kind_(is_graph_def(o.graph) ? GraphKind::kGraphDef : GraphKind::kSoftamp) {
    feed_files_ = given_to_names("--feed", o_.feeds, "NAME=FILE.npy");
    const bool network = kind_ == GraphKind::kSoftamp && is_network(o_.graph);
    if (!o_.precision.empty() && !network)
      throw UsageError("--precision: '" + o_.precision + "': '" + o_.graph +
                       "' is a graph, which has its dtypes; expected it with a network's file");
    if (!o_.print.empty()) refuse_idle_in_print(app_, kind_ == GraphKind::kGraphDef, network);
    if (kind_ == GraphKind::kGraphDef) return;
    if (network) {
      NetworkGraph loaded = load_network_graph(o_.graph, o_.precision, feed_files_, o_.seed);
      graph_.graph = std::move(loaded.graph);
      outputs_ = {std::move(loaded.output)};
      first_values_ = std::move(loaded.variables);
      return;
    }
    GraphFile file = load_with_arrays(o_.graph, arrays_);
    graph_.graph = std::move(file.graph);
    outputs_ = std::move(file.outputs);
  }

  int run() {
    if (kind_ == GraphKind::kSoftamp && !o_.print.empty()) return print();
    const bool tensorflows = kind_ == GraphKind::kGraphDef;
    ExecutorOptions options = with_preset(o_.executor_options(), tensorflows ? Preset::kIeee : graph_.graph.preset());
    if (kind_ == GraphKind::kGraphDef) {
      settle_backend(options, o_.quiet ? std::string() : "softamp run");
      make_runnable(options);
      if (!o_.print.empty()) return print();
      if (o_.chip) {
        o_.round_as_chip(graph_.graph, options);
        make_runnable(options);  // initial values are rounded so, too
      }
      require_values(graph_);
    } else {
      if (o_.chip) o_.round_as_chip(graph_.graph, options);
      graph_.fetches = !o_.fetches.empty() ? o_.fetches : !outputs_.empty() ? outputs_ : unread_outputs(graph_.graph);
      for (const std::string& fetch : graph_.fetches) graph_.ports.emplace(fetch, fetch);
    }
    if (!o_.out.empty() && fs::exists(o_.out) && !fs::is_directory(o_.out))
      throw UsageError("--out: '" + o_.out + "' is not a folder");
    fed_back_ = fed_back(graph_, o_.fed_back, feed_files_);
    refuse_idle_in_run(app_, graph_.graph, options, draws_values());
    check_files();
    if (o_.first_step + o_.steps > Executor::kSteps)
      throw UsageError("--steps: " + std::to_string(o_.steps) + " from step " + std::to_string(o_.first_step) +
                       " on: expected steps below 2^32 - 16");
    if (kind_ == GraphKind::kSoftamp) settle_backend(options, o_.quiet ? std::string() : "softamp run");
    document_["backend"] = options.backend;
    const InterruptGuard guard;
    options.stop = [] { return InterruptGuard::pending() != 0; };
    if (!o_.trace.empty()) {
      trace_ = std::make_unique<TraceWriter>(o_.trace, options, "--trace");
      options.observe = [this](uint32_t step, const Node& node, int port, const TensorType& type, const void* data) {
        trace([&] { trace_->write(step, node, port, type, data); });
      };
    }
    if (kind_ == GraphKind::kSoftamp) make_runnable(options);
    executor_ = make_executor(graph_.graph, options);
    for (const auto& [name, value] : graph_.variables) executor_->set_variable(name, value);
    for (const std::string& warning : executor_->warnings())
      std::cerr << "softamp run: warning: " << files::printable(warning) << '\n';
    document_["settings"] = read_json(settings_json(options));
    if (!o_.quiet) std::cerr << "softamp run: " << changed_settings(options) << '\n';
    return steps(graph_.feeds);
  }

 private:
  /// Whether first values of variables are drawn: those of a network, and what a GraphDef assigns.
  bool draws_values() const {
    return !first_values_.empty() || (kind_ == GraphKind::kGraphDef && !graph_.variables.empty());
  }

  /// Before anything is computed or written.
  void check_files() const {
    files::RunFiles files;
    files.reads("the graph that is read", o_.graph)
        .reads("an array of the graph", arrays_)
        .reads("the file of --config", o_.config_file)
        .reads("the file of --variables", o_.variables)
        .writes("--trace", o_.trace);
    for (const auto& [name, file] : feed_files_) files.reads("the file of --feed " + name, file);
    if (!o_.out.empty()) {
      for (const auto& [file, fetch] : files_of(o_.out, graph_.fetches)) files.writes("--out", file);
      files::try_folder(o_.out, "--out");
    }
    files.check();
    if (o_.json) remember_inputs(files);
    if (o_.isa != bulk::InstructionSet::kAuto) remember_instruction_set(bulk::name(o_.isa));
  }

  /// A trace that cannot be written is told at once; the run goes on without it, and ends with an error.
  template <class Act>
  void trace(Act&& act) {
    if (!trace_) return;
    try {
      act();
    } catch (const files::OutputError& e) {
      std::cerr << "softamp run: " << files::printable(e.what()) << "; the run goes on without a trace\n";
      trace_.reset();
      trace_lost_ = true;
    }
  }

  int print() const {
    std::cout << (o_.print == "text" ? text(graph_.graph) : dot(graph_.graph));
    return kSuccess;
  }

  /// The graph with what it is given.
  void make_runnable(const ExecutorOptions& options) {
    const bool own = kind_ == GraphKind::kSoftamp;
    GivenValues values{load_feeds(own ? &graph_.graph : nullptr, feed_files_), {}};
    if (!o_.variables.empty()) values.variables = load_npz(o_.variables);
    graph_ = own ? runnable(std::move(graph_.graph), std::move(graph_.fetches), std::move(values))
                 : runnable(load_graph_def(o_.graph), o_.fetches, values, options);
    if (!o_.variables.empty() && !o_.partial_variables)
      require_fitting_names(graph_, o_.variables, variable_names(own));
    for (auto& [name, value] : first_values_) {
      const DType dtype = value.dtype();
      Tensor& given = graph_.variables.try_emplace(name, std::move(value)).first->second;
      if (given.dtype() != dtype && is_floating(given.dtype()))  // weights of a run in another precision
        given = Tensor::from_values(dtype, given.shape(), given.values());
    }
  }

  /// All that must have a value; of a GraphDef those that have one, since others have what the graph assigns.
  std::vector<std::string> variable_names(bool own) const {
    std::vector<std::string> names;
    for (const Node& node : graph_.graph.nodes())
      if (node.op == "VariableV2" && (own || graph_.variables.contains(node.name))) names.push_back(node.name);
    return names;
  }

  int steps(std::map<std::string, Tensor>& tensors) {
    std::vector<Feed> feeds;
    for (const auto& [name, tensor] : tensors) feeds.push_back({name, &tensor});
    std::vector<std::string> ports;
    for (const std::string& fetch : graph_.fetches) ports.push_back(graph_.ports.at(fetch));
    executor_->set_step(o_.first_step);
    Progress progress("run", o_.steps, "steps");
    int code = kSuccess;
    try {
      for (uint64_t s = 0; s < o_.steps && InterruptGuard::pending() == 0; ++s) {
        for (const FedBack& f : fed_back_)
          if (s != 0) tensors.at(f.name) = result_.values[f.fetch].clone();
        result_ = executor_->run(feeds, ports);
        note_step();
        progress.update(s + 1);
      }
    } catch (const RunStopped&) {
      // The step that was interrupted does not count.
    } catch (const FloatingPointError& e) {
      std::cerr << e.what() << '\n';
      document_["exception"] = read_json(e.report(DumpFormat::kJson));
      code = kFloatingPointException;
    }
    trace([&] { trace_->close(); });
    if (code == kSuccess && executor_->step() != o_.first_step) write_results();
    if (o_.json) print_json(document_);
    if (const int signal = InterruptGuard::pending(); signal && code == kSuccess) {
      std::cerr << "softamp run: interrupted; continue with --first-step " << executor_->step();
      if (executor_->step() != o_.first_step)
        for (const FedBack& f : fed_back_)
          std::cerr << ", and this '" << f.tensor << "' as --feed " << f.name << "=FILE.npy";
      std::cerr << '\n';
      return 128 + signal;
    }
    return code == kSuccess && trace_lost_ ? kUsage : code;
  }

  void note_step() {
    if (o_.status && !o_.json)
      for (const OperationStatus& operation : result_.operations)
        std::cerr << "step " << result_.step << ": " << operation.op << " '" << files::printable(operation.name)
                  << "': " << flag_names(operation.status.flags) << ", first at element "
                  << operation.status.lowest_index(kAllFlags) << '\n';
  }

  void write_results() {
    document_["step"] = result_.step;
    if (o_.status) document_["status"] = status_json(result_);
    for (const NamedStatistics& s : result_.statistics)
      document_["statistics"][s.name] = read_json(s.statistics.json());
    if (!o_.out.empty()) fs::create_directories(o_.out);
    for (size_t f = 0; f < graph_.fetches.size(); ++f) {
      const Tensor& value = result_.values[f];
      if (!o_.out.empty()) {
        const fs::path file = file_of(o_.out, graph_.fetches[f]);
        save_npy(value, file);
        document_["files"][graph_.fetches[f]] = file.string();
      }
      document_["hashes"][graph_.fetches[f]] = hash_text(value.data(), value.bytes());
      if (o_.json) continue;
      if (o_.out.empty()) std::cout << files::printable(graph_.fetches[f]) << ": " << tensor_text(value) << '\n';
    }
    if (o_.statistics && !o_.json)
      for (const NamedStatistics& s : result_.statistics)
        std::cout << files::printable(s.name) << ": " << s.statistics.json() << '\n';
  }

  const RunOptions& o_;
  const cli::App& app_;
  GraphKind kind_;
  RunnableGraph graph_;
  std::vector<fs::path> arrays_;
  std::vector<std::string> outputs_;
  std::map<std::string, Tensor> first_values_;  ///< of a network's variables
  std::map<std::string, std::string> feed_files_;
  std::vector<FedBack> fed_back_;
  std::unique_ptr<TraceWriter> trace_;
  bool trace_lost_ = false;
  std::unique_ptr<Executor> executor_;
  RunResult result_;
  Json document_ = Json::object();
};

}  // namespace

Verb add_run(const cli::App& program) {
  cli::App app = program.add_subcommand("run", "Runs a graph of tensor operations.");
  app.footer(
      R"(GRAPH.json is described in docs/GRAPH_JSON.md; operations have TensorFlow's names. A GraphDef of TensorFlow's runs as
far as its operations are ours (docs/GRAPHS.md); its names stay. A network (docs/NETWORKS.md) computes what an evaluation
does: its input is called images or inputs, and axis 0 of what is fed there is the batch.
Without --fetch the outputs that the file names are computed, or every tensor that nothing reads. Results are printed,
or written to --out as .npy files: "scope/y:1" is scope_y_1.npy.
The backend, and the settings that decide the bits, go to standard error, and into the trace.

Examples:
  softamp run dense.json --feed x=x.npy --fetch logits --out results
  softamp run dense.json --feed x=x.npy --behaviour oflo,esr --partials half --seed 1 --trace run.jsonl
  softamp run dense.json --feed x=x.npy --backend cuda --trace gpu.jsonl
  softamp run add.json --feed sum=0.npy --feed x=x.npy --feed-back sum=next --steps 10000
  softamp run two_dense_layers.pbtxt --fetch loss/Mean --feed x=x.npy --feed y=y.npy --variables weights.npz
  softamp run net.json --feed inputs=x.npy --variables run.npz --precision float16 --behaviour esr
  softamp run dense.json --print text)");
  auto options = std::make_shared<RunOptions>();
  options->add_to(app);
  return {app, [options, app] { return Run(*options, app).run(); }};
}

}  // namespace softamp::program
