#include "src/program/rewrite/advise.h"

#include "src/numbers/decimal_text.h"

namespace softamp::program {

Adviser::Adviser(const RewriteRuns& runs) : runs_(runs) {
  const RunnableGraph graph = runs_.before();
  for (const std::string& name : graph.fetches)
    if (is_floating(graph.graph.type(graph.graph.port(graph.ports.at(name))).dtype)) outputs_.push_back(name);
  if (outputs_.empty())
    throw UsageError("--advise: no output of the graph is floating-point; expected one whose error can be measured");
  before_ = outputs_of_run(graph);
}

std::vector<Tensor> Adviser::outputs_of_run(const RunnableGraph& graph) const {
  std::vector<std::string> ports;
  for (const std::string& name : outputs_) ports.push_back(graph.ports.at(name));
  return std::move(run_once(graph, ports, {}).values);
}

Candidate Adviser::judge(const std::string& name, const std::function<Colouring(const OpGraph&)>& colour) const {
  PrecisionReport report;
  report.before = runs_.picture();
  report.colours = colour(report.before);
  report.plan = plan_casts(report.before, report.colours);
  Candidate c{name, report.nodes(), report.converted_nodes(), static_cast<int64_t>(report.plan.casts.size())};
  measure(runs_.after(report.plan), c);
  return c;
}

Candidate Adviser::judge(const std::string& name, const GraphRewrite& quantized) const {
  Candidate c{name, quantized.report.nodes()};
  for (const std::string& list : quantized.report.colours.lists)
    c.converted += list == "fprop" || list == "dgrad" || list == "wgrad";
  for (const Node& node : quantized.graph.nodes()) c.casts += node.op == "FakeQuantize";
  measure(runs_.after(quantized), c);
  return c;
}

void Adviser::measure(const RunnableGraph& run, Candidate& c) const {
  const std::vector<Tensor> after = outputs_of_run(run);
  Distance distance;
  for (size_t i = 0; i < after.size(); ++i) distance.add(before_[i], after[i]);
  c.largest = distance.largest;
  c.mean = distance.mean();
}

std::string advice(const Candidate& full, const Candidate& basic, double tolerance) {
  const auto error = [](const Candidate& c) { return significant_digits(c.largest, 3); };
  const std::string bound = "the tolerance " + significant_digits(tolerance, 3);
  if (full.converted == 0) return "none: Full converts no node of this graph";
  if (full.largest <= tolerance)
    return "Full: it converts the most, for the best performance, and its largest error, " + error(full) +
           ", is within " + bound;
  const std::string why = "Full's largest error, " + error(full) + ", is beyond " + bound;
  if (basic.largest <= tolerance)
    return "Basic: " + why + "; that of Basic, which converts products and convolutions alone, is " + error(basic);
  return "neither: " + why + ", and so is that of Basic, " + error(basic) +
         "; keep parts in float32 by a recipe of your own or by the name scope KEEP_FP32_PRECISION";
}

}  // namespace softamp::program
