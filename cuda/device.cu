// The device of cuda/device.h on a GPU.
#include "cuda/device.h"
#include "cuda/device_facts.h"
#include "cuda/engine.h"

#include <chrono>
#include <thread>
#include <utility>

namespace softamp::cuda {
namespace {

constexpr uint32_t kRecorded = 0x80000000u;  ///< numbers of launches in recordings
constexpr uint32_t kNone = ~uint32_t{0};     ///< no launch has begun

__global__ void store_word(uint32_t* to, uint32_t value) { *to = value; }

[[noreturn]] void fail(const std::string& what, cudaError_t error) {
  throw DeviceError("backend cuda: " + failure_text(what, runtime_error(error)));
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(what, error);
}

class GraphRecording final : public Recording {
 public:
  explicit GraphRecording(cudaGraphExec_t graph) : graph(graph) {}
  ~GraphRecording() override { cudaGraphExecDestroy(graph); }
  const cudaGraphExec_t graph;
};

}  // namespace

struct Device::State {
  cudaStream_t stream = nullptr;
  uint32_t* started = nullptr;            ///< the host's address
  std::string operation, launching;       ///< the last: "matmul_tile of MatMul 'y'"
  bool recording = false, begun = false;  ///< begun: the recording has a launch
  int ordinal = 0;
  /// Such names by the numbers of notes: of all launches since the last wait, and of the first one in each recording.
  /// A replayed step has one note, so an error in it says "or one that follows it".
  std::vector<std::string> launched, recorded;

  cudaEvent_t marks[2] = {};  ///< places in the queue, for `pace`
  int next_mark = 0;

  ~State() {
    if (stream) cudaStreamSynchronize(stream);  // what is in the queue writes to `started`
    for (const cudaEvent_t mark : marks)
      if (mark) cudaEventDestroy(mark);
    if (started) cudaFreeHost(started);
    if (stream) cudaStreamDestroy(stream);
  }
  std::string at_launch(uint32_t number) const {
    const auto& names = number & kRecorded ? recorded : launched;
    const uint32_t place = number & ~kRecorded;
    return place < names.size() ? names[place] : "that none had begun";
  }
  [[noreturn]] void fail_launch(cudaError_t error) const {
    fail("kernel " + at_launch(*static_cast<volatile uint32_t*>(started)) + " (or one that follows it)", error);
  }
};

std::vector<std::string> architectures() {
  std::vector<std::string> names;
  for (const int each : {__CUDA_ARCH_LIST__})  // 750, 800, 900
    names.push_back(std::to_string(each / 100) + "." + std::to_string(each / 10 % 10));
  return names;
}

Device::Device(int ordinal) : state_(std::make_unique<State>()) {
  const DeviceFacts facts = facts_of(ordinal);
  if (const std::string why = why_unusable(facts); !why.empty()) throw DeviceError("backend cuda: " + why);
  state_->ordinal = ordinal;
  cudaDeviceProp p;
  check(cudaGetDeviceProperties(&p, ordinal), "cudaGetDeviceProperties");
  properties_ = {p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem};
  check(cudaStreamCreateWithFlags(&state_->stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  stream_ = state_->stream;
  for (cudaEvent_t& mark : state_->marks)
    check(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  check(cudaHostAlloc(reinterpret_cast<void**>(&state_->started), sizeof(uint32_t), cudaHostAllocMapped),
        "cudaHostAlloc");
  *state_->started = kNone;
  check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&started_), state_->started, 0), "cudaHostGetDevicePointer");
}

Device::~Device() = default;

void* Device::allocate(size_t bytes) {
  cudaSetDevice(state_->ordinal);  // the current device is the thread's
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaSuccess) return memory;
  if (error != cudaErrorMemoryAllocation) fail("cudaMalloc of " + mebibytes(bytes), error);
  cudaGetLastError();  // this one is not sticky
  expect_memory("an array", bytes);
  fail("cudaMalloc of " + mebibytes(bytes), error);  // free, but not in one piece
}

