#include "softamp/engine/graph_executor.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "softamp/engine/hardware_order.h"
#include "softamp/engine/program.h"
#include "softamp/engine/settings.h"
#include "softamp/engine/tensors.h"
#include "softamp/findings/exception.h"
#include "softamp/findings/tensor_text.h"
#include "softamp/graph/operation.h"
#include "softamp/machine/float_environment.h"
#include "softamp/names/names.h"
#include "src/machine/machine_memory.h"
#include "src/text/printable.h"

namespace softamp::engine {
namespace {

/// A program with the memory that it runs in.
struct Prepared {
  Program program;
  Buffer arena, scratch;
  std::vector<Buffer> results;             ///< of the fetches, where the engine's memory is not the host's
  bool effects = false;                    ///< an operation outputs a tensor in the middle of the step
  std::vector<std::vector<size_t>> ready;  ///< fetches that lie in the caller's result after each step of the program
};

/// Holds an executor for one step.
class Running {
 public:
  explicit Running(std::atomic<bool>& running) : running_(running) { refuse_if(running.exchange(true), "run"); }
  ~Running() { running_ = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static void refuse_if(bool running, const char* call) {
    if (running)
      throw std::logic_error(std::string("Executor::") + call +
                             ": this executor is in the middle of a step; expected one step at a time: wait for its "
                             "end, or make an executor for each thread");
  }

 private:
  std::atomic<bool>& running_;
};

class GraphExecutor final : public Executor {
 public:
  GraphExecutor(Graph graph, ExecutorOptions options, std::unique_ptr<Engine> engine)
      : graph_(std::move(graph)),
        options_(std::move(options)),
        engine_(std::move(engine)),
        settings_(settings_of(options_)) {
    stops_ = options_.config.behaviour().enabled_flags();
    warnings_ = options_.config.without_effect();
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

  RunResult run(ListView<Feed> feeds, ListView<std::string> fetches) override {
    const Running running(running_);
    const DefaultEnvironment guard;
    if (step_ >= kSteps) throw std::out_of_range("step " + std::to_string(step_) + ": " + expected_step());
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
      if (!at_once(prepared) || !run_at_once(prepared, result))
        for (size_t s = 0; s < program.steps.size(); ++s) {
          const Step& step = program.steps[s];
          if (options_.stop && options_.stop())
            throw RunStopped("the run was stopped before the operation '" + graph_.node(step.node).name + "'");
          run_step(step, prepared, result);
          if (!options_.fetched || !engine_->host_memory()) continue;
          for (const size_t f : prepared.ready[s]) options_.fetched(f, result.values[f]);
        }
    } catch (...) {
      order_ = before;
      throw;
    }
    for (size_t f = 0; f < program.fetches.size(); ++f) {
      const Place& place = program.fetched[f];
      if (engine_->host_memory() && place.kind == Place::Kind::kResult && place.at == f) continue;
      const size_t bytes = result.values[f].bytes();
      if (bytes) engine_->download(result.values[f].data(), pointer_to(place, prepared, fed, result.values), bytes);
      if (options_.fetched) options_.fetched(f, result.values[f]);
    }
    commit(program);
    ++step_;
    return result;
  }

  uint32_t step() const override { return step_; }
  void set_step(uint32_t step) override {
    Running::refuse_if(running_, "set_step");
    if (step >= kSteps) throw std::out_of_range("set_step(" + std::to_string(step) + "): " + expected_step());
    if (hardware_order()) {
      if (step != 0)
        throw std::invalid_argument("set_step(" + std::to_string(step) +
                                    "): with xoroshiro128aox a step's bits are not addressed; expected 0, a new start");
      order_->reset();
    }
    step_ = step;
  }

  const Tensor& variable(std::string_view name) const override { return variables_.at(variable_node(name)).host(); }
  void set_variable(std::string_view name, const Tensor& value) override {
    Running::refuse_if(running_, "set_variable");
    MirroredTensor& mine = variables_.at(variable_node(name));
    if (value.type() != mine.type())
      throw GraphError("variable '" + std::string(name) + "': the value is " + text_of(value.type()) + "; expected " +
                       text_of(mine.type()));
    mine.set(value);
  }

