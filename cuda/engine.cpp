#include "cuda/engine.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>

#include "cuda/op_kernel.h"
#include "softamp/engine/graph_executor.h"

namespace softamp::cuda {
namespace {

/// Steps of the same calls are recorded the second time and replayed from then on.
class CudaEngine final : public engine::Engine {
 public:
  explicit CudaEngine(std::function<bool()> stop) : stop_(std::move(stop)) {}
  const char* name() const override { return "cuda"; }
  std::unique_ptr<engine::OpKernel> make_kernel(const OpContext& context) const override {
    const KernelFactory make = find_kernel(context);
    return make ? make(context, device_) : nullptr;
  }

  bool host_memory() const override { return false; }
  void expect_memory(size_t bytes) const override { device_.expect_memory("the graph", bytes); }
  void* allocate(size_t bytes) override { return device_.allocate(bytes); }
  void release(void* memory) noexcept override { device_.release(memory); }
  void upload(void* to, const void* from, size_t bytes) override { device_.upload(to, from, bytes); }
  void download(void* to, const void* from, size_t bytes) override { device_.download(to, from, bytes); }
  void copy(void* to, const void* from, size_t bytes) override { device_.copy(to, from, bytes); }

  void run(const engine::Call& call, const kernel::Environment& environment, FpStatus* status) override {
    FpStatus found;
    prepare(1, environment.step);
    clear(status ? 1 : 0);
    clear_refusals({&call, 1});
    enqueue(call, environment, status ? noted_statuses() : nullptr, noted_refusals());
    fetch({&found, status ? size_t{1} : 0});
    check_refusals({&call, 1});
    if (status) status->merge(found);
  }

  bool runs_at_once() const override { return true; }

  // implements: N306
  void run_all(std::span<const engine::Call> calls, const kernel::Environment& environment,
               std::span<FpStatus> statuses) override {
    prepare(calls.size(), environment.step);
    Seen& seen = seen_[signature_of(calls, !statuses.empty())];
    const size_t stretch = stop_ ? kStretch : std::max<size_t>(calls.size(), 1);
    if (seen.recordings.empty() && seen.times == 1) {
      std::vector<std::unique_ptr<Recording>> all;
      for (size_t first = 0; first < calls.size(); first += stretch)
        all.push_back(record(calls, first, stretch, environment, statuses.size()));
      seen.recordings = std::move(all);
    }
    for (size_t first = 0; first < calls.size(); first += stretch) {
      if (stop_ && stop_()) end_run("before the operation '" + calls[first].node->name + "'");
      if (seen.recordings.empty())
        enqueue_some(calls, first, stretch, environment, statuses.size());
      else
        device_.replay(*seen.recordings[first / stretch]);
      if (stop_ && device_.pace(stop_)) end_run("in the middle of a step");
    }
    if (stop_ && device_.pace(stop_)) end_run("in the middle of a step");
    fetch(statuses);
    ++seen.times;
    check_refusals(calls);
  }

 private:
  /// Calls that lie in the queue together where a run may be stopped: some milliseconds of long ones.
  // implements: N306
  static constexpr size_t kStretch = 32;

  struct Seen {
    int times = 0;
    std::vector<std::unique_ptr<Recording>> recordings;  ///< of one stretch each
  };
  using Signature = std::vector<const void*>;

  static Signature signature_of(std::span<const engine::Call> calls, bool with_status) {
    static const char kWithStatus = 0;
    Signature s{with_status ? &kWithStatus : nullptr};
    for (const engine::Call& call : calls) {
      s.push_back(call.kernel);
      s.push_back(call.scratch);
      s.insert(s.end(), call.in, call.in + call.node->inputs.size());
      s.insert(s.end(), call.out, call.out + call.node->outputs.size());
    }
    return s;
  }

  /// Memory for the status of `calls` calls, and for the step's number, which kernels read.
  void prepare(size_t calls, uint32_t step) {
    if (calls > capacity_) {
      seen_.clear();  // recordings hold the old addresses
      capacity_ = 0;
      const size_t capacity = 2 * calls;
      statuses_ = engine::Buffer(*this, capacity * sizeof(DeviceStatus));
      cleared_ = engine::Buffer(*this, capacity * sizeof(DeviceStatus));
      refusals_ = engine::Buffer(*this, capacity * sizeof(uint64_t));
      const std::vector<DeviceStatus> all(capacity, DeviceStatus::none());
      device_.upload(cleared_.data(), all.data(), capacity * sizeof(DeviceStatus));
      capacity_ = capacity;
    }
    if (!step_.data()) step_ = engine::Buffer(*this, sizeof(step));
    device_.store(reinterpret_cast<uint32_t*>(step_.data()), step);
  }