void Device::expect_memory(const std::string& what, size_t bytes) const {
  cudaSetDevice(state_->ordinal);
  size_t left = 0, all = 0;
  check(cudaMemGetInfo(&left, &all), "cudaMemGetInfo");
  if (bytes > left) throw DeviceError("backend cuda: " + memory_text(what, bytes, properties_.name, left, all));
}

void Device::release(void* memory) noexcept { cudaFree(memory); }

void Device::upload(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, state_->stream), "copy to the device");
  wait();
}

void Device::download(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, state_->stream);
  if (error != cudaSuccess) state_->fail_launch(error);
  wait();
}

void Device::copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, state_->stream), "copy on the device");
}

void Device::fill(void* to, unsigned char byte, size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemsetAsync(to, byte, bytes, state_->stream), "cudaMemsetAsync");
}

void Device::store(uint32_t* to, uint32_t value) {
  cudaSetDevice(state_->ordinal);
  store_word<<<1, 1, 0, state_->stream>>>(to, value);
  check(cudaGetLastError(), "store on the device");
}

void Device::begin_operation(std::string operation) { state_->operation = std::move(operation); }

Device::Note Device::begin_launch(const char* name, const Grid&) {
  cudaSetDevice(state_->ordinal);
  State& s = *state_;
  s.launching.assign(name).append(" of ").append(s.operation);
  if (s.recording && std::exchange(s.begun, true)) return {nullptr, 0};
  std::vector<std::string>& names = s.recording ? s.recorded : s.launched;
  names.push_back(s.launching);
  return {started_, static_cast<uint32_t>(names.size() - 1) | (s.recording ? kRecorded : 0)};
}

void Device::end_launch() {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) fail("launch of kernel " + state_->launching, error);
}

void Device::wait_for_all() {
  cudaSetDevice(state_->ordinal);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void Device::wait() {
  const cudaError_t error = cudaStreamSynchronize(state_->stream);
  if (error != cudaSuccess) state_->fail_launch(error);
  state_->launched.clear();
  *static_cast<volatile uint32_t*>(state_->started) = kNone;
}

bool Device::pace(const std::function<bool()>& stop) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kBetween{1};
  check(cudaEventRecord(state_->marks[state_->next_mark], state_->stream), "cudaEventRecord");
  state_->next_mark ^= 1;
  const cudaEvent_t before = state_->marks[state_->next_mark];  // never recorded: as if reached
  for (Clock::time_point asked = Clock::now(); true; std::this_thread::yield()) {
    const cudaError_t error = cudaEventQuery(before);
    if (error == cudaSuccess) return false;
    if (error != cudaErrorNotReady) state_->fail_launch(error);
    cudaGetLastError();  // not ready is no error
    if (Clock::now() - asked < kBetween) continue;
    if (stop()) return true;
    std::this_thread::sleep_for(kBetween / 4);
    asked = Clock::now();
  }
}

void Device::begin_recording() {
  check(cudaStreamBeginCapture(state_->stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  state_->recording = true;
  state_->begun = false;
}

std::unique_ptr<Recording> Device::end_recording() {
  state_->recording = false;
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(state_->stream, &graph), "cudaStreamEndCapture");
  cudaGraphExec_t ready = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphDestroy(graph);
  check(error, "cudaGraphInstantiate");
  return std::make_unique<GraphRecording>(ready);
}

void Device::abandon_recording() noexcept {
  state_->recording = false;
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(state_->stream, &graph);
  if (graph) cudaGraphDestroy(graph);
  cudaGetLastError();
}

void Device::replay(const Recording& recording) {
  check(cudaGraphLaunch(static_cast<const GraphRecording&>(recording).graph, state_->stream), "cudaGraphLaunch");
}

}  // namespace softamp::cuda
