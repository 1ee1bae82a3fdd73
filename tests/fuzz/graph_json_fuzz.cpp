// libFuzzer target: any bytes given to the graph reader are refused with GraphError, or give a graph that verifies,
// prints, and reads back equal after it is written.

#include "softamp/graph/graph_json.h"
#include "softamp/graph/graph_text.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  softamp::JsonOptions options;
  options.source = "input";
  options.most_nodes = 200;
  options.most_constant_bytes = 1 << 20;
  softamp::GraphFile file;
  try {
    file = softamp::read_graph_file({reinterpret_cast<const char*>(data), size}, options);
  } catch (const softamp::GraphError& e) {
    require_named(e);
    return 0;
  }
  softamp::verify(file.graph);
  const std::string written = softamp::graph_json(file.graph, file.outputs);
  const softamp::GraphFile back = softamp::read_graph_file(written, options);
  require(back.graph == file.graph && back.outputs == file.outputs, "a written graph reads back");
  require(softamp::graph_json(back.graph, back.outputs) == written, "writing is stable");
  softamp::text(file.graph);
  softamp::dot(file.graph);
  return 0;
}