  void clear(size_t statuses) {
    if (statuses) device_.copy(noted_statuses(), cleared_.data(), statuses * sizeof(DeviceStatus));
  }

  static const OpKernel& kernel_of(const engine::Call& call) { return static_cast<const OpKernel&>(*call.kernel); }
  static bool any_checks(std::span<const engine::Call> calls) {
    return std::any_of(calls.begin(), calls.end(), [](const engine::Call& c) { return kernel_of(c).checks(); });
  }
  static_assert(FpStatus::kNever == ~uint64_t{0});
  void clear_refusals(std::span<const engine::Call> calls) {
    if (any_checks(calls)) device_.fill(noted_refusals(), 0xFF, calls.size() * sizeof(uint64_t));
  }
  /// After the wait: throws for the first operation that refuses its operands.
  void check_refusals(std::span<const engine::Call> calls) {
    if (!any_checks(calls)) return;
    std::vector<uint64_t> noted(calls.size());
    device_.download(noted.data(), noted_refusals(), noted.size() * sizeof(uint64_t));
    for (size_t i = 0; i < calls.size(); ++i)
      if (noted[i] != FpStatus::kNever) kernel_of(calls[i]).refuse(noted[i]);
  }

  void enqueue(const engine::Call& call, const kernel::Environment& environment, DeviceStatus* status,
               uint64_t* refusal) {
    device_.begin_operation(call.node->op + " '" + call.node->name + "'");
    kernel_of(call).enqueue({call.in,
                             call.out,
                             call.scratch,
                             {environment, reinterpret_cast<const uint32_t*>(step_.data())},
                             status,
                             device_,
                             refusal});
  }

  /// Calls first .. first + count - 1; with the first of all what has to be cleared.
  void enqueue_some(std::span<const engine::Call> calls, size_t first, size_t count, kernel::Environment environment,
                    size_t statuses) {
    if (first == 0) {
      clear(statuses);
      clear_refusals(calls);
    }
    for (size_t i = first; i < calls.size() && i - first < count; ++i) {
      environment.operation = calls[i].node->operation_id;
      enqueue(calls[i], environment, statuses ? noted_statuses() + i : nullptr, noted_refusals() + i);
    }
  }

  std::unique_ptr<Recording> record(std::span<const engine::Call> calls, size_t first, size_t count,
                                    const kernel::Environment& environment, size_t statuses) {
    device_.begin_recording();
    try {
      enqueue_some(calls, first, count, environment, statuses);
    } catch (...) {
      device_.abandon_recording();
      throw;
    }
    return device_.end_recording();
  }

  /// The buffers of what lies in the queue are released after this.
  [[noreturn]] void end_run(const std::string& where) {
    device_.wait();
    throw RunStopped("the run was stopped " + where);
  }

  /// Waits, and reads the statuses from the device.
  void fetch(std::span<FpStatus> statuses) {
    if (statuses.empty()) return device_.wait();
    std::vector<DeviceStatus> noted(statuses.size());
    device_.download(noted.data(), noted_statuses(), noted.size() * sizeof(DeviceStatus));
    for (size_t i = 0; i < noted.size(); ++i) statuses[i] = noted[i].status();
  }

  DeviceStatus* noted_statuses() const { return reinterpret_cast<DeviceStatus*>(statuses_.data()); }
  uint64_t* noted_refusals() const { return reinterpret_cast<uint64_t*>(refusals_.data()); }

  std::function<bool()> stop_;  ///< ExecutorOptions::stop
  mutable Device device_;
  size_t capacity_ = 0;
  engine::Buffer statuses_, cleared_;  ///< of DeviceStatus
  engine::Buffer refusals_;            ///< of uint64_t; see OpKernel::refuse
  engine::Buffer step_;                ///< a uint32_t
  std::map<Signature, Seen> seen_;
};

}  // namespace

std::unique_ptr<Executor> make_executor(Graph graph, ExecutorOptions options) {
  if (options.isa != bulk::InstructionSet::kAuto)
    throw std::invalid_argument(
        "isa: the backend cuda has no instruction sets of the CPU; expected auto, or the backend emu");
  if (options.reference)
    throw std::invalid_argument("reference: the backend cuda has no reference; expected false, or the backend emu");
  auto engine = std::make_unique<CudaEngine>(options.stop);
  return engine::make_graph_executor(std::move(graph), std::move(options), std::move(engine));
}

std::string device_name(std::string* why) {
  try {
    const DeviceProperties p = Device().properties();
    const uint64_t tenths = (static_cast<uint64_t>(p.memory) * 10 + (1u << 29)) >> 30;
    return p.name + ", compute capability " + std::to_string(p.major) + "." + std::to_string(p.minor) + ", " +
           std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
  } catch (const DeviceError& error) {
    if (why) *why = error.what();
    return {};
  }
}

}  // namespace softamp::cuda
