#include "src/train/mindspore/operation_executor.h"

#include <atomic>
#include <map>
#include <stdexcept>
#include <utility>

#include "softamp/engine/program.h"
#include "softamp/engine/settings.h"
#include "softamp/graph/operation.h"
#include "softamp/names/names.h"

namespace softamp::cells {
namespace {

/// Tensors of one run, by node and port.
struct Held {
  std::vector<std::vector<Tensor>> computed;  ///< of operations
  std::vector<const Tensor*> given;           ///< of placeholders, constants and variables
  std::vector<int> last;                      ///< the last node that reads a node; the graph's size where it is fetched

  explicit Held(size_t nodes) : computed(nodes), given(nodes), last(nodes) {}
  const Tensor* at(Port p) const {
    const auto n = static_cast<size_t>(p.node);
    return given[n] ? given[n] : &computed[n][static_cast<size_t>(p.port)];
  }
};

class OperationExecutor final : public Executor {
 public:
  OperationExecutor(Graph graph, ExecutorOptions options, Context::AfterOperation after, OperationRun::Of of)
      : graph_(std::move(graph)),
        options_(std::move(options)),
        after_(std::move(after)),
        of_(of),
        semantics_(engine::settings_of(options_).environment.semantics) {
    alone_.resize(static_cast<size_t>(graph_.size()));
    for (int n = 0; n < graph_.size(); ++n) {
      const Node& node = graph_.node(n);
      if (node.op == "VariableV2") variables_.emplace(n, Tensor(node.outputs[0]));
      if (node.op == "OutfeedEnqueue") queues_[attribute<std::string>(node, "queue")];
    }
  }

  RunResult run(ListView<Feed> feeds, ListView<std::string> fetches) override {
    const Running running(*this);
    if (step_ >= kSteps) throw std::out_of_range("step " + std::to_string(step_) + ": expected an earlier one");
    std::vector<Port> ports;
    for (const std::string& f : fetches) ports.push_back(graph_.port(f));
    const std::vector<int> order = engine::needed_nodes(graph_, ports);
    Held held(static_cast<size_t>(graph_.size()));
    for (const int n : order)
      for (const Port& p : graph_.node(n).inputs)
        if (p.node >= 0) held.last[static_cast<size_t>(p.node)] = n;
    for (const Port& p : ports) held.last[static_cast<size_t>(p.node)] = graph_.size();
    take_feeds(feeds, order, held);

    RunResult result;
    result.step = step_;
    effects_.clear();
    for (const int n : order)
      if (!engine::is_source(graph_.node(n))) run_operation(n, held, result);
    for (const Port& p : ports) result.values.push_back(held.at(p)->clone());
    for (auto& [n, value] : effects_) {
      const Node& node = graph_.node(n);
      if (node.op == "Assign")
        variables_.at(graph_.find(attribute<std::string>(node, "ref"))) = std::move(value);
      else
        queues_.at(attribute<std::string>(node, "queue")).push_back(std::move(value));
    }
    ++step_;
    return result;
  }

  uint32_t step() const override { return step_; }
  void set_step(uint32_t step) override {
    refuse_if_running("set_step");
    if (step >= kSteps) throw std::out_of_range("set_step(" + std::to_string(step) + "): expected an earlier one");
    step_ = step;
  }

  const Tensor& variable(std::string_view name) const override { return variables_.at(variable_node(name)); }
  void set_variable(std::string_view name, const Tensor& value) override {
    refuse_if_running("set_variable");
    Tensor& mine = variables_.at(variable_node(name));
    if (value.type() != mine.type())
      throw GraphError("variable '" + std::string(name) + "': the value is " + value.type().text() + "; expected " +
                       mine.type().text());
    mine = value.clone();
  }

  std::vector<Tensor> take_outfeed(std::string_view queue) override {
    refuse_if_running("take_outfeed");
    const auto at = queues_.find(queue);
    if (at == queues_.end()) throw GraphError("outfeed queue '" + std::string(queue) + "': the graph has none such");
    return std::exchange(at->second, {});
  }

