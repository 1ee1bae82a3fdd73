#include "softamp/engine/program.h"

#include <algorithm>
#include <set>

#include "softamp/engine/buffer_plan.h"
#include "softamp/graph/operation.h"

namespace softamp::engine {
namespace {

/// A tensor that a node computes, for all ports that are only other names of it.
struct Root {
  Port port;
  int first = 0, last = 0;  ///< steps
  Place place;
  bool owned = false;  ///< lies in the arena or in a result
};

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<Port>& fetches, const Kernels& kernels, const DeviceModel& device,
          bool keep_operands)
      : graph_(graph), kernels_(kernels), device_(device), keep_operands_(keep_operands) {
    program_.fetches = fetches;
  }

  Program plan() {
    number_roots();
    take_results();
    share_in_place();
    place_arena();
    write_steps();
    account();
    return std::move(program_);
  }

 private:
  size_t& root_at(Port p) { return root_of_[static_cast<size_t>(p.node)][static_cast<size_t>(p.port)]; }

  /// Every port's root, and its lifetime in steps.
  void number_roots() {
    root_of_.resize(static_cast<size_t>(graph_.size()));
    for (const int n : needed_nodes(graph_, program_.fetches)) {
      const Node& node = graph_.node(n);
      auto& mine = root_of_[static_cast<size_t>(n)];
      mine.resize(node.outputs.size());
      const int step = static_cast<int>(order_.size());
      for (const Port& input : node.inputs)
        if (input.node >= 0) roots_[root_at(input)].last = step;
      if (is_source(node)) {
        Root root{{n, 0}, step, step, {}, false};
        root.place.kind = node.op == "Placeholder" ? Place::Kind::kFeed
                          : node.op == "Const"     ? Place::Kind::kConstant
                                                   : Place::Kind::kVariable;
        root.place.at = static_cast<size_t>(n);
        if (node.op == "Placeholder") program_.feeds.push_back(n);
        mine[0] = roots_.size();
        roots_.push_back(root);
        continue;
      }
      if (is_alias(node)) {
        mine[0] = root_at(node.inputs[0]);
        const Operation* op = find_operation(node.op);
        if (!op || !op->effect) continue;
      } else {
        for (int port = 0; port < static_cast<int>(node.outputs.size()); ++port) {
          mine[static_cast<size_t>(port)] = roots_.size();
          roots_.push_back({{n, port}, step, step, {}, true});
        }
      }
      order_.push_back(n);
    }
    // Values that outlive the operations: fetches and what is assigned at the step's end.
    const int end = static_cast<int>(order_.size());
    for (const Port& f : program_.fetches) roots_[root_at(f)].last = end;
    for (const int n : order_)
      if (graph_.node(n).op == "Assign") roots_[root_at(graph_.node(n).inputs[0])].last = end;
  }

  /// The first fetch of a computed tensor, if of the same shape, is computed directly in the caller's result.
  void take_results() {
    std::set<size_t> taken;
    for (size_t f = 0; f < program_.fetches.size(); ++f) {
      Root& root = roots_[root_at(program_.fetches[f])];
      if (!root.owned || !taken.insert(root_at(program_.fetches[f])).second) continue;
      root.place = {Place::Kind::kResult, f};
    }
  }

  /// Output 0 takes over the buffer of input 0 if the kernel allows it, the sizes agree and no later step reads the
  /// input.
  void share_in_place() {
    merged_.resize(roots_.size());
    for (size_t r = 0; r < roots_.size(); ++r) merged_[r] = r;
    for (int step = 0; step < static_cast<int>(order_.size()); ++step) {
      const Node& node = graph_.node(order_[static_cast<size_t>(step)]);
      const OpKernel* kernel = kernels_[static_cast<size_t>(order_[static_cast<size_t>(step)])].get();
      if (!kernel || !kernel->in_place() || node.inputs.empty() || node.inputs[0].node < 0) continue;
      const size_t from = root_at(node.inputs[0]), to = root_at({order_[static_cast<size_t>(step)], 0});
      const Root& input = roots_[from];
      const Root& output = roots_[to];
      const auto in_arena = [](const Root& r) { return r.owned && r.place.kind == Place::Kind::kArena; };
      const bool read_twice = std::count_if(node.inputs.begin(), node.inputs.end(),
                                            [&](Port p) { return p.node >= 0 && root_at(p) == from; }) > 1;
      if (!in_arena(input) || !in_arena(output) || input.last != step || read_twice ||
          bytes_of(input) != bytes_of(output))
        continue;
      merged_[to] = merged_[from];
      roots_[merged_[from]].last = std::max(roots_[merged_[from]].last, output.last);
    }
  }

  bool has_own_buffer(size_t r) const { return merged_[r] == r || keep_operands_; }
  size_t bytes_of(const Root& r) const { return graph_.type(r.port).bytes(); }

