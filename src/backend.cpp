#include "src/backend.h"
#include "src/names/name_rows.h"

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/engine.h"
#include "emu/engine.h"
#include "softamp/chips/chip_table.h"
#include "softamp/machine/float_environment.h"
#include "softamp/names/names.h"
#include "softamp/tensor/chip_round.h"
#include "softamp/tensor/device_round.h"

namespace softamp {
namespace {

std::map<std::string, BackendFactory>& table() {
  static std::map<std::string, BackendFactory> backends = {{"cuda", cuda::make_executor}, {"emu", emu::make_executor}};
  return backends;
}

std::string backend_called(const std::string& name) { return name_rows::our_name(name_rows::kBackends, name); }

/// The factory of the backend of this name.
BackendFactory factory_of(const std::string& name) {
  const auto found = table().find(name);
  if (found == table().end())
    throw std::invalid_argument(unknown_name_message("backend", name, {"emu", "cuda", "auto"}));
  return found->second;
}

/// The device of "cuda"; empty if there is none, and `why` then gives the reason.
std::string device_name(std::string& why) {
  if (factory_of("cuda") != cuda::make_executor) return "another engine in its place";  // a test's factory
  std::string name = cuda::device_name(&why);
  constexpr std::string_view kPlace = "backend cuda: ";
  if (why.starts_with(kPlace)) why.erase(0, kPlace.size());
  return name;
}

/// Why "auto" must take the CPU even if there is a GPU; empty: it need not.
// implements: N305
std::string why_the_cpu(const ExecutorOptions& options) {
  if (options.reference) return "the reference runs only on the CPU";
  if (options.isa != bulk::InstructionSet::kAuto)
    return std::string(bulk::name(options.isa)) + " is an instruction set of the CPU";
  return {};
}

}  // namespace

BackendFactory exchange_backend(const std::string& name, BackendFactory factory) {
  return std::exchange(table()[name], factory);
}

std::vector<std::string> cuda_architectures() { return cuda::architectures(); }

// implements: N305
BackendChoice choose_backend(const ExecutorOptions& options) {
  std::string why;
  const std::string backend = backend_called(options.backend);
  if (backend == "auto") {
    why = why_the_cpu(options);
    const std::string device = why.empty() ? device_name(why) : std::string();
    if (!device.empty()) return {"cuda", device};
    return {"emu", why.substr(0, why.find("; expected"))};
  }
  factory_of(backend);
  if (backend != "cuda") return {backend, {}};
  const std::string device = device_name(why);
  if (device.empty()) {
    if (why.find("expected") == std::string::npos)
      why +=
          "; expected a build with CUDA and a GPU of compute capability 7.5 or later, or the backend emu, which gives "
          "the same bits";
    throw std::runtime_error("backend cuda: " + why);
  }
  return {"cuda", device};
}

namespace {

/// What is wrong where an output shares bytes with its input; "" else.
std::string overlap(const void* in, size_t in_bytes, const void* out, size_t out_bytes) {
  const auto from = reinterpret_cast<uintptr_t>(in), to = reinterpret_cast<uintptr_t>(out);
  if (from >= to + out_bytes || to >= from + in_bytes) return {};
  return "the output of " + std::to_string(out_bytes) + " bytes overlaps the input of " + std::to_string(in_bytes) +
         " bytes";
}

[[noreturn]] void refuse_round_as(const std::string& what) { throw std::invalid_argument("bulk::round_as: " + what); }

/// What the device needs beyond the checks of bulk::round.
template <class Code>
void check_for_device(const bulk::ChipConversion& c, std::span<const float> in, std::span<Code> codes) {
  if (c.chip != Chip::kNvidiaSm100 && c.chip != Chip::kNvidiaSm103)
    refuse_round_as("the backend cuda has no conversion of chip " + name_of(c.chip) +
                    "; expected nvidia_sm100 or nvidia_sm103, or the backend emu");
  if (codes.size() != in.size())
    refuse_round_as("the input has " + std::to_string(in.size()) + " elements and the output " +
                    std::to_string(codes.size()));
  if (c.to.storage_bits() != 8 * static_cast<int>(sizeof(Code)))
    refuse_round_as("the backend cuda writes codes of " + std::to_string(c.to.storage_bits()) +
                    " bits, the array's elements have " + std::to_string(8 * sizeof(Code)));
  if (const std::string problem = overlap(in.data(), in.size_bytes(), codes.data(), codes.size_bytes());
      !problem.empty())
    refuse_round_as(problem);
}

template <class Code>
void round_on(const std::string& backend, const bulk::ChipConversion& c, std::span<const float> in,
              std::span<Code> codes, bulk::BulkOptions options) {
  const ChipRounding rounding = require_chip_rounding(c.chip, c.to, c.overflow, c.bits);
  if (rounding.from != FloatFormat::fp32())
    refuse_round_as("chip " + name_of(c.chip) + " makes " + format_name(c.to) + " from " + format_name(rounding.from) +
                    ", not from fp32");
  options.random.slice = rounding.slice;
  const Semantics semantics = chip_semantics(c.chip, c.to, c.overflow, c.bits);
  const bool on_device = backend_called(backend) == "cuda";
  if (!on_device && backend_called(backend) != "emu")
    throw std::invalid_argument(unknown_name_message("backend", backend, {"emu", "cuda"}));
  if (!on_device) return bulk::round(in, c.to, codes, semantics, options);
  if (options.isa != bulk::InstructionSet::kAuto)
    refuse_round_as(std::string(bulk::name(options.isa)) + " is an instruction set of the CPU");
  check_for_device(c, in, codes);
  bulk::round(in.first(0), c.to, codes.first(0), semantics, options);  // refuses what it refuses on any backend
  cuda::round_as(c, in, codes.data(), options.random, options.status);
}

}  // namespace

void bulk::round_as(const ChipConversion& conversion, std::span<const float> in, std::span<uint8_t> codes,
                    const BulkOptions& options, const std::string& backend) {
  round_on(backend, conversion, in, codes, options);
}
void bulk::round_as(const ChipConversion& conversion, std::span<const float> in, std::span<uint16_t> codes,
                    const BulkOptions& options, const std::string& backend) {
  round_on(backend, conversion, in, codes, options);
}
void bulk::round_as(const ChipConversion& conversion, std::span<const float> in, std::span<uint32_t> codes,
                    const BulkOptions& options, const std::string& backend) {
  round_on(backend, conversion, in, codes, options);
}

void bulk::round_on_device(const DeviceRounding& r, const Semantics& semantics, const BulkOptions& given) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("bulk::round_on_device: " + what); };
  BulkOptions options = given;
  options.threads = 0;
  options.isa = InstructionSet::kAuto;
  if (options.random.words || options.random.slice)
    refuse("random.words and random.slice are not for devices; expected addresses of random bits");
  const size_t bytes = r.out_bytes();
  const std::span<const float> none;  // of them it refuses what the CPU refuses
  if (bytes == 1)
    round(none, r.to, std::span<uint8_t>(), semantics, options);
  else if (bytes == 2)
    round(none, r.to, std::span<uint16_t>(), semantics, options);
  else
    round(none, r.to, std::span<uint32_t>(), semantics, options);
  const auto in = reinterpret_cast<uintptr_t>(r.in), out = reinterpret_cast<uintptr_t>(r.out);
  if (r.size != 0 && (in == 0 || out == 0)) refuse("an array's address is null");
  if (in % sizeof(float) != 0 || out % bytes != 0) refuse("an array is not aligned to its elements");
  if (in == out && r.values) return cuda::round_on_device(r, semantics, options);
  if (const std::string problem = overlap(r.in, r.size * sizeof(float), r.out, r.size * bytes); !problem.empty())
    refuse(problem);
  cuda::round_on_device(r, semantics, options);
}

// implements: N300
std::unique_ptr<Executor> make_executor(Graph graph, ExecutorOptions options) {
  const engine::DefaultEnvironment guard;
  options = with_preset(std::move(options), graph.preset());
  if (options.config.ipu_model.tiles_per_ipu > 0)
    options.device.tiles = static_cast<int>(options.config.ipu_model.tiles_per_ipu);
  options.backend = backend_called(options.backend);
  if (options.backend == "auto") options.backend = choose_backend(options).backend;
  return factory_of(options.backend)(std::move(graph), std::move(options));
}

}  // namespace softamp
