// softamp run: a graph in JSON, arrays in, arrays out.
#include "src/program/backend_option.h"
#include "src/program/options.h"
#include "src/program/program.h"
#include "src/program/run_options.h"

#include "softamp/graph/executor.h"
#include "softamp/graph/graph_json.h"
#include "softamp/graph/graph_text.h"
#include "softamp/graph/trace.h"
#include "softamp/report/exception.h"
#include "softamp/report/interrupt.h"
#include "softamp/report/tensor_text.h"
#include "src/report/progress.h"

#include <filesystem>
#include <iostream>

namespace softamp::program {
namespace {

namespace fs = std::filesystem;

/// The arrays of --feed name=file.npy.
std::map<std::string, Tensor> load_feeds(const Graph& graph, const std::vector<std::string>& feeds) {
  std::map<std::string, Tensor> tensors;
  for (const std::string& feed : feeds) {
    const size_t equals = feed.find('=');
    if (equals == std::string::npos || equals == 0) throw UsageError("--feed: '" + feed + "': expected NAME=FILE.npy");
    const std::string name = feed.substr(0, equals), file = feed.substr(equals + 1);
    const int node = graph.find(name);
    const bool bfloat16 = node >= 0 && graph.node(node).outputs[0].dtype == DType::kBFloat16;
    if (!tensors.emplace(name, load_npy(file, bfloat16)).second)
      throw UsageError("--feed: '" + name + "' is given twice");
  }
  return tensors;
}

/// The file of a fetch: "scope/y:1" is scope_y_1.npy.
fs::path file_of(const fs::path& folder, std::string fetch) {
  for (char& c : fetch)
    if (c == '/' || c == ':') c = '_';
  return folder / (fetch + ".npy");
}

/// Refuses two fetches with the same file name, before anything is computed.
void check_files(const fs::path& folder, const std::vector<std::string>& fetches) {
  std::map<fs::path, std::string> files;
  for (const std::string& fetch : fetches) {
    const auto [at, is_new] = files.emplace(file_of(folder, fetch), fetch);
    if (!is_new && at->second != fetch)
      throw UsageError("--out: '" + at->second + "' and '" + fetch + "' would both be written to " +
                       at->first.string() + "; expected fetches whose files differ");
  }
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
  explicit Run(const RunOptions& o) : Run(o, load_graph(o.graph)) {}
  Run(const RunOptions& o, GraphFile file) : o_(o), graph_(std::move(file.graph)), outputs_(std::move(file.outputs)) {}

  int run() {
    if (o_.print == "text") return print(text(graph_));
    if (o_.print == "dot") return print(dot(graph_));
    fetches_ = !o_.fetches.empty() ? o_.fetches : !outputs_.empty() ? outputs_ : unread_outputs(graph_);
    if (!o_.out.empty() && fs::exists(o_.out) && !fs::is_directory(o_.out))
      throw UsageError("--out: '" + o_.out + "' is not a folder");
    if (!o_.out.empty()) check_files(o_.out, fetches_);
    if (o_.first_step + o_.steps > uint64_t{1} << 32)
      throw UsageError("--steps: " + std::to_string(o_.steps) + " from step " + std::to_string(o_.first_step) +
                       " on: expected steps below 2^32");
    ExecutorOptions options = o_.executor_options();
    settle_backend(options, o_.quiet ? std::string() : "softamp run");
    document_["backend"] = options.backend;
    const InterruptGuard guard;
    if (!o_.trace.empty()) {
      trace_ = std::make_unique<TraceWriter>(o_.trace, options);
      options.observe = [this](uint32_t step, const Node& node, int port, const TensorType& type, const void* data) {
        trace_->write(step, node, port, type, data);
      };
    }
    const std::map<std::string, Tensor> tensors = load_feeds(graph_, o_.feeds);
    std::vector<Feed> feeds;
    for (const auto& [name, tensor] : tensors) feeds.push_back({name, &tensor});
    executor_ = make_executor(graph_, options);
    for (const std::string& warning : executor_->warnings()) std::cerr << "softamp run: warning: " << warning << '\n';
    if (!o_.quiet) {
      Json all = Json::parse(settings_json(options));
      all["backend"] = options.backend;
      std::cerr << "softamp run: " << all << '\n';
    }
    return steps(feeds);
  }

 private:
  static int print(const std::string& text) {
    std::cout << text;
    return kSuccess;
  }

  int steps(const std::vector<Feed>& feeds) {
    executor_->set_step(o_.first_step);
    Progress progress("run", o_.steps, "steps");
    int code = kSuccess;
    try {
      for (uint64_t s = 0; s < o_.steps && InterruptGuard::pending() == 0; ++s) {
        result_ = executor_->run(feeds, fetches_);
        note_step();
        progress.update(s + 1);
      }
    } catch (const FloatingPointError& e) {
      std::cerr << e.what() << '\n';
      document_["exception"] = Json::parse(e.report(DumpFormat::kJson));
      code = kFloatingPointException;
    }
    if (trace_) trace_->close();
    if (code == kSuccess && executor_->step() != o_.first_step) write_results();
    if (o_.json) print_json(document_);
    if (const int signal = InterruptGuard::pending(); signal && code == kSuccess) {
      std::cerr << "softamp run: interrupted; continue with --first-step " << executor_->step() << '\n';
      return 128 + signal;
    }
    return code;
  }

  void note_step() {
    if (o_.status && !o_.json)
      for (const OperationStatus& operation : result_.operations)
        std::cerr << "step " << result_.step << ": " << operation.op << " '" << operation.name
                  << "': " << flag_names(operation.status.flags) << ", first at element "
                  << operation.status.lowest_index(kAllFlags) << '\n';
  }

  void write_results() {
    document_["step"] = result_.step;
    if (o_.status) document_["status"] = status_json(result_);
    for (const NamedStatistics& s : result_.statistics)
      document_["statistics"][s.name] = Json::parse(s.statistics.json());
    if (!o_.out.empty()) fs::create_directories(o_.out);
    for (size_t f = 0; f < fetches_.size(); ++f) {
      const Tensor& value = result_.values[f];
      if (!o_.out.empty()) {
        const fs::path file = file_of(o_.out, fetches_[f]);
        save_npy(value, file);
        document_["files"][fetches_[f]] = file.string();
      }
      document_["hashes"][fetches_[f]] = hash_text(value.data(), value.bytes());
      if (o_.json) continue;
      if (o_.out.empty()) std::cout << fetches_[f] << ": " << tensor_text(value) << '\n';
    }
    if (o_.statistics && !o_.json)
      for (const NamedStatistics& s : result_.statistics) std::cout << s.name << ": " << s.statistics.json() << '\n';
  }

  const RunOptions& o_;
  Graph graph_;
  std::vector<std::string> outputs_, fetches_;
  std::unique_ptr<TraceWriter> trace_;
  std::unique_ptr<Executor> executor_;
  RunResult result_;
  Json document_ = Json::object();
};

}  // namespace

Verb add_run(CLI::App& program) {
  auto* app = program.add_subcommand("run", "Runs a graph of tensor operations.");
  app->footer(R"(GRAPH.json is described in docs/GRAPH_JSON.md; operations have TensorFlow's names.
Without --fetch the outputs that the file names are computed, or every tensor that nothing reads. Results are printed,
or written to --out as .npy files: "scope/y:1" is scope_y_1.npy.
The backend, and the settings that decide the bits, go to standard error, and into the trace.

Examples:
  softamp run dense.json --feed x=x.npy --fetch logits --out results
  softamp run dense.json --feed x=x.npy --behaviour oflo,esr --partials half --seed 1 --trace run.jsonl
  softamp run dense.json --feed x=x.npy --backend cuda --trace gpu.jsonl
  softamp run dense.json --print text)");
  auto options = std::make_shared<RunOptions>();
  options->add_to(*app);
  return {app, [options] { return Run(*options).run(); }};
}

}  // namespace softamp::program
