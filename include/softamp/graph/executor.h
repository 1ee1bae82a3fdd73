// Runs graphs. An executor keeps one graph, one behaviour, one seed, and the variables of the graph; each run is a
// step.
//
// Results depend only on (graph, feeds, variables, options, seed, step): the same bits for any number of threads and
// any instruction set, and for every backend.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/findings/statistics.h"
#include "softamp/graph/device.h"
#include "softamp/graph/graph.h"
#include "softamp/graph/ipu_config.h"
#include "softamp/numerics/accumulator.h"
#include "softamp/numerics/semantics.h"
#include "softamp/numerics/status.h"
#include "softamp/tensor/bulk.h"
#include "softamp/tensor/list_view.h"

namespace softamp {

struct ExecutorOptions {
  /// ("emu", "cuda" or "gpu", "auto") [="emu"]: the CPU, a GPU, a GPU if there is one. All give the same bits.
  std::string backend = "emu";
  /// Behaviour, options of products, norms. Exceptions that are on stop a run.
  IpuConfig config;
  /// (ieee, ipu) The rules of every operation. ieee: IEEE 754, an overflow is infinite; config's esr rounds results of
  /// 16 and 8 bits stochastically, and nanoo is an error. ipu: as config's behaviour and the switches below say [=ipu
  /// where nanoo is on; else the graph's (Graph::preset); else ipu].
  std::optional<Preset> preset;
  /// The same, rule by rule [=those of the preset]. Where it is given, config's esr and nanoo have no effect, and a
  /// preset is an error; config's exceptions still stop.
  std::optional<Semantics> semantics;
  IpuSwitches switches;
  int amp_block = 16;  ///< (1, 4, 16, 0: all of k) [=16] products to a rounding of half partials
  AmpInner amp_inner = AmpInner::kFmaChain;
  /// How the products of an output are summed, in products of matrices and convolutions alike. kIpuModelA: as
  /// amp_block, amp_inner and partialsType say. The others have no amp_block; another amp_inner than kFmaChain,
  /// interTile half (batch partials), with kFp32Chain partialsType half, and with a tensor core f32_flush_inner are
  /// errors. A tensor core is vendor behaviour, reverse engineered (numerics/products/tensor_core.h): float16
  /// everywhere, bfloat16 and float32 (taken as tf32) from Ampere on; operands enter and results leave as the preset
  /// says, but no subnormal is flushed. partialsType half is its fp16 accumulator, for operands of fp16 and of 8 bits;
  /// it is ignored, with a warning, for others.
  Accumulator accumulator = Accumulator::kIpuModelA;
  /// [=kOwn] The format that a tensor core is fed, whatever dtype the operands have; an error without a tensor core, or
  /// where it takes no such operands (8 bits: from Ada on). Rounding to it raises no flag (N479).
  TensorCoreOperands tensor_core_operands = TensorCoreOperands::kOwn;
  bool f32_flush_inner = false;

  /// kPhilox, kPhilox7: bits by address. kXoroshiro128aox: each worker of each tile of `device` has a stream of its
  /// own, seeded as poprand's setSeed does; slow.
  RandomEngine random = RandomEngine::kPhilox;
  uint64_t seed = 0;
  uint32_t seed_modifier = 0;  ///< of kXoroshiro128aox
  uint32_t replica = 0;        ///< (0..255) [=0]
  DeviceModel device;

  int threads = 0;  ///< (0: all; 1..1024) [=0]
  bulk::InstructionSet isa = bulk::InstructionSet::kAuto;
  /// Computes every operation element by element by its definition, on one thread. Faster code is compared with that.
  bool reference = false;

  bool status = false;             ///< report flags per operation even if no exception is on [=false]
  bool statistics = false;         ///< gather TensorStatistics of every tensor that is computed [=false]
  bool timings = false;            ///< time every operation [=false]
  size_t outfeed_capacity = 1024;  ///< tensors that one outfeed queue holds [=1024]
  /// Receives what PrintTensor prints [=standard error].
  std::function<void(const std::string& text)> print;
  /// Sees every tensor that a step computes, in the order of the graph: traces are made from this [=none].
  std::function<void(uint32_t step, const Node& node, int port, const TensorType& type, const void* data)> observe;
  /// Sees each fetch, by its number, as soon as it has been computed: on the CPU before the operations that follow,
  /// else at the step's end. It is the caller's from then on, and stays where it is [=none].
  std::function<void(size_t fetch, const Tensor& value)> fetched;
  /// Asked before every operation, and on the CPU about once a millisecond within a long one, there from any thread
  /// and from several at once; with "cuda" every 32 operations, and about once a millisecond of waiting for them. True:
  /// the run ends with RunStopped [=none: every run goes to its end].
  std::function<bool()> stop;
};

/// The preset that the options mean, for a graph without one.
Preset preset_of(const ExecutorOptions& options);
/// Options with this preset where they say nothing of their own: no preset, no semantics and no nanoo.
ExecutorOptions with_preset(ExecutorOptions options, std::optional<Preset> preset);
/// The rules that the options mean. Throws std::invalid_argument for a preset beside semantics, and for ieee with
/// nanoo.
Semantics semantics_of(const ExecutorOptions& options);

/// A run that ExecutorOptions::stop has ended.
class RunStopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value for a placeholder. A tensor that has a name must live until `run` returns; a temporary one is kept here.
struct Feed {
  std::string name;
  const Tensor* value = nullptr;

