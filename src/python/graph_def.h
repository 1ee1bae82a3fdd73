// A GraphDef of TensorFlow's made into a graph that runs, with the values that it is given.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "softamp/graph/executor.h"
#include "src/python/arrays.h"

namespace softamp::python {

struct RunnableGraphDef {
  Graph graph;
  std::vector<std::string> fetches;          ///< by the names of the file
  std::map<std::string, std::string> ports;  ///< of each fetch: its port in `graph`
  std::map<std::string, Tensor> feeds, variables;
  bool begins_by_drawing = false;  ///< random bits are in the initial values of variables
};

/// `feeds`: values of placeholders and of variables, by the names of the file; variables without one begin with their
/// initial values, computed once with `options`. fetches: a list of names, or None for every tensor that nothing reads.
/// Throws GraphDefError (ValueError), also for variables without a value.
RunnableGraphDef runnable_graph_def(const std::string& path, nb::dict feeds, nb::handle fetches,
                                    const ExecutorOptions& options);

}  // namespace softamp::python
