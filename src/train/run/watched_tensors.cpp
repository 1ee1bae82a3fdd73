#include "src/train/run/watched_tensors.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "softamp/data/npz.h"
#include "softamp/engine/program.h"
#include "softamp/findings/tensor_text.h"
#include "src/files/output_file.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"

namespace softamp::train_detail {
namespace {

constexpr int64_t kMostKept = int64_t{1} << 30;

/// A tensor of a graph, and the one whose bytes it has.
struct Found {
  Port port, source;
};

/// What a graph has under this name, if it computes it.
std::optional<Found> computed(const Graph& graph, const std::string& name) {
  const int node = graph.find(name.substr(0, name.rfind(':')));
  if (node < 0) return {};
  for (int i = 0; i < static_cast<int>(graph.node(node).outputs.size()); ++i) {
    if (graph.port_name({node, i}) != name) continue;
    Port source{node, i};
    while (engine::is_alias(graph.node(source.node))) source = graph.node(source.node).inputs[0];
    const std::string& op = graph.node(source.node).op;
    if (op == "VariableV2" || op == "Placeholder" || op == "Const") return {};
    return Found{{node, i}, source};
  }
  return {};
}

}  // namespace

WatchedTensors::WatchedTensors(Trainer& trainer, const RunOutput& output, int64_t steps,
                               std::function<void(const std::string&)> say)
    : say_(std::move(say)), file_(output.outfeed) {
  if (output.enqueue.empty() != output.outfeed.empty())
    throw std::invalid_argument(output.outfeed.empty()
                                    ? "'" + output.enqueue[0] + "' is to be enqueued; expected an outfeed's file, too"
                                    : "outfeed '" + output.outfeed + "': expected a tensor that is enqueued");
  const auto plain = [](const std::string& name) {
    return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
  };
  for (const std::string& name : output.print) add(trainer, plain(name), "printed", &Watched::printed);
  for (const std::string& name : output.enqueue) add(trainer, plain(name), "enqueued", &Watched::kept);
  if (bytes_of_step_ > 0 && steps > kMostKept / bytes_of_step_)
    throw std::invalid_argument("outfeed '" + file_ + "': " + std::to_string(bytes_of_step_) + " bytes in each of " +
                                std::to_string(steps) + " steps; expected at most " + std::to_string(kMostKept) +
                                " bytes in all");
  if (!file_.empty()) files::try_output(file_);
  if (!watched_.empty()) trainer.observe(observer());
}

Trainer::Observer WatchedTensors::observer() {
  if (watched_.empty()) return {};
  return
      [this](std::string_view, int replica, uint32_t, const Node& node, int port, const TensorType&, const void* data) {
        const auto at = watched_.find(port == 0 ? node.name : node.name + ":" + std::to_string(port));
        if (at == watched_.end()) return;
        for (Watched& w : at->second) see(w, replica, data);
      };
}

void WatchedTensors::add(Trainer& trainer, const std::string& name, const char* what, bool Watched::*how) {
  const TrainerOptions& o = trainer.options();
  const std::optional<Found> gradient = computed(trainer.gradient_graph(), name);
  const std::optional<Found> update = gradient ? std::nullopt : computed(trainer.update_graph(), name);
  if (!gradient && !update) {
    graph_detail::Nearest nearest(name);
    for (const Graph* graph : {&trainer.gradient_graph(), &trainer.update_graph()})
      for (const Node& node : graph->nodes())
        if (computed(*graph, node.name)) nearest.offer(node.name);
    throw std::invalid_argument("'" + files::excerpt(name) + "' is to be " + what +
                                "; expected a tensor that a step computes, NODE or NODE:PORT" + nearest.text());
  }
  const Graph& graph = gradient ? trainer.gradient_graph() : trainer.update_graph();
  const Found& found = gradient ? *gradient : *update;
  std::vector<Watched>& same = watched_[graph.port_name(found.source)];
  auto w = std::find_if(same.begin(), same.end(), [&](const Watched& each) { return each.name == name; });
  if (w == same.end()) {
    same.push_back({.name = name, .type = graph.type(found.port)});
    w = same.end() - 1;
    w->uses = int64_t{o.replicas} * (gradient ? o.accumulation : 1);
  }
  if (how == &Watched::kept && !w->kept) bytes_of_step_ += static_cast<int64_t>(w->type.bytes()) * w->uses;
  (*w).*how = true;
}

void WatchedTensors::begin(int64_t step) {
  step_ = step;
  for (auto& [source, same] : watched_)
    for (Watched& w : same) w.seen.clear();
}

void WatchedTensors::see(Watched& w, int replica, const void* data) {
  const int64_t time = w.seen[replica]++;
  if (w.printed)
    say_("step " + std::to_string(step_) +
         (w.uses > 1 ? ", replica " + std::to_string(replica) + ", micro-batch " + std::to_string(time) : "") + ": " +
         w.name + ": " + tensor_text(w.type, data));
  if (!w.kept) return;
  Tensor copy(w.type);
  if (copy.bytes()) std::memcpy(copy.data(), data, copy.bytes());
  kept_.emplace_back("step" + std::to_string(step_) +
                         (w.uses > 1 ? "/replica" + std::to_string(replica) + "/batch" + std::to_string(time) : "") +
                         "/" + w.name,
                     std::move(copy));
}

void WatchedTensors::write() const {
  if (file_.empty()) return;
  std::vector<npz::Array> arrays;
  for (const auto& [name, tensor] : kept_) arrays.push_back({name, &tensor});
  npz::write(file_, arrays);
}

}  // namespace softamp::train_detail