  Feed(std::string placeholder, const Tensor* tensor) : name(std::move(placeholder)), value(tensor) {}
  Feed(std::string placeholder, const Tensor& tensor) : name(std::move(placeholder)), value(&tensor) {}
  Feed(std::string placeholder, Tensor&& tensor)
      : name(std::move(placeholder)), kept_(std::make_shared<const Tensor>(std::move(tensor))) {
    value = kept_.get();
  }

 private:
  std::shared_ptr<const Tensor> kept_;
};

/// Flags that one operation raised.
struct OperationStatus {
  std::string name, op;
  FpStatus status;
};

struct NamedStatistics {
  std::string name;  ///< "node" or "node:port"
  TensorStatistics statistics;
};

/// The time of one operation.
struct OperationTime {
  std::string name, op;
  int64_t nanoseconds = 0;
};

struct RunResult {
  uint32_t step = 0;
  std::vector<Tensor> values;               ///< of the fetches, in their order
  uint8_t flags = 0;                        ///< of all operations
  std::vector<OperationStatus> operations;  ///< that raised any, in the order of the graph
  std::vector<NamedStatistics> statistics;
  std::vector<OperationTime> timings;  ///< where asked for, in the order in which they ran
};

/// One executor runs one step at a time, in any thread. While it runs, from another thread as well as from `observe`
/// and `print`, `run`, `set_step`, `set_variable` and `take_outfeed` are refused with std::logic_error: the step goes
/// on as if they had not been called. Executors of their own may run beside each other.
class Executor {
 public:
  /// Steps that a run of a graph may have: 0 .. kSteps - 1. The addresses of random bits above belong to the first
  /// values of variables, the order of images and generated images.
  static constexpr uint32_t kSteps = 0xFFFFFFF0;

  virtual ~Executor() = default;

  /// One step, run({{"x", x}}, {"loss", "logits"}): computes what the fetches ("name" or "name:port") need, and every
  /// operation with an effect. Throws, before anything runs: GraphError (a feed or fetch of an unknown name, with the
  /// nearest; a placeholder without a feed; a feed of another dtype or shape than declared; a program that exceeds the
  /// device's memory, with its largest tensors). While running: FloatingPointError where an enabled exception is
  /// raised, naming node, lowest index among the enabled flags, operands, tile and worker; RunStopped; std::bad_alloc;
  /// with "cuda" std::runtime_error of the device, naming kernel and operation. After an error variables are unchanged
  /// and the step is not counted. Throws std::out_of_range after step kSteps - 1.
  virtual RunResult run(ListView<Feed> feeds, ListView<std::string> fetches) = 0;

  /// Steps so far: the address of the next step's random bits. Resuming: {seed, step} and the variables.
  virtual uint32_t step() const = 0;
  /// Throws std::out_of_range for kSteps and more; std::invalid_argument for another than 0 with xoroshiro128aox, whose
  /// bits have no address.
  virtual void set_step(uint32_t step) = 0;

  /// Variables (nodes of type VariableV2); zeros until set. The tensor is valid until the next run or set_variable.
  /// Throw GraphError for another name, dtype or shape.
  virtual const Tensor& variable(std::string_view name) const = 0;
  virtual void set_variable(std::string_view name, const Tensor& value) = 0;

  /// What OutfeedEnqueue put into a queue, oldest first; the queue is empty afterwards. Throws GraphError for a queue
  /// that the graph does not have.
  virtual std::vector<Tensor> take_outfeed(std::string_view queue) = 0;

  virtual const Graph& graph() const = 0;
  virtual const ExecutorOptions& options() const = 0;
  virtual const Semantics& semantics() const = 0;
  /// Remarks made while the graph was prepared: an option that is ignored, and why.
  virtual const std::vector<std::string>& warnings() const = 0;
  /// Bytes that the device holds at the fullest moment of a run of these fetches.
  virtual MemoryReport memory(ListView<std::string> fetches) = 0;
};

/// The backend that ExecutorOptions::backend means on this machine.
struct BackendChoice {
  std::string backend;  ///< "emu" or "cuda"
  /// Of "cuda": the device, "NVIDIA H100 80GB HBM3, compute capability 9.0, 79.1 GiB". Of "emu": empty, or why "auto"
  /// chose it: no device, or an option that only the CPU has (isa, reference).
  std::string about;
};
/// Throws std::invalid_argument for an unknown backend, with the nearest; std::runtime_error if "cuda" finds no usable
/// device, saying why and what would work.
BackendChoice choose_backend(const ExecutorOptions& options);

/// Throws GraphError where the backend does not run an operation of the graph, std::invalid_argument for options out of
/// range or an unknown backend, std::runtime_error if "cuda" finds no usable device, saying why.
std::unique_ptr<Executor> make_executor(Graph graph, ExecutorOptions options = {});

}  // namespace softamp
