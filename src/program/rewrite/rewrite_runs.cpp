#include "src/program/rewrite/rewrite_runs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "softamp/report/names.h"
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

void require_known_names(const Graph& graph, const std::map<std::string, Tensor>& given) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes())
    if (has_values(node)) names.push_back(node.name);
  for (const auto& [name, value] : given)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw UsageError("--feed: " + unknown_name_message("placeholder or variable", name, names));
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
  require_known_names(file_.graph, given_.feeds);
}

RewriteRuns::RewriteRuns(GraphDefFile file, std::vector<std::string> fetches, GivenValues values, uint64_t seed)
    : fetches_(std::move(fetches)), given_(std::move(values)), seed_(seed) {
  if (fetches_.empty()) fetches_ = import(file).fetches;
  def_ = file.opened(fetches_);  // so that nodes have the names before that they have after
}

OpGraph RewriteRuns::picture() const { return def_ ? def_->op_graph(fetches_) : op_graph(file_.graph, fetches_); }

GivenValues RewriteRuns::values() const {
  GivenValues copy;
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
  return r;
}

RunnableGraph RewriteRuns::own(Graph graph) const {
  return with_all_values(runnable(std::move(graph), fetches_, values()));
}

RunnableGraph RewriteRuns::import(const GraphDefFile& file) const {
  return with_all_values(runnable(file, fetches_, given_, {}));
}

RunnableGraph RewriteRuns::before() const { return def_ ? import(def_->closed()) : own(file_.graph); }

RunnableGraph RewriteRuns::after(const CastPlan& plan) const {
  return def_ ? import(def_->apply(plan).closed()) : own(apply(file_.graph, plan));
}

RunResult run_once(const RunnableGraph& graph, const std::vector<std::string>& ports, const ExecutorOptions& options) {
  const auto executor = make_executor(graph.graph, options);
  for (const auto& [name, value] : graph.variables) executor->set_variable(name, value);
  std::vector<Feed> feeds;
  for (const auto& [name, value] : graph.feeds) feeds.push_back({name, &value});
  return executor->run(feeds, ports);
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
