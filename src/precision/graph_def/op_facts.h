// What TensorFlow's functions need to know of an operation: the names of its outputs, and whether it has effects.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "src/precision/graph_def/function_library.h"

namespace softamp::graph_def_detail {

/// Ports of a node that one name stands for.
struct OutputRun {
  int first = 0;
  int count = 1;
};

/// The ports of output `name` of a node within a function ("product" of MatMul); nullopt: it has no such output. An
/// operation that the table does not have counts as one with a single output of any name.
std::optional<OutputRun> output_run(const FunctionLibrary& library, const graph_def::NodeDef& node,
                                    std::string_view name);

/// Whether the names and the order of its outputs are known.
bool knows_outputs(const FunctionLibrary& library, std::string_view op);

/// Whether TensorFlow calls the operation stateful.
bool is_stateful(const FunctionLibrary& library, std::string_view op);
/// Whether it may be lost when a function is written out although it is stateful: TensorFlow's own list.
bool may_be_lost(std::string_view op);

/// "Name output output; ...": an output of several ports is name*COUNT, for an int attribute, or name[]TYPES, for a
/// list of types. Only operations with several outputs, or with such an output.
std::string_view output_name_table();
/// Names, separated by white space.
std::string_view stateful_operations();

}  // namespace softamp::graph_def_detail