  const Graph& graph() const override { return graph_; }
  const ExecutorOptions& options() const override { return options_; }
  const Semantics& semantics() const override { return semantics_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  MemoryReport memory(ListView<std::string> fetches) override {
    ExecutorOptions silent = options_;
    silent.observe = {};
    return make_executor(graph_, std::move(silent))->memory(fetches);
  }

 private:
  class Running {
   public:
    explicit Running(OperationExecutor& e) : e_(e) {
      if (e.running_.exchange(true)) refuse("run");
    }
    ~Running() { e_.running_ = false; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    OperationExecutor& e_;
  };

  [[noreturn]] static void refuse(const char* call) {
    throw std::logic_error(std::string("Executor::") + call +
                           ": this executor is in the middle of a step; expected one step at a time");
  }
  void refuse_if_running(const char* call) const {
    if (running_) refuse(call);
  }

  int variable_node(std::string_view name) const {
    const int n = graph_.find(name);
    if (variables_.contains(n)) return n;
    std::vector<std::string> known;
    for (const auto& [node, value] : variables_) known.push_back(graph_.node(node).name);
    throw GraphError(unknown_name_message("variable", name, known));
  }

  void take_feeds(std::span<const Feed> feeds, const std::vector<int>& order, Held& held) const {
    for (const Feed& feed : feeds) {
      const int n = graph_.find(feed.name);
      if (n < 0 || graph_.node(n).op != "Placeholder")
        throw GraphError("feed '" + feed.name + "': the graph has no such Placeholder");
      const TensorType& wanted = graph_.node(n).outputs[0];
      if (!feed.value || feed.value->type() != wanted)
        throw GraphError("feed '" + feed.name + "' is " + (feed.value ? feed.value->type().text() : "missing") +
                         "; Placeholder '" + feed.name + "' expects " + wanted.text());
      held.given[static_cast<size_t>(n)] = feed.value;
    }
    for (const int n : order) {
      const Node& node = graph_.node(n);
      const Tensor*& given = held.given[static_cast<size_t>(n)];
      if (node.op == "Const") given = attribute<std::shared_ptr<const Tensor>>(node, "value").get();
      if (node.op == "VariableV2") given = &variables_.at(n);
      if (node.op == "Placeholder" && !given)
        throw GraphError("Placeholder '" + node.name + "' has no feed; expected " + node.outputs[0].text());
    }
  }

  void run_operation(int n, Held& held, RunResult& result) {
    const Node& node = graph_.node(n);
    if (node.op == "NoOp") return;
    std::vector<const Tensor*> inputs;
    for (const Port& p : node.inputs) inputs.push_back(p.node >= 0 ? held.at(p) : nullptr);
    std::vector<Tensor>& outputs = held.computed[static_cast<size_t>(n)];
    if (node.op == "Assign" || node.op == "OutfeedEnqueue")
      note_effect(n, *inputs[0], outputs);
    else
      call(n, inputs, outputs, result);
    if (after_ && !after_({of_, step_, node, inputs, outputs}))
      throw RunStopped("the run was stopped after the operation '" + node.name + "'");
    for (const Port& p : node.inputs)
      if (p.node >= 0 && held.last[static_cast<size_t>(p.node)] == n)
        held.computed[static_cast<size_t>(p.node)].clear();
  }

  /// What takes effect at the run's end, since a run that is stopped has none.
  void note_effect(int n, const Tensor& value, std::vector<Tensor>& outputs) {
    const Node& node = graph_.node(n);
    if (options_.stop && options_.stop())
      throw RunStopped("the run was stopped before the operation '" + node.name + "'");
    if (node.op == "OutfeedEnqueue") {
      const std::string& queue = attribute<std::string>(node, "queue");
      size_t waiting = queues_.at(queue).size();
      for (const auto& [other, held] : effects_) {
        const Node& before = graph_.node(other);
        waiting += before.op == node.op && attribute<std::string>(before, "queue") == queue;
      }
      if (waiting >= options_.outfeed_capacity)
        throw std::runtime_error("OutfeedEnqueue '" + node.name + "': queue '" + queue + "' holds " +
                                 std::to_string(waiting) + " tensors, its capacity");
    }
    outputs.push_back(value.clone());
    effects_.emplace_back(n, value.clone());
  }

  /// Runs the graph of this one operation.
  void call(int n, const std::vector<const Tensor*>& inputs, std::vector<Tensor>& outputs, RunResult& result) {
    const Node& node = graph_.node(n);
    Executor& executor = alone(n);
    std::vector<Feed> feeds;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i]) feeds.push_back({node.name + "/input" + std::to_string(i), inputs[i]});
    std::vector<std::string> fetches;
    for (int port = 0; port < static_cast<int>(node.outputs.size()); ++port)
      fetches.push_back(graph_.port_name({n, port}));
    executor.set_step(step_);
    RunResult ran = executor.run(feeds, fetches);
    outputs = std::move(ran.values);
    result.flags |= ran.flags;
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    append(result.operations, ran.operations);
    append(result.statistics, ran.statistics);
    append(result.timings, ran.timings);
  }

  Executor& alone(int n) {
    std::unique_ptr<Executor>& executor = alone_[static_cast<size_t>(n)];
    if (executor) return *executor;
    ExecutorOptions options = options_;
    if (options_.observe)
      options.observe = [this, n](uint32_t step, const Node&, int port, const TensorType& type, const void* data) {
        options_.observe(step, graph_.node(n), port, type, data);
      };
    executor = make_executor(GraphBuilder::alone(graph_, n), std::move(options));
    const std::vector<std::string>& said = executor->warnings();
    warnings_.insert(warnings_.end(), said.begin(), said.end());
    return *executor;
  }

  Graph graph_;
  ExecutorOptions options_;
  Context::AfterOperation after_;
  OperationRun::Of of_;
  Semantics semantics_;
  std::vector<std::unique_ptr<Executor>> alone_;  ///< by node; null until a step has arrived there
  std::map<int, Tensor> variables_;
  std::map<std::string, std::vector<Tensor>, std::less<>> queues_;
  std::vector<std::pair<int, Tensor>> effects_;  ///< of Assign and OutfeedEnqueue in this run, in order
  std::vector<std::string> warnings_;
  uint32_t step_ = 0;
  std::atomic<bool> running_ = false;
};

}  // namespace

std::unique_ptr<Executor> make_operation_executor(Graph graph, ExecutorOptions options, Context::AfterOperation after,
                                                  OperationRun::Of of) {
  return std::make_unique<OperationExecutor>(std::move(graph), std::move(options), std::move(after), of);
}

}  // namespace softamp::cells
