// Graphs as JSON, so that users can bring their own. The schema, with every rule, is docs/GRAPH_JSON.md; in short:
//
//   {"softamp_graph": 1,
//    "nodes": [{"name": "y", "op": "MatMul", "inputs": ["x", "w:0"], "attributes": {"transpose_b": true}}, ...],
//    "outputs": ["y"]}
//
// Nodes may come in any order. The reader trusts nothing: sizes are limited, and a dimension alone allocates no memory.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/graph/graph.h"

namespace softamp {

/// name (values) [=default]
struct JsonOptions {
  std::string source = "graph JSON";                        ///< the text's name in errors [="graph JSON"]
  std::filesystem::path folder;                             ///< of "npy" files [="": none allowed]
  size_t most_nodes = 1000000;                              ///< (0 ..) [=10^6]; outputs: twice as many, or 131072
  uint64_t most_constant_bytes = uint64_t{1} << 31;         ///< (0 ..) of all constants together [=2^31]
  uint64_t most_bytes = uint64_t{1} << 32;                  ///< (1 ..) of the text [=2^32]
  int deepest = 16;                                         ///< (1 ..) nesting of lists and objects [=16]
  std::vector<std::filesystem::path>* npy_files = nullptr;  ///< takes the names of "npy" files that are read [=none]
};

/// A graph and the outputs that its file names, "name" or "name:port", which exist.
struct GraphFile {
  Graph graph;
  std::vector<std::string> outputs;
};

/// Throws GraphError (DtypeMismatchError) that begins with options.source, and names the node, the field and what was
/// expected; for text that is no JSON also line and column. Nodes keep the order of the text, except that a node which
/// comes before one of its inputs moves down behind the last of them.
GraphFile read_graph_file(std::string_view text, const JsonOptions& options = {});
/// The same, without the outputs.
Graph read_graph_json(std::string_view text, const JsonOptions& options = {});

/// Reads a file; "npy" files lie beside it unless options.folder is set. Throws GraphError where it cannot be read.
GraphFile load_graph(const std::filesystem::path& path, JsonOptions options = {});

/// The graph as JSON that reads back as an equal graph: all attributes, constants of up to 64 elements as numbers
/// (values that JSON has no number for: as codes, "0x7e01"), larger ones in base64. One line to a node.
std::string graph_json(const Graph& graph, const std::vector<std::string>& outputs = {});

}  // namespace softamp
