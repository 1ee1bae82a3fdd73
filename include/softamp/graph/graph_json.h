// Graphs as JSON, so that others can bring theirs. The schema, with every rule, is docs/GRAPH_JSON.md; in short:
//
//   {"softamp_graph": 1,
//    "nodes": [{"name": "y", "op": "MatMul", "inputs": ["x", "w:0"], "attributes": {"transpose_b": true}}, ...],
//    "outputs": ["y"]}
//
// Nodes stand in any order. Reading never trusts: sizes are limited, and nothing is allocated for a dimension alone.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/graph/graph.h"

namespace softamp {

/// name (values) [=default]
struct JsonOptions {
  std::string source = "graph JSON";                 ///< what errors call the text [="graph JSON"]
  std::filesystem::path folder;                      ///< where "npy" files lie [="": there are none]
  size_t most_nodes = 1000000;                       ///< (0 ..) [=10^6]; outputs: twice as many, or 131072
  uint64_t most_constant_bytes = uint64_t{1} << 31;  ///< (0 ..) of all constants together [=2^31]
  int deepest = 16;                                  ///< (1 ..) nesting of lists and objects [=16]
};

/// A graph and the outputs that its file names, "name" or "name:port"; checked to be there.
struct GraphFile {
  Graph graph;
  std::vector<std::string> outputs;
};

/// Throws GraphError (DtypeMismatchError) that begins with options.source, and names the node, the field and what was
/// expected; for text that is no JSON also line and column. The nodes' order in the graph is that of the text where
/// inputs come before their readers; otherwise each node moves down behind the last of its inputs.
GraphFile read_graph_file(std::string_view text, const JsonOptions& options = {});
/// The same, without the outputs.
Graph read_graph_json(std::string_view text, const JsonOptions& options = {});

/// Reads a file; "npy" files lie beside it unless options.folder is set. Throws GraphError where it cannot be read.
GraphFile load_graph(const std::filesystem::path& path, JsonOptions options = {});

/// The graph as JSON that reads back as an equal graph: all attributes, constants of up to 64 elements as numbers
/// (values that numbers cannot say as codes "0x7e01"), larger ones in base64. One line to a node.
std::string graph_json(const Graph& graph, const std::vector<std::string>& outputs = {});

}  // namespace softamp
