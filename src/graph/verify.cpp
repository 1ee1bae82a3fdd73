#include "src/graph/node_check.h"

namespace softamp {

void verify(const Graph& graph) {
  GraphBuilder again;
  for (const Node& node : graph.nodes()) {
    const Port p = again.add_named(node.name, node.op, node.inputs, node.attributes);
    const Node& expected = again.graph().node(p.node);
    const std::string place = node.op + " '" + node.name + "': ";
    if (graph.find(node.name) != p.node) throw GraphError(place + "the name leads to another node");
    for (const auto& [name, value] : expected.attributes) {
      const auto it = node.attributes.find(name);
      if (it == node.attributes.end() || !equal(it->second, value))
        throw GraphError(place + "attribute '" + name + "' is not set; expected " + text_of(value));
    }
    if (node.outputs.size() != expected.outputs.size())
      throw GraphError(place + std::to_string(node.outputs.size()) + " outputs; inferred " +
                       std::to_string(expected.outputs.size()));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorType &found = node.outputs[i], &inferred = expected.outputs[i];
      if (found != inferred)
        throw GraphError(place + "output " + std::to_string(i) + " is " + found.text() + "; inferred " +
                         inferred.text());
    }
  }
  const Graph rebuilt = again.build();
  for (int i = 0; i < graph.size(); ++i)
    if (graph.node(i).operation_id != rebuilt.node(i).operation_id)
      throw GraphError(graph.node(i).op + " '" + graph.node(i).name + "': operation id " +
                       std::to_string(graph.node(i).operation_id) + "; expected " +
                       std::to_string(rebuilt.node(i).operation_id));
}

}  // namespace softamp
