// libFuzzer target: any bytes given to the readers of GraphDefs are refused with GraphDefError, or give a graph that
// goes round in both forms and, where its picture can be made, is rewritten consistently whatever is coloured; and it
// becomes a graph of ours, or is refused. The first byte chooses the form and the colours.
#include <optional>
#include <random>
#include <string>

#include "softamp/precision/graph_def.h"
#include "softamp/precision/graph_def_import.h"
#include "tests/fuzz/require.h"

using namespace softamp;

namespace {

/// Functions written out, and back.
void open_functions(const GraphDefFile& graph) {
  try {
    const GraphDefFile closed = graph.opened().closed();
    GraphDefFile::parse_binary(closed.binary(), "input");
    closed.verify_rewrite_of(graph);
  } catch (const GraphDefError& e) {
    require_named(e);
  }
}

void rewrite(const GraphDefFile& graph, uint8_t choice) {
  OpGraph picture;
  try {
    picture = graph.op_graph();
  } catch (const GraphDefError& e) {
    require_named(e);
    return;
  }
  open_functions(graph);
  require(picture.size() == graph.size(), "every node is in the picture");
  const DType low = choice & 2 ? DType::kFloat16 : DType::kBFloat16;
  Colouring colours = Colouring::nothing(picture, "fuzz", low);
  std::minstd_rand dice(choice);
  for (int n = 0; n < picture.size(); ++n) {
    const OpNode& node = picture.nodes[static_cast<size_t>(n)];
    require(node.input_units.size() == node.inputs.size(), "every input has its unit");
    require(node.output_units.size() == node.output_types.size(), "every output has its unit");
    for (const OpEdge& e : node.inputs) require(e.node >= 0 && e.node < picture.size(), "inputs lead somewhere");
    for (int u = 0; u < static_cast<int>(node.units.size()); ++u) {
      const bool wanted = dice() >> 15 & 1;
      // A cast between NextIteration and Merge is refused: these stay as they are.
      const bool free = node.op != "NextIteration" && node.op != "Merge";
      if (free && may_become_low(picture, n, u, low) && wanted)
        colours.low_units[static_cast<size_t>(picture.unit(n, u))] = 1;
    }
  }
  const CastPlan plan = plan_casts(picture, colours);
  const GraphDefFile rewritten = graph.apply(plan);
  const OpGraph after = rewritten.op_graph();
  require(after.size() == picture.size() + static_cast<int>(plan.casts.size()), "one node more for each cast");
  GraphDefFile::parse_binary(rewritten.binary(), "input");
}

void make_graph(const GraphDefFile& file) {
  ImportedGraph imported;
  try {
    imported = import_graph(file);
  } catch (const GraphDefError& e) {
    require_named(e);
    return;
  }
  verify(imported.graph);
  verify(imported.initial);
  for (const auto& [fetch, port] : imported.ports) imported.graph.port(port);
  for (const auto& [node, fetch] : imported.initial_values) {
    imported.initial.port(fetch);
    require(imported.graph.find(node) >= 0, "a first value is that of a variable");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  std::optional<GraphDefFile> read;
  try {
    read = data[0] & 1 ? GraphDefFile::parse_text(bytes, "input") : GraphDefFile::parse_binary(bytes, "input");
  } catch (const GraphDefError& e) {
    require_named(e);
    return 0;
  }
  // From here on a GraphDefError is a fault, but for those that are caught where they may come.
  const GraphDefFile& graph = *read;
  const std::string written = graph.binary();
  require(GraphDefFile::parse_binary(written, "input").binary() == written, "the binary form goes round");
  if (data[0] & 4) rewrite(graph.with_fused_batch_norm_v2(), data[0]);
  rewrite(graph, data[0]);
  make_graph(graph);
  std::string text;
  try {
    text = graph.text();
  } catch (const GraphDefError& e) {  // unknown fields
    require_named(e);
    return 0;
  }
  require(GraphDefFile::parse_text(text, "input").text() == text, "the text goes round");
  return 0;
}
