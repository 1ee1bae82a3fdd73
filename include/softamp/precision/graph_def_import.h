// A TensorFlow GraphDef made into a graph that runs, as far as its operations are ours (docs/MIXED_PRECISION.md,
// "Running a GraphDef"): the operations that have an equal here, those that are put together from several, shape
// arithmetic, which is settled before anything runs, functions, and branches and loops whose conditions are known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "softamp/graph/graph.h"
#include "softamp/precision/graph_def.h"

namespace softamp {

struct GraphDefImportOptions {
  /// "name" or "name:port" of tensors to compute, and names of operations to run for their effect, as in TensorFlow:
  /// what they do not need is left out [=every tensor that nothing reads].
  std::vector<std::string> fetches;
  /// Shapes of placeholders and of variables that will be given values, by name. A placeholder with a default is fed if
  /// it is named here; a variable that is not keeps its initial value. Names of nothing of that kind are errors.
  std::map<std::string, Shape> shapes{};
  /// The same of variables alone, as a file of many has them: names that the graph does not have are passed over.
  std::map<std::string, Shape> variable_shapes{};
  /// Placeholders of one bool that are taken as constants, so that branches can depend on them: whether a network
  /// trains.
  std::map<std::string, bool> conditions{};
  /// Extent of axis 0 of placeholders that leave it open, and nothing else [=an error, unless they are given a value].
  std::optional<int64_t> batch{};
};

struct ImportedGraph {
  /// Nodes have the names that they have in the GraphDef; those within a function are called "<call>/<name>". Names
  /// that a graph of ours cannot have get '_' for other characters. Integers of other widths are int32.
  Graph graph;
  std::vector<std::string> fetches;          ///< as asked for, or as found
  std::map<std::string, std::string> ports;  ///< of each fetch that is a tensor: its port's name in `graph`
  /// Placeholders and variables that are there: name in the GraphDef -> name of the node.
  std::map<std::string, std::string> inputs;
  /// Nodes of those whose integers have another width in the GraphDef (int64, uint8, ...).
  std::vector<std::string> narrowed;
  /// The values that variables begin with: what the GraphDef assigns to them outside of what is fetched. A graph of its
  /// own, run once; node -> its fetch.
  Graph initial;
  std::map<std::string, std::string> initial_values;
  std::map<std::string, std::string> without_value;  ///< not given, and not in `initial_values`: name -> why
};

/// Throws GraphDefError that names the file. Operations that are not ours are named at once: each with its first node,
/// how many there are, and the nearest of ours. Else the first fault, with its node: a shape, an axis or another number
/// that an operation of ours needs before it runs, and that is not known then; a placeholder whose shape is not known;
/// a condition that is not known; a loop of more than 10,000 rounds; functions that become more than 2^18 nodes;
/// constants that take more than 2^28 bytes above those of the file; dtypes and shapes that an operation refuses.
ImportedGraph import_graph(const GraphDefFile& file, const GraphDefImportOptions& options = {});

/// The operations of TensorFlow that `import_graph` takes, sorted.
std::vector<std::string> importable_operations();

}  // namespace softamp
