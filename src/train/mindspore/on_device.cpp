#include "src/train/mindspore/on_device.h"

#include "src/train/mindspore/operation_executor.h"

namespace softamp::cells {

// implements: N294
Graph on_kernels(const Context& context, const Graph& graph) {
  if (context.kernels.empty()) return graph;
  return select_kernels(graph, context.kernels, context.enable_reduce_precision, context.log);
}

std::unique_ptr<Executor> executor_of(const Context& context, Graph graph, ExecutorOptions options,
                                      OperationRun::Of of) {
  if (context.mode == Context::Mode::kGraph) return make_executor(std::move(graph), std::move(options));
  options = with_preset(std::move(options), graph.preset());
  return make_operation_executor(std::move(graph), std::move(options), context.after_operation, of);
}

}  // namespace softamp::cells
