#include "emu/executor.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "emu/hardware_order.h"
#include "emu/mxcsr.h"
#include "emu/program.h"
#include "emu/settings.h"
#include "softamp/graph/operation.h"
#include "softamp/report/exception.h"
#include "softamp/report/names.h"
#include "softamp/report/tensor_text.h"

namespace softamp::emu {
namespace {

struct AlignedFree {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedFree>;

AlignedBytes aligned_bytes(size_t n) {
  if (n == 0) return {};
  void* p = ::operator new[](n, std::align_val_t{64}, std::nothrow);
  if (!p) throw std::runtime_error("out of memory: the graph's buffers need " + std::to_string(n) + " bytes");
  return AlignedBytes(static_cast<std::byte*>(p));
}

/// A program with the memory that it runs in.
struct Prepared {
  Program program;
  AlignedBytes arena, scratch;
};

class EmuExecutor final : public Executor {
 public:
  EmuExecutor(Graph graph, ExecutorOptions options)
      : graph_(std::move(graph)), options_(std::move(options)), settings_(settings_of(options_)) {
    stops_ = options_.config.behaviour().enabled_flags();
    if (hardware_order()) {
      if (options_.switches.sr_advance == DrawAdvance::kOnlyWhenInexact)
        throw std::invalid_argument(
            "sr_advance: only when inexact: expected every group; an executor draws beforehand");
      const Semantics& semantics = settings_.environment.semantics;
      if (semantics.wide.stochastic())
        throw std::invalid_argument(
            "semantics: float32 results are rounded stochastically; expected to nearest: a draw of xoroshiro128aox "
            "serves halves");
      IpuSwitches switches = options_.switches;
      switches.sr_bits = semantics.narrow.random_bits;
      order_.emplace(options_.device, switches, options_.seed, options_.seed_modifier);
    }
    kernels_.resize(static_cast<size_t>(graph_.size()));
    input_types_.resize(static_cast<size_t>(graph_.size()));
    for (int n = 0; n < graph_.size(); ++n) prepare(n);
  }

  RunResult run(std::span<const Feed> feeds, std::span<const std::string> fetches) override {
    Prepared& prepared = prepare(fetches);
    Program& program = prepared.program;
    const std::vector<const void*> fed = check_feeds(program, feeds);
    RunResult result;
    result.step = step_;
    for (const Port& f : program.fetches) result.values.emplace_back(graph_.type(f));
    point(prepared, fed, result.values);

    outfed_.clear();
    const std::optional<HardwareOrder> before = order_;
    try {
      const DefaultMxcsr guard;
      for (const Step& step : program.steps) run_step(step, program, prepared.scratch.get(), result);
    } catch (...) {
      order_ = before;
      throw;
    }
    for (size_t f = 0; f < program.fetches.size(); ++f) {
      const Place& place = program.fetched[f];
      if (place.kind == Place::Kind::kResult && place.at == f) continue;
      const size_t bytes = result.values[f].bytes();
      if (bytes) std::memcpy(result.values[f].data(), pointer_to(place, prepared, fed, result.values), bytes);
    }
    commit(program);
    ++step_;
    return result;
  }

  uint32_t step() const override { return step_; }
  void set_step(uint32_t step) override {
    if (hardware_order()) {
      if (step != 0)
        throw std::invalid_argument("set_step(" + std::to_string(step) +
                                    "): with xoroshiro128aox a step's bits are not addressed; expected 0, a new start");
      order_->reset();
    }
    step_ = step;
  }

  const Tensor& variable(std::string_view name) const override { return variables_.at(variable_node(name)); }
  void set_variable(std::string_view name, const Tensor& value) override {
    Tensor& mine = variables_.at(variable_node(name));
    if (value.type() != mine.type())
      throw GraphError("variable '" + std::string(name) + "': the value is " + text_of(value.type()) + "; expected " +
                       text_of(mine.type()));
    mine = value.clone();
  }

  std::vector<Tensor> take_outfeed(std::string_view queue) override {
    const auto it = queues_.find(queue);
    if (it == queues_.end()) {
      std::vector<std::string> known;
      for (const auto& [name, tensors] : queues_) known.push_back(name);
      throw GraphError(known.empty() ? "outfeed queue '" + std::string(queue) + "': the graph has none"
                                     : unknown_name_message("outfeed queue", queue, known));
    }
    std::vector<Tensor> taken(std::make_move_iterator(it->second.begin()), std::make_move_iterator(it->second.end()));
    it->second.clear();
    return taken;
  }

