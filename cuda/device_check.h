// Why a device cannot be used, or has failed, in words: from facts that cuda/device_facts.h asks the CUDA runtime for,
// and the names of its errors. Nothing here needs CUDA, so all of it is tested without.
#pragma once

#include <string>
#include <string_view>

namespace softamp::cuda {

/// The oldest compute capability that the kernels are written for.
constexpr int kLeastMajor = 7, kLeastMinor = 5;

/// An error of the CUDA runtime: its name ("cudaErrorNoDevice") and the runtime's own words. No error: both empty.
struct RuntimeError {
  std::string name, text;

  explicit operator bool() const { return !name.empty(); }
};

/// Who may use a device (nvidia-smi's compute mode).
enum class ComputeMode { kShared, kOneProcess, kProhibited };

/// What a machine says of a device, in the order in which it is asked; what comes after an answer that forbids the
/// device is not asked.
struct DeviceFacts {
  int driver = 0;        ///< the newest CUDA that the driver serves: 13000 is 13.0; 0: no driver is loaded
  int runtime = 0;       ///< the CUDA that this build is of
  RuntimeError listing;  ///< of counting the devices
  int devices = 0;
  int ordinal = 0;      ///< the one that is wanted
  RuntimeError asking;  ///< of asking for what follows
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  ComputeMode mode = ComputeMode::kShared;
  RuntimeError using_it;  ///< of its first use
};

/// What an error of the runtime means to who reads it.
enum class Failure {
  kOther,   ///< the runtime's words have to do
  kNoCode,  ///< the build has no code that this device or driver runs
  kTaken,   ///< another process holds the device, or its mode forbids it
  kSystem,  ///< driver and system do not fit together, or are not ready
  kMemory,  ///< the device's memory cannot be trusted
  kLost,    ///< the process cannot use the device any more
};

/// The errors that say more than their words: cuda/device_facts.h shows that the runtime has them.
#define SOFTAMP_CUDA_ERRORS(X)           \
  X(NoKernelImageForDevice, kNoCode)     \
  X(UnsupportedPtxVersion, kNoCode)      \
  X(InvalidPtx, kNoCode)                 \
  X(JitCompilerNotFound, kNoCode)        \
  X(DevicesUnavailable, kTaken)          \
  X(DeviceUninitialized, kTaken)         \
  X(MpsMaxClientsReached, kTaken)        \
  X(InsufficientDriver, kSystem)         \
  X(SystemNotReady, kSystem)             \
  X(SystemDriverMismatch, kSystem)       \
  X(CompatNotSupportedOnDevice, kSystem) \
  X(StartupFailure, kSystem)             \
  X(InitializationError, kSystem)        \
  X(ECCUncorrectable, kMemory)           \
  X(IllegalAddress, kLost)               \
  X(LaunchFailure, kLost)                \
  X(LaunchTimeout, kLost)                \
  X(HardwareStackError, kLost)           \
  X(IllegalInstruction, kLost)           \
  X(MisalignedAddress, kLost)            \
  X(InvalidAddressSpace, kLost)          \
  X(InvalidPc, kLost)                    \
  X(NvlinkUncorrectable, kLost)          \
  X(ContextIsDestroyed, kLost)

/// By the name of an error.
inline Failure failure_of(std::string_view name) {
#define SOFTAMP_ROW(error, failure) \
  if (name == "cudaError" #error) return Failure::failure;
  SOFTAMP_CUDA_ERRORS(SOFTAMP_ROW)
#undef SOFTAMP_ROW
  return Failure::kOther;
}

namespace detail {

/// "13.0" of 13000.
inline std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
inline std::string capability_text(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }
inline std::string error_text(const RuntimeError& error) { return error.text + " (" + error.name + ")"; }

/// What would work in its place.
inline std::string expected_text(Failure failure) {
  constexpr const char* kEmu = ", or the backend emu, which gives the same bits";
  const char* what = "another device";
  switch (failure) {
    case Failure::kNoCode:
      what = "a build whose CMAKE_CUDA_ARCHITECTURES has this device's compute capability, or a newer driver";
      break;
    case Failure::kTaken: what = "a device that no process holds for itself (nvidia-smi shows its compute mode)"; break;
    case Failure::kSystem: what = "a driver that fits the system and serves this build's CUDA"; break;
    case Failure::kMemory: what = "a device whose memory has not failed (nvidia-smi -q -d ECC), after its reset"; break;
    case Failure::kLost: what = "a new process: this one cannot use the device any more"; break;
    case Failure::kOther: break;
  }
  return std::string("; expected ") + what + kEmu;
}

}  // namespace detail

/// "kernel matmul of MatMul 'y': an illegal memory access was encountered (cudaErrorIllegalAddress); expected ...":
/// one line, for an error while `what` was done.
inline std::string failure_text(const std::string& what, const RuntimeError& error) {
  const Failure failure = failure_of(error.name);
  return what + ": " + detail::error_text(error) +
         (failure == Failure::kOther ? std::string() : detail::expected_text(failure));
}

/// Why the device cannot be used, in one line with what would work; empty: it can.
inline std::string why_unusable(const DeviceFacts& f) {
  const std::string other = "; expected a GPU of compute capability " +
                            detail::capability_text(kLeastMajor, kLeastMinor) +
                            " or later, or the backend emu, which gives the same bits";
  if (f.driver == 0) return "no NVIDIA driver is loaded" + other;
  // The runtime's own words of this error say "insufficient" alone.
  if (f.listing.name == "cudaErrorInsufficientDriver")
    return "the driver serves CUDA up to " + detail::version_text(f.driver) + ", this build is of CUDA " +
           detail::version_text(f.runtime) + "; expected a newer driver, or the backend emu, which gives the same bits";
  if (f.listing && f.listing.name != "cudaErrorNoDevice") return failure_text("counting the devices", f.listing);
  if (f.devices == 0) return "the driver lists no device" + other;
  if (f.ordinal < 0 || f.ordinal >= f.devices)
    return "device " + std::to_string(f.ordinal) + "; expected 0.." + std::to_string(f.devices - 1);
  const std::string device = "device " + std::to_string(f.ordinal);
  if (f.asking) return failure_text(device, f.asking);
  const std::string named = device + ", " + f.name;
  if (f.major < kLeastMajor || (f.major == kLeastMajor && f.minor < kLeastMinor))
    return named + ", has compute capability " + detail::capability_text(f.major, f.minor) + other;
  if (f.mode == ComputeMode::kProhibited)
    return named + ", is in compute mode Prohibited" + detail::expected_text(Failure::kTaken);
  if (f.using_it && f.mode == ComputeMode::kOneProcess && failure_of(f.using_it.name) == Failure::kTaken)
    return named + ", is in compute mode Exclusive_Process, and another process holds it" +
           detail::expected_text(Failure::kTaken);
  if (f.using_it) return failure_text(named, f.using_it);
  return {};
}

/// "1234 MiB", rounded up.
inline std::string mebibytes(unsigned long long bytes) {
  return std::to_string((bytes >> 20) + (bytes % (1u << 20) != 0)) + " MiB";
}

/// What there is too little memory for, in one line.
inline std::string memory_text(const std::string& what, unsigned long long needed, const std::string& device,
                               unsigned long long left, unsigned long long all) {
  return what + " needs " + mebibytes(needed) + " on " + device + ", " + std::to_string(left >> 20) + " of " +
         std::to_string(all >> 20) +
         " MiB are free; expected a smaller batch or graph, or the backend emu, which gives the same bits";
}

}  // namespace softamp::cuda
