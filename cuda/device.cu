// The device of cuda/device.h on a GPU.
#include "cuda/device.h"
#include "cuda/engine.h"

#include <cstdio>

namespace softamp::cuda {
namespace {

constexpr int kLeastMajor = 7, kLeastMinor = 5;
constexpr uint32_t kRecorded = 0x80000000u;  ///< numbers of launches in recordings
constexpr uint32_t kNone = ~uint32_t{0};     ///< no launch has begun

std::string mebibytes(size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

/// "13.0" of 13000.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// What would help, if the runtime's text does not say so.
const char* what_works(cudaError_t error) {
  switch (error) {
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidPtx:
      return "; expected a build whose CMAKE_CUDA_ARCHITECTURES has this device's compute capability, or a newer "
             "driver";
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceUninitialized: return "; is another process holding the device for itself (compute mode)?";
    case cudaErrorECCUncorrectable: return "; the device's memory has failed";
    default: return "";
  }
}

[[noreturn]] void fail(const std::string& what, cudaError_t error) {
  cudaGetLastError();  // else the next launch would seem to have failed
  throw DeviceError("backend cuda: " + what + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")" +
                    what_works(error));
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(what, error);
}

/// Why cudaGetDeviceCount failed: its own text says "insufficient" even if there is no driver at all.
std::string why_no_device(cudaError_t error) {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (driver == 0) return "no NVIDIA driver is loaded";
  if (error == cudaErrorInsufficientDriver)
    return "the driver serves CUDA up to " + version_text(driver) + ", this build is of CUDA " + version_text(runtime);
  return error == cudaSuccess || error == cudaErrorNoDevice ? "the driver lists no device" : cudaGetErrorString(error);
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
  uint32_t* started = nullptr;  ///< the host's address
  std::string operation;
  bool recording = false;
  int ordinal = 0;
  std::vector<std::string> launched, recorded;  ///< "matmul_tile of MatMul 'y'", by number

  ~State() {
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

int Device::count(std::string* why_none) {
  int n = 0;
  const cudaError_t error = cudaGetDeviceCount(&n);
  if (error != cudaSuccess) n = 0;
  if (n == 0 && why_none) *why_none = why_no_device(error);
  return n;
}

Device::Device(int ordinal) : state_(std::make_unique<State>()) {
  std::string why;
  const int devices = count(&why);
  if (devices == 0)
    throw DeviceError(
        "backend cuda: no device: " + why +
        "; expected a GPU of compute capability 7.5 or later, or the backend emu, which gives the same bits");
  if (ordinal < 0 || ordinal >= devices)
    throw DeviceError("backend cuda: device " + std::to_string(ordinal) + "; expected 0.." +
                      std::to_string(devices - 1));
  check(cudaSetDevice(ordinal), "cudaSetDevice");
  state_->ordinal = ordinal;
  cudaDeviceProp p;
  check(cudaGetDeviceProperties(&p, ordinal), "cudaGetDeviceProperties");
  properties_ = {p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem};
  if (p.major < kLeastMajor || (p.major == kLeastMajor && p.minor < kLeastMinor))
    throw DeviceError(std::string("backend cuda: ") + p.name + " has compute capability " + std::to_string(p.major) +
                      "." + std::to_string(p.minor) +
                      "; expected 7.5 or later, or the backend emu, which gives the same bits");
  check(cudaStreamCreateWithFlags(&state_->stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  stream_ = state_->stream;
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
  size_t left = 0, all = 0;
  cudaMemGetInfo(&left, &all);
  throw DeviceError("backend cuda: out of memory on " + properties_.name + ": " + mebibytes(bytes) + " asked for, " +
                    mebibytes(left) + " of " + mebibytes(all) +
                    " free; expected a smaller batch, or the backend emu, which gives the same bits");
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

void Device::begin_operation(std::string operation) { state_->operation = std::move(operation); }

uint32_t Device::begin_launch(const char* name, const Grid&) {
  cudaSetDevice(state_->ordinal);
  std::vector<std::string>& names = state_->recording ? state_->recorded : state_->launched;
  names.push_back(std::string(name) + " of " + state_->operation);
  return static_cast<uint32_t>(names.size() - 1) | (state_->recording ? kRecorded : 0);
}

void Device::end_launch() {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  const auto& names = state_->recording ? state_->recorded : state_->launched;
  fail("launch of kernel " + names.back(), error);
}

void Device::wait() {
  const cudaError_t error = cudaStreamSynchronize(state_->stream);
  if (error != cudaSuccess) state_->fail_launch(error);
  state_->launched.clear();
  *static_cast<volatile uint32_t*>(state_->started) = kNone;
}

void Device::begin_recording() {
  check(cudaStreamBeginCapture(state_->stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  state_->recording = true;
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