  const Graph& graph() const override { return graph_; }
  const ExecutorOptions& options() const override { return options_; }
  const Semantics& semantics() const override { return settings_.environment.semantics; }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  MemoryReport memory(std::span<const std::string> fetches) override {
    return plan_program(graph_, ports_of(fetches), kernels_, options_.device).memory;
  }

 private:
  bool hardware_order() const { return options_.random == RandomEngine::kXoroshiro128aox; }

  /// The kernel of a node, its variable, its queue.
  void prepare(int n) {
    const Node& node = graph_.node(n);
    if (node.op == "VariableV2") variables_.emplace(n, Tensor(node.outputs[0]));
    if (node.op == "OutfeedEnqueue") queues_[attribute<std::string>(node, "queue")];
    if (node.op == "Assign") check_assign(node);
    if (is_source(node) || is_alias(node) || node.op == "NoOp") return;
    const KernelFactory make = find_kernel(node.op);
    if (!make) throw GraphError(node.op + " '" + node.name + "': the backend emu does not run this operation");
    std::vector<TensorType>& inputs = input_types_[static_cast<size_t>(n)];
    for (const Port& p : node.inputs) inputs.push_back(graph_.type(p));
    kernels_[static_cast<size_t>(n)] = make({node, inputs, settings_, warnings_});
  }

  void check_assign(const Node& node) {
    const std::string& ref = attribute<std::string>(node, "ref");
    const int target = graph_.find(ref);
    if (target < 0 || graph_.node(target).op != "VariableV2")
      throw GraphError("Assign '" + node.name + "': ref '" + ref + "': expected the name of a VariableV2 node");
    if (graph_.node(target).outputs[0] != node.outputs[0])
      throw GraphError("Assign '" + node.name + "': the value is " + text_of(node.outputs[0]) + ", variable '" + ref +
                       "' is " + text_of(graph_.node(target).outputs[0]));
  }

  int variable_node(std::string_view name) const {
    const int n = graph_.find(name);
    if (n >= 0 && graph_.node(n).op == "VariableV2") return n;
    std::vector<std::string> known;
    for (const auto& [node, value] : variables_) known.push_back(graph_.node(node).name);
    throw GraphError(known.empty() ? "variable '" + std::string(name) + "': the graph has none"
                                   : unknown_name_message("variable", name, known));
  }

  std::vector<Port> ports_of(std::span<const std::string> fetches) const {
    std::vector<Port> ports;
    for (const std::string& f : fetches) ports.push_back(graph_.port(f));
    return ports;
  }

  Prepared& prepare(std::span<const std::string> fetches) {
    std::string key;
    for (const std::string& f : fetches) key += f + '\n';
    const auto found = programs_.find(key);
    if (found != programs_.end()) return found->second;

    Prepared prepared{plan_program(graph_, ports_of(fetches), kernels_, options_.device, stops_ != 0), {}, {}};
    const MemoryReport& memory = prepared.program.memory;
    if (memory.capacity > 0 && memory.peak > memory.capacity) throw GraphError(memory.text());
    prepared.arena = aligned_bytes(prepared.program.arena_bytes);
    prepared.scratch = aligned_bytes(prepared.program.scratch_bytes);
    prepared.program.input_pointers.resize(prepared.program.inputs.size());
    prepared.program.output_pointers.resize(prepared.program.outputs.size());
    return programs_.emplace(std::move(key), std::move(prepared)).first->second;
  }

