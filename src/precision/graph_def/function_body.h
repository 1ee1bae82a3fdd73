// A function of a GraphDef's library as nodes: its attributes filled in, its inputs named as a GraphDef names them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/precision/graph_def/function_library.h"

namespace softamp::graph_def_detail {

/// How a function calls outputs of its nodes: "product:0" by "name" or "name:port" of a GraphDef. Needed to make a
/// function of nodes again.
using OutputTexts = std::unordered_map<std::string, std::string>;

struct FunctionBody {
  std::string function;
  std::vector<graph_def::NodeDef> nodes;  ///< an _Arg for each argument, the function's own, a _Retval for each result
  size_t arguments = 0, results = 0;
  std::map<std::string, std::string> control_results;  ///< name in the signature -> node
  OutputTexts texts;
};

/// The body under the attributes of a call. Throws GraphDefError that names the function and its fault: an attribute
/// that the call does not give, an input or a result that is no node, no argument or no output.
FunctionBody body_of(const FunctionLibrary& library, const graph_def::FunctionDef& function,
                     const GraphDefAttributes& attributes, std::string_view place);

/// Whether types, counts or attributes of a function are only known at a call.
bool is_parametrised(const graph_def::FunctionDef& function);

/// The types of a function's arguments and of its results: of a _Retval the T of the node itself.
graph_def::DataType type_of_end(const graph_def::NodeDef& arg_or_retval);

/// The function again, from nodes that a rewrite has changed: its signature and attributes stay.
graph_def::FunctionDef function_of(const FunctionLibrary& library, const graph_def::FunctionDef& original,
                                   const FunctionBody& body, std::string_view place);

}  // namespace softamp::graph_def_detail