  std::vector<Tensor> take_outfeed(std::string_view queue) override {
    Running::refuse_if(running_, "take_outfeed");
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
  MemoryReport memory(ListView<std::string> fetches) override {
    return plan_program(graph_, ports_of(fetches), kernels_, options_.device).memory;
  }

 private:
  static std::string expected_step() {
    return "expected at most " + std::to_string(kSteps - 1) + ": later addresses of random bits have other uses";
  }
  bool hardware_order() const { return options_.random == RandomEngine::kXoroshiro128aox; }

  /// The kernel of a node, its variable, its queue.
  void prepare(int n) {
    const Node& node = graph_.node(n);
    if (node.op == "VariableV2") variables_.try_emplace(n, *engine_, node.outputs[0]);
    if (node.op == "OutfeedEnqueue") queues_[attribute<std::string>(node, "queue")];
    if (node.op == "Assign") check_assign(node);
    if (is_source(node) || is_alias(node) || node.op == "NoOp") return;
    std::vector<TensorType>& inputs = input_types_[static_cast<size_t>(n)];
    for (const Port& p : node.inputs) inputs.push_back(graph_.type(p));
    std::unique_ptr<OpKernel> kernel = engine_->make_kernel({node, inputs, settings_, warnings_});
    if (!kernel)
      throw GraphError(node.op + " '" + node.name + "': the backend " + engine_->name() +
                       " does not run this operation");
    kernels_[static_cast<size_t>(n)] = std::move(kernel);
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

  /// The system may promise memory that it has not, and end the process when it is used.
  static void check_host(const MemoryReport& memory) {
    constexpr int64_t kLittle = int64_t{1} << 24;  // every process has got it
    if (memory.peak <= kLittle) return;
    const MachineMemory there = machine_memory();
    if (static_cast<uint64_t>(memory.peak) <= there.bytes) return;
    MemoryReport of_host = memory;
    of_host.capacity = 0;
    throw GraphError("this process gets at most " + there.text() + "; expected smaller tensors: " + of_host.text());
  }

  Prepared& prepare(std::span<const std::string> fetches) {
    std::string key;
    for (const std::string& f : fetches) key += f + '\n';
    const auto found = programs_.find(key);
    if (found != programs_.end()) return found->second;

    Prepared prepared;
    Program& program = prepared.program;
    program = plan_program(graph_, ports_of(fetches), kernels_, options_.device, stops_ != 0);
    const MemoryReport& memory = program.memory;
    if (memory.capacity > 0 && memory.peak > memory.capacity) throw GraphError(memory.text());
    if (engine_->host_memory())
      check_host(memory);
    else
      engine_->expect_memory(bytes_to_mirror(program));
    prepared.arena = Buffer(*engine_, program.arena_bytes);
    prepared.scratch = Buffer(*engine_, program.scratch_bytes);
    if (!engine_->host_memory()) mirror(prepared);
    for (const Step& step : program.steps)
      prepared.effects = prepared.effects || (!step.kernel && graph_.node(step.node).op != "Assign");
    find_ready(prepared);
    program.input_pointers.resize(program.inputs.size());
    program.output_pointers.resize(program.outputs.size());
    return programs_.emplace(std::move(key), std::move(prepared)).first->second;
  }

  static void find_ready(Prepared& prepared) {
    const Program& program = prepared.program;
    prepared.ready.resize(program.steps.size());
    std::set<size_t> found;
    for (size_t s = 0; s < program.steps.size(); ++s) {
      const size_t end = s + 1 < program.steps.size() ? program.steps[s + 1].first_output : program.outputs.size();
      for (size_t o = program.steps[s].first_output; o < end; ++o)
        if (const Place& place = program.outputs[o];
            place.kind == Place::Kind::kResult && found.insert(place.at).second)
          prepared.ready[s].push_back(place.at);
    }
  }

  /// What the program still needs of the engine's memory.
  size_t bytes_to_mirror(const Program& program) const {
    size_t bytes = program.arena_bytes + program.scratch_bytes;
    for (const int n : program.feeds)
      if (!feeds_.contains(n)) bytes += graph_.node(n).outputs[0].bytes();
    for (const Port& f : program.fetches) bytes += graph_.type(f).bytes();
    std::set<size_t> constants;
    for (const auto* places : {&program.inputs, &program.fetched})
      for (const Place& place : *places)
        if (place.kind == Place::Kind::kConstant && place.at != ~size_t{0} &&
            !constants_.contains(static_cast<int>(place.at)) && constants.insert(place.at).second)
          bytes += constant(place).bytes();
    return bytes;
  }

  /// Memory of the engine for what the program reads and returns.
  void mirror(Prepared& prepared) {
    const Program& program = prepared.program;
    for (const int n : program.feeds) feeds_.try_emplace(n, *engine_, graph_.node(n).outputs[0].bytes());
    for (const Port& f : program.fetches) prepared.results.emplace_back(*engine_, graph_.type(f).bytes());
    for (const auto* places : {&program.inputs, &program.fetched})
      for (const Place& place : *places) {
        if (place.kind != Place::Kind::kConstant || place.at == ~size_t{0}) continue;
        const Tensor& value = constant(place);
        const auto [at, fresh] = constants_.try_emplace(static_cast<int>(place.at), *engine_, value.bytes());
        if (fresh && value.bytes()) engine_->upload(at->second.data(), value.data(), value.bytes());
      }
  }

  const Tensor& constant(const Place& place) const {
    return *attribute<std::shared_ptr<const Tensor>>(graph_.node(static_cast<int>(place.at)), "value");
  }

  /// The data of every placeholder that the program reads, by node.
  std::vector<const void*> check_feeds(const Program& program, std::span<const Feed> feeds) {
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
    if (!engine_->host_memory())
      for (const int n : program.feeds) {
        const void*& place = data[static_cast<size_t>(n)];
        const size_t bytes = graph_.node(n).outputs[0].bytes();
        if (bytes) engine_->upload(feeds_.at(n).data(), place, bytes);
        place = feeds_.at(n).data();
      }
    return data;
  }

  const void* pointer_to(const Place& place, const Prepared& prepared, const std::vector<const void*>& fed,
                         std::vector<Tensor>& results) const {
    switch (place.kind) {
      case Place::Kind::kArena: return prepared.arena.data() + place.at;
      case Place::Kind::kFeed: return fed[place.at];
      case Place::Kind::kVariable: return variables_.at(static_cast<int>(place.at)).data();
      case Place::Kind::kResult:
        return engine_->host_memory() ? results[place.at].data() : prepared.results[place.at].data();
      case Place::Kind::kConstant: break;
    }
    if (place.at == ~size_t{0}) return nullptr;
    return engine_->host_memory() ? constant(place).data() : constants_.at(static_cast<int>(place.at)).data();
  }

  void point(Prepared& prepared, const std::vector<const void*>& fed, std::vector<Tensor>& results) const {
    Program& program = prepared.program;
    for (size_t i = 0; i < program.inputs.size(); ++i)
      program.input_pointers[i] = pointer_to(program.inputs[i], prepared, fed, results);
    for (size_t i = 0; i < program.outputs.size(); ++i)
      program.output_pointers[i] = const_cast<void*>(pointer_to(program.outputs[i], prepared, fed, results));
  }

  Call call_of(const Step& step, const Prepared& prepared) const {
    const Program& program = prepared.program;
    return {step.kernel, &graph_.node(step.node), program.input_pointers.data() + step.first_input,
            program.output_pointers.data() + step.first_output, prepared.scratch.data()};
  }

  kernel::Environment& environment_of(const Node& node) {
    settings_.environment.operation = node.operation_id;
    settings_.environment.step = step_;
    return settings_.environment;
  }

  bool status_wanted() const { return stops_ != 0 || options_.status; }

  void run_step(const Step& step, const Prepared& prepared, RunResult& result) {
    const Call call = call_of(step, prepared);
    if (!step.kernel) {
      have_effect(*call.node, call.in);
      return;
    }
    const kernel::Environment& environment = environment_of(*call.node);
    if (hardware_order()) draw_words(*step.kernel);
    FpStatus status;
    FpStatus* const wanted = status_wanted() ? &status : nullptr;
    if (options_.timings) {
      const auto start = std::chrono::steady_clock::now();
      engine_->run(call, environment, wanted);
      const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - start;
      result.timings.push_back({call.node->name, call.node->op, taken.count()});
    } else {
      engine_->run(call, environment, wanted);
    }
    if (status.flags) see_status(call, status, result);
    if (options_.statistics || options_.observe) look_at(step.node, call.out, result);
  }

  /// Whether no tensor is read in the middle of the step.
  bool at_once(const Prepared& prepared) const {
    return engine_->runs_at_once() && !options_.statistics && !options_.observe && !options_.timings &&
           !hardware_order() && !prepared.effects;
  }

  /// False if an operation raised an enabled exception, or may have raised one before another operation refused its
  /// operands. The step is then run operation by operation, and ends at that one, with its operands still in memory.
  // implements: N302
  bool run_at_once(const Prepared& prepared, RunResult& result) {
    std::vector<Call> calls;
    for (const Step& step : prepared.program.steps)
      if (step.kernel) calls.push_back(call_of(step, prepared));
    std::vector<FpStatus> statuses(status_wanted() ? calls.size() : 0);
    settings_.environment.step = step_;
    try {
      engine_->run_all(calls, settings_.environment, statuses);
    } catch (const std::out_of_range&) {
      if (!stops_) throw;  // an operand is refused; an earlier operation may have raised an exception
      return false;
    }
    for (const FpStatus& status : statuses)
      if (status.flags & stops_) return false;
    for (size_t i = 0; i < statuses.size(); ++i)
      if (statuses[i].flags) see_status(calls[i], statuses[i], result);
    return true;
  }

  void draw_words(const OpKernel& kernel) {
    for (uint32_t site = 0; site < kernel::Environment::kSites; ++site) {
      const OpKernel::SiteRoundings r = kernel.roundings(site);
      settings_.environment.table[site] = {};
      if (r.blocks == 0 || !settings_.environment.semantics.narrow.stochastic()) continue;
      order_->draw(r.blocks, r.outputs, words_[site]);
      const uint32_t* words = words_[site].data();
      if (!engine_->host_memory() && !words_[site].empty()) {
        const size_t bytes = words_[site].size() * sizeof(uint32_t);
        word_images_[site] = Buffer(*engine_, bytes);
        engine_->upload(word_images_[site].data(), words, bytes);
        words = reinterpret_cast<const uint32_t*>(word_images_[site].data());
      }
      settings_.environment.table[site] = {words, r.outputs};
    }
  }

  // implements: N37, N93, N96, N302
  void see_status(const Call& call, FpStatus status, RunResult& result) {
    const Node& node = *call.node;
    for (uint64_t& place : status.first_index)
      if (place != FpStatus::kNever && call.kernel) place = call.kernel->element_of(place);
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
        [&](uint64_t index) {
          const HostView operands(*engine_, input_types_[static_cast<size_t>(graph_.find(node.name))], call.in);
          kernel::Environment environment = environment_of(node);
          for (uint32_t k = 0; k < kernel::Environment::kSites; ++k)
            if (environment.table[k].words) environment.table[k].words = words_[k].data();  // the host's
          return call.kernel->operands_at(operands.data(), environment, index);
        },
        options_.switches.dump_format);
  }

  // implements: N96
  void look_at(int n, void* const* out, RunResult& result) {
    const Node& node = graph_.node(n);
    const HostView outputs(*engine_, node.outputs, out);
    for (int port = 0; port < static_cast<int>(node.outputs.size()); ++port) {
      const TensorType& type = node.outputs[static_cast<size_t>(port)];
      if (options_.observe) options_.observe(step_, node, port, type, outputs.data()[port]);
      if (options_.statistics)
        result.statistics.push_back({graph_.port_name({n, port}), statistics_of(type, outputs.data()[port])});
    }
  }

  /// PrintTensor and OutfeedEnqueue; Assign waits for the step's end.
  void have_effect(const Node& node, const void* const* in) {
    if (node.op == "Assign") return;
    const HostView seen(*engine_, {node.outputs.data(), 1}, in);
    if (node.op == "PrintTensor") {
      const std::string& message = attribute<std::string>(node, "message");
      const std::string text =
          (message.empty() ? node.name : message) + ": " + tensor_text(node.outputs[0], seen.data()[0]) + "\n";
      if (options_.print)
        options_.print(text);
      else
        std::fputs(files::printable(text, true).c_str(), stderr);
    }
    if (node.op == "OutfeedEnqueue") {
      const std::string& name = attribute<std::string>(node, "queue");
      size_t waiting = queues_[name].size();
      for (const auto& [queue, tensor] : outfed_) waiting += queue == name;
      if (waiting >= options_.outfeed_capacity)
        throw std::runtime_error("OutfeedEnqueue '" + node.name + "': queue '" + name + "' holds " +
                                 std::to_string(waiting) + " tensors, its capacity; take them with take_outfeed");
      Tensor copy(node.outputs[0]);
      if (copy.bytes()) std::memcpy(copy.data(), seen.data()[0], copy.bytes());
      outfed_.emplace_back(name, std::move(copy));
    }
  }

  /// The step has succeeded: what it assigned and enqueued takes effect, in the order of the graph.
  // implements: N95
  void commit(const Program& program) {
    // A value that is another variable is that variable's value before the step: two variables can be swapped.
    std::map<int, Buffer> before;
    for (const Step& step : program.steps) {
      if (graph_.node(step.node).op != "Assign") continue;
      const Place& value = program.inputs[step.first_input];
      if (value.kind != Place::Kind::kVariable) continue;
      const MirroredTensor& held = variables_.at(static_cast<int>(value.at));
      const auto at = before.emplace(step.node, Buffer(*engine_, held.type().bytes())).first;
      if (held.type().bytes()) engine_->copy(at->second.data(), held.data(), held.type().bytes());
    }
    for (auto& [queue, tensor] : outfed_) queues_[queue].push_back(std::move(tensor));
    outfed_.clear();
    for (const Step& step : program.steps) {
      const Node& node = graph_.node(step.node);
      if (node.op != "Assign") continue;
      MirroredTensor& variable = variables_.at(graph_.find(attribute<std::string>(node, "ref")));
      const auto held = before.find(step.node);
      variable.assign(held == before.end() ? program.input_pointers[step.first_input] : held->second.data());
    }
  }

  Graph graph_;
  ExecutorOptions options_;
  std::unique_ptr<Engine> engine_;  ///< outlives every buffer below
  EngineSettings settings_;
  uint8_t stops_ = 0;
  std::optional<HardwareOrder> order_;
  std::vector<uint32_t> words_[kernel::Environment::kSites];
  Buffer word_images_[kernel::Environment::kSites];
  std::vector<std::vector<TensorType>> input_types_;  ///< by node; kernels keep views of them
  Kernels kernels_;
  std::vector<std::string> warnings_;
  std::map<int, MirroredTensor> variables_;
  std::map<int, Buffer> feeds_, constants_;  ///< copies, by node, if the engine's memory is not the host's
  std::map<std::string, std::deque<Tensor>, std::less<>> queues_;
  std::vector<std::pair<std::string, Tensor>> outfed_;
  std::unordered_map<std::string, Prepared> programs_;
  uint32_t step_ = 0;
  std::atomic<bool> running_ = false;
};

}  // namespace

std::unique_ptr<Executor> make_graph_executor(Graph graph, ExecutorOptions options, std::unique_ptr<Engine> engine) {
  return std::make_unique<GraphExecutor>(std::move(graph), std::move(options), std::move(engine));
}

}  // namespace softamp::engine