  /// The data of every placeholder that the program reads, by node.
  std::vector<const void*> check_feeds(const Program& program, std::span<const Feed> feeds) const {
    std::vector<const void*> data(static_cast<size_t>(graph_.size()));
    for (const Feed& feed : feeds) {
      const int n = graph_.find(feed.name);
      if (n < 0 || graph_.node(n).op != "Placeholder") {
        std::vector<std::string> known;
        for (const Node& node : graph_.nodes())
          if (node.op == "Placeholder") known.push_back(node.name);
        throw GraphError(known.empty() ? "feed '" + feed.name + "': the graph has no Placeholder"
                                       : unknown_name_message("placeholder", feed.name, known));
      }
      const TensorType& wanted = graph_.node(n).outputs[0];
      if (!feed.value || feed.value->type() != wanted)
        throw GraphError("feed '" + feed.name + "' is " + (feed.value ? text_of(feed.value->type()) : "missing") +
                         "; Placeholder '" + feed.name + "' expects " + text_of(wanted));
      if (data[static_cast<size_t>(n)]) throw GraphError("feed '" + feed.name + "' is given twice");
      static const char kNothing = 0;
      data[static_cast<size_t>(n)] = feed.value->data() ? feed.value->data() : &kNothing;
    }
    for (const int n : program.feeds)
      if (!data[static_cast<size_t>(n)])
        throw GraphError("Placeholder '" + graph_.node(n).name + "' has no feed; expected " +
                         text_of(graph_.node(n).outputs[0]));
    return data;
  }

  const void* pointer_to(const Place& place, const Prepared& prepared, const std::vector<const void*>& fed,
                         std::vector<Tensor>& results) const {
    switch (place.kind) {
      case Place::Kind::kArena: return prepared.arena.get() + place.at;
      case Place::Kind::kFeed: return fed[place.at];
      case Place::Kind::kVariable: return variables_.at(static_cast<int>(place.at)).data();
      case Place::Kind::kResult: return results[place.at].data();
      case Place::Kind::kConstant: break;
    }
    if (place.at == ~size_t{0}) return nullptr;
    return attribute<std::shared_ptr<const Tensor>>(graph_.node(static_cast<int>(place.at)), "value")->data();
  }

  void point(Prepared& prepared, const std::vector<const void*>& fed, std::vector<Tensor>& results) const {
    Program& program = prepared.program;
    for (size_t i = 0; i < program.inputs.size(); ++i)
      program.input_pointers[i] = pointer_to(program.inputs[i], prepared, fed, results);
    for (size_t i = 0; i < program.outputs.size(); ++i)
      program.output_pointers[i] = const_cast<void*>(pointer_to(program.outputs[i], prepared, fed, results));
  }

  void run_step(const Step& step, const Program& program, void* scratch, RunResult& result) {
    const Node& node = graph_.node(step.node);
    const void* const* in = program.input_pointers.data() + step.first_input;
    void* const* out = program.output_pointers.data() + step.first_output;
    if (!step.kernel) {
      have_effect(node, in);
      return;
    }
    kernel::Environment& environment = settings_.environment;
    environment.operation = node.operation_id;
    environment.step = step_;
    if (hardware_order()) draw_words(*step.kernel);
    FpStatus status;
    const bool wanted = stops_ != 0 || options_.status;
    const OpCall call{in, out, scratch, environment, wanted ? &status : nullptr};
    if (options_.timings) {
      const auto start = std::chrono::steady_clock::now();
      step.kernel->run(call);
      const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - start;
      result.timings.push_back({node.name, node.op, taken.count()});
    } else {
      step.kernel->run(call);
    }
    if (status.flags) see_status(*step.kernel, node, call, status, result);
    if (options_.statistics || options_.observe) look_at(step.node, out, result);
  }

  void draw_words(const OpKernel& kernel) {
    for (uint32_t site = 0; site < kernel::Environment::kSites; ++site) {
      const OpKernel::SiteRoundings r = kernel.roundings(site);
      settings_.environment.table[site] = {};
      if (r.blocks == 0 || !settings_.environment.semantics.narrow.stochastic()) continue;
      order_->draw(r.blocks, r.outputs, words_[site]);
      settings_.environment.table[site] = {words_[site].data(), r.outputs};
    }
  }

  void see_status(const OpKernel& kernel, const Node& node, const OpCall& call, FpStatus status, RunResult& result) {
    if (!options_.switches.sts_when_disabled) {
      status.flags &= stops_;
      for (int b = 0; b < kFlagCount; ++b)
        if (!(stops_ >> b & 1)) status.first_index[b] = FpStatus::kNever;
      if (!status.flags) return;
    }
    result.flags |= status.flags;
    result.operations.push_back({node.name, node.op, status});
    const uint64_t lowest = status.lowest_index(stops_);
    if (lowest == FpStatus::kNever) return;
    ExceptionSite site;
    site.operation = node.op + " '" + node.name + "'";
    const DType operand = node.inputs.empty() ? node.outputs[0].dtype : graph_.type(node.inputs[0]).dtype;
    site.format = format_of(operand);
    site.integers = operand == DType::kInt32;
    const int64_t elements = node.outputs[0].shape.elements();
    site.tile = options_.device.tile_of(static_cast<int64_t>(lowest), elements);
    site.worker =
        HardwareOrder(options_.device, options_.switches, 0, 0).worker_of(lowest, static_cast<uint64_t>(elements));
    throw_if_enabled(
        status, options_.config.behaviour(), std::move(site),
        [&](uint64_t index) { return kernel.operands_at(call, index); }, options_.switches.dump_format);
  }

