#include "tests/gpu/bench_operation.h"

namespace softamp::gpu {

Operation::Operation(cuda::Device& device, const Graph& graph, const std::vector<Operand>& operands,
                     const ExecutorOptions& options)
    : device_(device), node_(graph.node(graph.size() - 1)), settings_(engine::settings_of(options)) {
  for (const Operand& o : operands) {
    const size_t bytes = static_cast<size_t>(o.type.bytes());
    size_t filled = std::min(bytes, static_cast<size_t>(o.elements->type().bytes()));
    auto* const to = static_cast<char*>(room(bytes));
    if (filled) device.upload(to, o.elements->data(), filled);
    for (size_t more = 0; filled > 0 && filled < bytes; filled += more) {
      more = std::min(filled, bytes - filled);
      device.copy(to + filled, to, more);
    }
    types_.push_back(o.type);
    in_.push_back(to);
  }
  for (const TensorType& type : node_.outputs) out_.push_back(room(static_cast<size_t>(type.bytes())));
  const cuda::KernelFactory make = cuda::find_kernel(node_.op);
  if (!make) throw std::runtime_error("the CUDA engine has no " + node_.op);
  kernel_ = make({node_, types_, settings_, warnings_}, device);
  scratch_ = room(kernel_->scratch_bytes());
  const uint32_t step = 1;
  void* const number = room(sizeof step);
  device.upload(number, &step, sizeof step);
  environment_.step = static_cast<const uint32_t*>(number);
  environment_.environment = settings_.environment;
  environment_.environment.operation = node_.operation_id;
  const cuda::DeviceStatus none = cuda::DeviceStatus::none();
  status_ = static_cast<cuda::DeviceStatus*>(room(sizeof none));
  device.upload(status_, &none, sizeof none);
  device.begin_operation(node_.op + " '" + node_.name + "'");
}

}  // namespace softamp::gpu
