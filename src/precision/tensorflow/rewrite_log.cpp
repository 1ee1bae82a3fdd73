#include "src/precision/tensorflow/rewrite_log.h"

#include <filesystem>
#include <map>

#include "src/files/output_file.h"

namespace softamp::precision_detail {
namespace {

std::string port_text(const OpGraph& graph, const OpEdge& e) {
  const std::string& name = graph.nodes[static_cast<size_t>(e.node)].name;
  return e.port == 0 ? name : name + ":" + std::to_string(e.port);
}

void save(const std::string& folder, const char* name, const std::string& text, std::string what,
          std::vector<std::string>& messages) {
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  try {
    files::write_file(path, text);
    messages.push_back("INFO Saved " + std::move(what) + " to " + path.string());
  } catch (const files::OutputError& e) {
    messages.push_back("WARNING Could not write " + path.string() + ": " + e.reason);
  } catch (const files::LockedError&) {
    messages.push_back("WARNING Could not write " + path.string() + ": another run is writing it");
  }
}

}  // namespace

std::string picture_text(const OpGraph& graph, const CastPlan* plan) {
  std::map<std::pair<int, int>, std::string> redirected;
  std::map<int, std::vector<const PlannedCast*>> casts;
  std::vector<uint8_t> retyped(static_cast<size_t>(graph.units()));
  if (plan) {
    for (const PlannedCast& cast : plan->casts) {
      casts[cast.from.node].push_back(&cast);
      for (const auto& reader : cast.readers) redirected[reader] = cast.name;
    }
    for (const CastPlan::Redirect& r : plan->redirected) redirected[{r.node, r.input}] = port_text(graph, r.to);
    for (const auto& [node, unit] : plan->retyped) retyped[static_cast<size_t>(graph.unit(node, unit))] = 1;
  }
  const auto device_text = [](const std::string& device) { return device.empty() ? "" : " device='" + device + "'"; };
  std::string text;
  for (int n = 0; n < graph.size(); ++n) {
    const OpNode& node = graph.nodes[static_cast<size_t>(n)];
    text += node.name + " = " + node.op + "(";
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      const auto other = redirected.find({n, i});
      text += (i > 0 ? ", " : "") +
              (other == redirected.end() ? port_text(graph, node.inputs[static_cast<size_t>(i)]) : other->second);
    }
    text += ")";
    for (int u = 0; u < static_cast<int>(node.units.size()); ++u) {
      const TypeUnit& unit = node.units[static_cast<size_t>(u)];
      text += " " + unit.attribute + "=" +
              (retyped[static_cast<size_t>(graph.unit(n, u))] ? name_of(plan->low) : name_of(unit.type));
    }
    text += device_text(node.device) + "\n";
    if (const auto own = casts.find(n); own != casts.end())
      for (const PlannedCast* cast : own->second)
        text += cast->name + " = Cast(" + port_text(graph, cast->from) +
                ") SrcT=" + name_of(cast->to == DType::kFloat32 ? plan->low : DType::kFloat32) +
                " DstT=" + name_of(cast->to) + device_text(cast->device) + "\n";
  }
  return text;
}

void log_before(const std::string& folder, const OpGraph& graph, std::vector<std::string>& messages) {
  save(folder, "graphdef_preop.txt", picture_text(graph), "pre-optimization graph as text", messages);
}

void log_after(const std::string& folder, const OpGraph& graph, const CastPlan& plan, const OpLists& lists,
               std::vector<std::string>& messages) {
  save(folder, "graphdef_AutoMixedPrecision.txt", picture_text(graph, &plan), "post-optimization graph as text",
       messages);
  save(folder, "paintbuckets_AutoMixedPrecision.txt", lists.paint_buckets(), "paint bucket info", messages);
}

}  // namespace softamp::precision_detail
