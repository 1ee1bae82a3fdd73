// IpuConfig: the settings of a device as one tree of attributes, under the names that TensorFlow for the IPU gives
// them.
//
// Two ways in: as a plain structure (`config.floating_point_behaviour.oflo = true`), and by name (`set("norms.
// use_stable_statistics", true)`), which checks names and types and gives the original's errors. A config is a value
// that is passed to an executor; nothing is global.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "softamp/numerics/accumulator.h"
#include "softamp/numerics/behaviour.h"

namespace softamp {

/// Where stochastic rounding applies; a bool is accepted, too (false: off, true: on).
enum class StochasticRoundingBehaviour : uint8_t {
  kOff = 0,                   ///< "OFF": nowhere.
  kOn = 1,                    ///< "ON": every inexact fp16 result.
  kReplicaIdenticalOnly = 2,  ///< "REPLICA_IDENTICAL_ONLY": where all replicas compute the same; as kOn on one replica.
};

/// Options for the libraries, text to text: {"partialsType", "half"}.
using PoplarOptions = std::map<std::string, std::string>;

/// A value of the tree, by name.
using ConfigValue = std::variant<bool, int64_t, std::string, StochasticRoundingBehaviour, PoplarOptions>;

/// "Trying to set norms.use_stable_statistics to 3, but it must be of type bool".
class ConfigTypeError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};
/// "'matmul' is not a valid attribute of this config. Did you mean 'matmuls'?", and for a category that is assigned to.
class ConfigNameError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

class IpuConfig {
 public:
  int64_t auto_select_ipus = 1;  ///< (1) [=1] devices; replicas are simulated by the trainer
  PoplarOptions compilation_poplar_options;

  struct FloatingPoint {
    bool inv = false, div0 = false, oflo = false;                         ///< stop on these exceptions [=off]
    StochasticRoundingBehaviour esr = StochasticRoundingBehaviour::kOff;  ///< [=OFF]
    bool nanoo = false;                                                   ///< fp16 overflow gives NaN [=off]
    bool set_all = false;  ///< all five on (esr = ON), whatever the single values [=off]
  } floating_point_behaviour;

  struct Matmuls {
    bool clear_pass_type = false;
    PoplarOptions poplar_options;  ///< see `product_options`
  } matmuls;
  struct Library {
    PoplarOptions poplar_options;
  } convolutions, slices, pooling;

  struct Norms {
    bool use_stable_statistics = false;  ///< subtract the mean before the variance is computed
    struct Experimental {
      int64_t distributed_batch_norm_replica_group_size = 1;  ///< (1) replicas that share batch statistics
    } experimental;
  } norms;

  struct Experimental {
    bool enable_prng_stability = false;
    bool always_rearrange_copies_on_the_host = false;
    bool enable_remote_buffer_embedding = false;
    struct MultiReplicaDistribution {
      int64_t process_index = 0, process_count = 0;  ///< (0; 0, 1) processes share replicas by TrainerOptions::exchange
    } multi_replica_distribution;
  } experimental;

  struct IpuModel {
    bool compile_ipu_code = true;
    int64_t tiles_per_ipu = 0;     ///< (0: the version's own, 1472) [=0]
    std::string version = "ipu2";  ///< (ipu2, ipu21) of one arithmetic and one number of tiles
  } ipu_model;

  /// Sets the attribute of this dotted name. Throws ConfigNameError for an unknown name or a category, ConfigTypeError
  /// for a value of another type, std::invalid_argument for one out of range.
  void set(std::string_view name, const ConfigValue& value);
  ConfigValue get(std::string_view name) const;

  /// What is known of an attribute.
  struct Metadata {
    std::string name, type, doc;
    ConfigValue default_value;
  };
  static Metadata metadata(std::string_view name);
  /// All attributes' dotted names, in the order of the tree.
  static std::vector<std::string> names();

  /// Every attribute: {"floating_point_behaviour": {"inv": false, ...}, ...}; esr as its name.
  std::string to_json() const;
  /// Attributes that are left out keep their defaults. Throws as `set` does, and std::invalid_argument for bad JSON.
  static IpuConfig from_json(std::string_view text);

  /// The behaviour that programs run under.
  FloatingPointBehaviour behaviour() const;
  /// Throws std::invalid_argument for attributes that contradict each other, and for values that would change results
  /// on the device and that are not emulated: another version, batch statistics that replicas share, several processes.
  void validate() const;
  /// Those attributes without any effect here that are not at their defaults, a line for each: Executor::warnings.
  std::vector<std::string> without_effect() const;
};

/// How products are computed: all options of convolutions and matrix products that change results.
struct ProductOptions {
  // Poplar's, from `poplar_options`. Others that the libraries know are accepted and have no effect on results.
  bool half_partials = false;        ///< partialsType (half, float) [=float]
  bool half_between_blocks = false;  ///< partialsType.interTile (half, float) [=partialsType]: of independent blocks
  bool stochastic_off = false;       ///< disableSRForAMPVertices (true, false) [=false]
  // ExecutorOptions', of the same names there.
  int block = 16;                        ///< amp_block
  AmpInner inner = AmpInner::kFmaChain;  ///< amp_inner
  bool flush_inner = false;              ///< f32_flush_inner
  Accumulator accumulator = Accumulator::kIpuModelA;
  TensorCoreOperands operands = TensorCoreOperands::kOwn;  ///< tensor_core_operands
};

/// Poplar's of them. Throws std::invalid_argument: an unknown key with the nearest one, a value that the key does not
/// take. `category` ("matmuls", "convolutions") names the options in errors.
ProductOptions product_options(const PoplarOptions& options, std::string_view category);

const char* name_of(StochasticRoundingBehaviour behaviour);

}  // namespace softamp
