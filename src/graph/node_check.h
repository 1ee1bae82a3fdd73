// Checks of a single node: attributes complete and of the right kind, dtypes that agree; outputs are inferred.
#pragma once

#include <span>
#include <string>

#include "softamp/graph/operation.h"

namespace softamp::graph_detail {

/// Completes `node` (name, op, inputs and some attributes are set) from the table: fills in defaults and dtypes, infers
/// the outputs. `inputs` are the types of its inputs. Throws GraphError that names the node.
void complete_node(Node& node, std::span<const TensorType> inputs);

/// Attributes of kind string that any node may have, whatever its operation: "device" and "layer", where it is to run
/// and the layer it belongs to. They change no result; passes of precision/ read them.
bool is_placement(std::string_view name);

/// The words that an attribute may be, as messages list them; the empty one, which leaves it open, is not named.
std::string named_choices(const AttributeSpec& spec);

/// Throws GraphError where the name is malformed.
void check_name(const std::string& name);
/// The same for a scope, whose first character may be '_' or '-' too.
void check_scope(std::string_view scope);

/// Throws GraphError where the attribute "ref" of node i names no variable of its dtype and shape.
void check_reference(const Graph& graph, int i);

}  // namespace softamp::graph_detail
