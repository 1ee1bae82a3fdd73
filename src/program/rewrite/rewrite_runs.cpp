#include "src/program/rewrite/rewrite_runs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "softamp/names/names.h"
#include "softamp/train/initializer.h"

namespace softamp::program {
namespace {

bool has_values(const Node& node) { return node.op == "Placeholder" || node.op == "VariableV2"; }

Tensor drawn(const Node& node, uint64_t seed) {
  const TensorType& type = node.outputs[0];
  if (!is_floating(type.dtype)) return Tensor(type);
  return initial_value(node.op == "Placeholder" ? Initializer::normal(1) : Initializer::glorot_uniform(), type,
                       node.name, seed);
}

/// Takes the values of tensors inside the graph out of those that are given.
std::map<std::string, Tensor> take_inner(const Graph& graph, std::map<std::string, Tensor>& given) {
  std::map<std::string, Tensor> inner;
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    const bool one = node.outputs.size() == 1 && is_floating(node.outputs[0].dtype);
    if (has_values(node)) names.push_back(node.name);
    const auto at = has_values(node) || !one ? given.end() : given.find(node.name);
    if (at == given.end()) continue;
    if (at->second.shape() != node.outputs[0].shape || !is_floating(at->second.dtype()))
      throw UsageError("--feed: '" + node.name + "' is " + at->second.type().text() + "; expected " +
                       node.outputs[0].text());
    inner.emplace(node.name, std::move(at->second));
    given.erase(at);
  }
  for (const auto& [name, value] : given)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw UsageError("--feed: " + unknown_name_message("placeholder or variable", name, names));
  return inner;
}

}  // namespace

std::vector<std::string> outputs_of(const GraphFile& file) {
  if (!file.outputs.empty()) return file.outputs;
  std::vector<char> read(static_cast<size_t>(file.graph.size()));
  for (const Node& node : file.graph.nodes())
    for (const Port& p : node.inputs) read[static_cast<size_t>(p.node)] = 1;
  std::vector<std::string> names;
  for (int n = 0; n < file.graph.size(); ++n)
    if (!read[static_cast<size_t>(n)] && !file.graph.node(n).outputs.empty()) names.push_back(file.graph.node(n).name);
  return names;
}

RewriteRuns::RewriteRuns(GraphFile file, std::vector<std::string> fetches, GivenValues values, uint64_t seed)
    : file_(std::move(file)), fetches_(std::move(fetches)), given_(std::move(values)), seed_(seed) {
  if (fetches_.empty()) fetches_ = outputs_of(file_);
  inner_ = take_inner(file_.graph, given_.feeds);
}

RewriteRuns::RewriteRuns(GraphDefFile file, std::vector<std::string> fetches, GivenValues values, uint64_t seed)
    : fetches_(std::move(fetches)), given_(std::move(values)), seed_(seed) {
  if (const auto batch = std::exchange(given_.batch, std::nullopt)) {
    bool open = false;
    try {
      import(file);
    } catch (const GraphDefError&) {
      open = true;
    }
    if (!open) throw UsageError("--batch: no placeholder leaves axis 0 open; expected none");
    given_.batch = batch;
  }
  // What is no placeholder and no variable of the file is a tensor inside the graph that it becomes.
  std::map<std::string, Tensor> inside;
  for (const OpNode& node : file.op_graph().nodes) {
    static const std::set<std::string_view> kGiven = {"Placeholder", "PlaceholderV2", "PlaceholderWithDefault",
                                                      "VarHandleOp", "Variable",      "VariableV2"};
    if (const auto at = given_.feeds.find(node.name); at != given_.feeds.end() && !kGiven.contains(node.op))
      inside.insert(given_.feeds.extract(at));
  }
  if (fetches_.empty()) fetches_ = import(file).fetches;
  def_ = file.opened(fetches_);  // so that nodes have the names before that they have after
  if (!inside.empty()) inner_ = take_inner(import(def_->closed()).graph, inside);
}

OpGraph RewriteRuns::picture() const { return def_ ? def_->op_graph(fetches_) : op_graph(file_.graph, fetches_); }

GivenValues RewriteRuns::values() const {
  GivenValues copy;
  copy.batch = given_.batch;
  for (const auto& [name, tensor] : given_.feeds) copy.feeds.emplace(name, tensor.clone());
  for (const auto& [name, tensor] : given_.variables) copy.variables.emplace(name, tensor.clone());
  copy.variables_file = given_.variables_file;
  return copy;
}