  void look_at(int n, void* const* out, RunResult& result) {
    const Node& node = graph_.node(n);
    for (int port = 0; port < static_cast<int>(node.outputs.size()); ++port) {
      const TensorType& type = node.outputs[static_cast<size_t>(port)];
      if (options_.observe) options_.observe(step_, node, port, type, out[port]);
      if (options_.statistics)
        result.statistics.push_back({graph_.port_name({n, port}), statistics_of(type, out[port])});
    }
  }

  /// PrintTensor and OutfeedEnqueue; Assign waits for the step's end.
  void have_effect(const Node& node, const void* const* in) {
    if (node.op == "PrintTensor") {
      const std::string& message = attribute<std::string>(node, "message");
      const std::string text =
          (message.empty() ? node.name : message) + ": " + tensor_text(node.outputs[0], in[0]) + "\n";
      if (options_.print)
        options_.print(text);
      else
        std::fputs(text.c_str(), stderr);
    }
    if (node.op == "OutfeedEnqueue") {
      const std::string& name = attribute<std::string>(node, "queue");
      size_t waiting = queues_[name].size();
      for (const auto& [queue, tensor] : outfed_) waiting += queue == name;
      if (waiting >= options_.outfeed_capacity)
        throw std::runtime_error("OutfeedEnqueue '" + node.name + "': queue '" + name + "' holds " +
                                 std::to_string(waiting) + " tensors, its capacity; take them with take_outfeed");
      Tensor copy(node.outputs[0]);
      if (copy.bytes()) std::memcpy(copy.data(), in[0], copy.bytes());
      outfed_.emplace_back(name, std::move(copy));
    }
  }

  /// The step has succeeded: what it assigned and enqueued takes effect, in the order of the graph.
  void commit(const Program& program) {
    // A value that is another variable is the one from before the step: two variables can change places.
    std::map<int, Tensor> before;
    for (const Step& step : program.steps) {
      if (graph_.node(step.node).op != "Assign") continue;
      const Place& value = program.inputs[step.first_input];
      if (value.kind == Place::Kind::kVariable)
        before.emplace(step.node, variables_.at(static_cast<int>(value.at)).clone());
    }
    for (auto& [queue, tensor] : outfed_) queues_[queue].push_back(std::move(tensor));
    outfed_.clear();
    for (const Step& step : program.steps) {
      const Node& node = graph_.node(step.node);
      if (node.op != "Assign") continue;
      Tensor& variable = variables_.at(graph_.find(attribute<std::string>(node, "ref")));
      const auto held = before.find(step.node);
      const void* value = held == before.end() ? program.input_pointers[step.first_input] : held->second.data();
      if (variable.bytes()) std::memmove(variable.data(), value, variable.bytes());
    }
  }

  Graph graph_;
  ExecutorOptions options_;
  EngineSettings settings_;
  uint8_t stops_ = 0;
  std::optional<HardwareOrder> order_;
  std::vector<uint32_t> words_[kernel::Environment::kSites];
  std::vector<std::vector<TensorType>> input_types_;  ///< by node; kernels keep views of them
  Kernels kernels_;
  std::vector<std::string> warnings_;
  std::map<int, Tensor> variables_;
  std::map<std::string, std::deque<Tensor>, std::less<>> queues_;
  std::vector<std::pair<std::string, Tensor>> outfed_;
  std::unordered_map<std::string, Prepared> programs_;
  uint32_t step_ = 0;
};

}  // namespace

std::unique_ptr<Executor> make_executor(Graph graph, ExecutorOptions options) {
  return std::make_unique<EmuExecutor>(std::move(graph), std::move(options));
}

}  // namespace softamp::emu