  void place_arena() {
    std::vector<BufferRequest> requests;
    std::vector<size_t> asked;
    for (size_t r = 0; r < roots_.size(); ++r)
      if (roots_[r].owned && roots_[r].place.kind == Place::Kind::kArena && has_own_buffer(r)) {
        requests.push_back({bytes_of(roots_[r]), roots_[r].first, roots_[r].last});
        asked.push_back(r);
      }
    const BufferPlan plan = plan_buffers(requests);
    program_.arena_bytes = plan.arena_bytes;
    for (size_t i = 0; i < asked.size(); ++i) roots_[asked[i]].place.at = plan.offsets[i];
    for (size_t r = 0; r < roots_.size(); ++r)
      if (!has_own_buffer(r)) roots_[r].place = roots_[merged_[r]].place;
  }

  void write_steps() {
    for (const int n : order_) {
      const Node& node = graph_.node(n);
      const OpKernel* kernel = kernels_[static_cast<size_t>(n)].get();
      program_.steps.push_back({n, kernel, program_.inputs.size(), program_.outputs.size()});
      for (const Port& p : node.inputs)
        program_.inputs.push_back(p.node >= 0 ? roots_[root_at(p)].place : Place{Place::Kind::kConstant, ~size_t{0}});
      for (int port = 0; port < static_cast<int>(node.outputs.size()); ++port)
        program_.outputs.push_back(roots_[root_at({n, is_alias(node) ? 0 : port})].place);
      if (kernel) program_.scratch_bytes = std::max(program_.scratch_bytes, kernel->scratch_bytes());
    }
    for (const Port& f : program_.fetches) program_.fetched.push_back(roots_[root_at(f)].place);
  }

  /// Bytes on the device, tensor by tensor: sources are always in memory, computed tensors from their first to their
  /// last step.
  void account() {
    const size_t steps = order_.size() + 1;
    std::vector<int64_t> change(steps + 1);
    for (size_t r = 0; r < roots_.size(); ++r) {
      const Root& root = roots_[r];
      if (merged_[r] != r) continue;
      const auto bytes = static_cast<int64_t>(bytes_of(root));
      change[root.owned ? static_cast<size_t>(root.first) : 0] += bytes;
      change[root.owned ? static_cast<size_t>(root.last) + 1 : steps] -= bytes;
    }
    int64_t now = 0;
    size_t fullest = 0;
    MemoryReport& report = program_.memory;
    for (size_t s = 0; s < steps; ++s) {
      now += change[s];
      if (now > report.peak) report.peak = now, fullest = s;
    }
    report.capacity = device_.bytes();
    report.at = fullest < order_.size() ? graph_.node(order_[fullest]).name : "the end";
    for (size_t r = 0; r < roots_.size(); ++r) {
      const Root& root = roots_[r];
      const bool there =
          !root.owned || (root.first <= static_cast<int>(fullest) && static_cast<int>(fullest) <= root.last);
      if (there && merged_[r] == r)
        report.largest.push_back({graph_.port_name(root.port), static_cast<int64_t>(bytes_of(root))});
    }
    std::stable_sort(report.largest.begin(), report.largest.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    if (report.largest.size() > 10) report.largest.resize(10);
  }

  const Graph& graph_;
  const Kernels& kernels_;
  const DeviceModel& device_;
  bool keep_operands_;
  Program program_;
  std::vector<Root> roots_;
  std::vector<std::vector<size_t>> root_of_;
  std::vector<size_t> merged_;
  std::vector<int> order_;
};

}  // namespace

bool is_alias(const Node& node) {
  static const std::set<std::string, std::less<>> kAliases = {
      "Identity", "StopGradient", "Reshape", "ExpandDims", "Squeeze", "PrintTensor", "OutfeedEnqueue", "Assign"};
  return kAliases.count(node.op) != 0;
}

bool is_source(const Node& node) { return node.op == "Placeholder" || node.op == "Const" || node.op == "VariableV2"; }

std::vector<int> needed_nodes(const Graph& graph, const std::vector<Port>& fetches) {
  std::vector<char> needed(static_cast<size_t>(graph.size()));
  for (const Port& f : fetches) needed[static_cast<size_t>(f.node)] = 1;
  for (int n = graph.size(); n-- > 0;) {
    const Node& node = graph.node(n);
    const Operation* op = find_operation(node.op);
    if (op && op->effect) needed[static_cast<size_t>(n)] = 1;
    if (!needed[static_cast<size_t>(n)]) continue;
    for (const Port& p : node.inputs)
      if (p.node >= 0) needed[static_cast<size_t>(p.node)] = 1;
  }
  std::vector<int> order;
  for (int n = 0; n < graph.size(); ++n)
    if (needed[static_cast<size_t>(n)]) order.push_back(n);
  return order;
}

Program plan_program(const Graph& graph, const std::vector<Port>& fetches, const Kernels& kernels,
                     const DeviceModel& device, bool keep_operands) {
  return Planner(graph, fetches, kernels, device, keep_operands).plan();
}

}  // namespace softamp::engine