RunnableGraph RewriteRuns::with_all_values(RunnableGraph r) const {
  if (!given_.variables_file.empty()) require_fitting_names(r, given_.variables_file, {});
  for (const Node& node : r.graph.nodes()) {
    if (!has_values(node)) continue;
    auto& all = node.op == "Placeholder" ? r.feeds : r.variables;
    if (!all.contains(node.name)) all.emplace(node.name, drawn(node, seed_));
  }
  r.graph = r.graph.with_preset(preset_ ? *preset_ : r.graph.preset().value_or(Preset::kIeee));
  return inner_.empty() ? std::move(r) : with_inner(std::move(r));
}

RunnableGraph RewriteRuns::with_inner(RunnableGraph r) const {
  GraphBuilder b;
  b.set_preset(r.graph.preset());
  for (int n = 0; n < r.graph.size(); ++n) {
    const Node& node = r.graph.node(n);
    const auto value = inner_.find(node.name);
    if (value == inner_.end() || has_values(node)) {
      b.add_copy(r.graph, n, node.inputs);
      continue;
    }
    const TensorType& type = node.outputs[0];
    b.add_named(node.name, "Placeholder", {}, {{"dtype", type.dtype}, {"shape", type.shape}});
    r.feeds.insert_or_assign(node.name, Tensor::from_values(type.dtype, type.shape, value->second.values()));
  }
  r.graph = b.build();
  return r;
}

RunnableGraph RewriteRuns::own(Graph graph, const std::vector<PassVariable>& state) const {
  RunnableGraph r = runnable(std::move(graph), fetches_, values());
  for (const PassVariable& v : state) r.variables.emplace(v.name, Tensor::full(v.type.dtype, v.type.shape, v.initial));
  return with_all_values(std::move(r));
}

RunnableGraph RewriteRuns::import(const GraphDefFile& file) const {
  return with_all_values(runnable(file, fetches_, given_, {}));
}

RunnableGraph RewriteRuns::before() const { return def_ ? import(def_->closed()) : own(file_.graph); }

RunnableGraph RewriteRuns::after(const CastPlan& plan) const {
  return def_ ? import(def_->apply(plan).closed()) : own(apply(file_.graph, plan));
}

namespace {

std::unique_ptr<Executor> ready_executor(const RunnableGraph& graph, const ExecutorOptions& options) {
  auto executor = make_executor(graph.graph, options);
  for (const auto& [name, value] : graph.variables) executor->set_variable(name, value);
  return executor;
}

std::vector<Feed> feeds_of(const RunnableGraph& graph) {
  std::vector<Feed> feeds;
  for (const auto& [name, value] : graph.feeds) feeds.push_back({name, &value});
  return feeds;
}

}  // namespace

RunnableGraph RewriteRuns::after(const GraphRewrite& rewrite) const {
  RunnableGraph r = own(rewrite.graph, rewrite.state);
  if (rewrite.state.empty()) return r;
  std::vector<std::string> ports;
  for (const std::string& name : fetches_) ports.push_back(r.ports.at(name));
  const auto executor = ready_executor(r, {});
  executor->run(feeds_of(r), ports);
  for (const PassVariable& v : rewrite.state) r.variables.insert_or_assign(v.name, executor->variable(v.name).clone());
  return r;
}

RunResult run_once(const RunnableGraph& graph, const std::vector<std::string>& ports, const ExecutorOptions& options) {
  return ready_executor(graph, options)->run(feeds_of(graph), ports);
}

void Distance::add(const Tensor& was, const Tensor& is) {
  double scale = 0;
  for (int64_t i = 0; i < was.elements(); ++i)
    if (std::isfinite(was.value(i))) scale = std::max(scale, std::fabs(was.value(i)));
  for (int64_t i = 0; i < was.elements(); ++i) {
    const double a = was.value(i), b = is.value(i);
    double error = std::numeric_limits<double>::infinity();
    if (a == b || (std::isnan(a) && std::isnan(b)))
      error = 0;
    else if (std::isfinite(a) && std::isfinite(b) && scale > 0)
      error = std::fabs(b - a) / scale;
    largest = std::max(largest, error);
    sum += error;
  }
  elements += was.elements();
}

}  // namespace softamp::program
