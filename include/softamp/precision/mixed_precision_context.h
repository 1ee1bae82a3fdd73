// Which mechanism of mixed precision is on. The systems keep these switches for a whole process; here they are a value
// that is passed to the code that builds a graph. A second mechanism is refused, in its system's own words
// (MIXED_PRECISION T01, T04, T05, T13, K05, K11, K21, H20).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "softamp/graph/executor.h"
#include "softamp/precision/graph_rewrite.h"
#include "softamp/precision/policy.h"
#include "softamp/precision/recipe.h"

namespace softamp {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };
const char* name_of(LogLevel level);  ///< "DEBUG", "INFO", "WARNING", "ERROR"
/// Where messages go.
using LogSink = std::function<void(LogLevel level, const std::string& message)>;

/// A second mechanism is turned on while one is on.
class ApiConflictError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// TensorFlow's dtype behaviour (MIXED_PRECISION K11).
enum class DtypeBehaviour : uint8_t {
  kV1,  ///< inputs are not cast, the policy is "_infer"
  kV2,
};

/// Where a graph is built (MIXED_PRECISION T13).
enum class GraphScope : uint8_t {
  kEager,     ///< operation by operation: nothing is rewritten, as a line of the log says where a mechanism is on
  kFunction,  ///< inside a function: the mechanism that is on acts
};

class MixedPrecisionContext {
 public:
  explicit MixedPrecisionContext(LogSink log = {}, DtypeBehaviour behaviour = DtypeBehaviour::kV2);

  // TensorFlow's rewrite. enable: throws ApiConflictError while the global policy is mixed or the recipe is on; warns
  // where sessions (executors) were noted.
  void enable_graph_rewrite(OpLists lists = OpLists::tf_2_3(), RewriteOptions options = {});
  /// The two halves of it, for callers that do something between them that may fail: the first throws and warns, the
  /// second turns it on without checking again.
  void check_graph_rewrite() const;
  void turn_graph_rewrite_on(OpLists lists, RewriteOptions options) {
    rewrite_.emplace(std::move(lists), std::move(options));
  }
  void disable_graph_rewrite();  ///< warns where it is off
  bool graph_rewrite_enabled() const { return rewrite_.has_value(); }
  /// An executor of what `finish` makes of the graph, noted as a session.
  std::unique_ptr<Executor> make_session(const Graph& graph, ListView<std::string> fetches = {},
                                         ExecutorOptions options = {}, GraphScope scope = GraphScope::kFunction);
  /// An executor was made elsewhere (MIXED_PRECISION T05; trainers do this by themselves, TrainerOptions::precision);
  /// one made while the rewrite was on causes no warning.
  void note_session() {
    if (!rewrite_) ++sessions_;
  }

  // Keras' global policy; a mixed one checks the device. Throws ApiConflictError for a mixed policy while the rewrite
  // or a recipe is on; std::invalid_argument for one that is not floating, and under kV1.
  const Policy& global_policy() const { return policy_; }
  void set_global_policy(const Policy& policy);
  void set_global_policy(std::string_view name);
  void reset_global_policy();  ///< as set_global_policy(None): from floatx
  DtypeBehaviour dtype_behaviour() const { return behaviour_; }
  /// MIXED_PRECISION K21: once per context, "Mixed precision compatibility check (mixed_float16): OK" or "... WARNING"
  /// for this compute capability [=the context's]; no message for other policies. Setting a global policy does this,
  /// and so does every layer with a policy of its own.
  void check_device(const Policy& policy, double gpu_capability) const;
  void check_device(const Policy& policy) const { check_device(policy, gpu_capability_); }
  /// Of the GPU that is emulated, for policies and for the rewrite, unless its RewriteOptions have another; 0: there is
  /// none [=7.0].
  double gpu_capability() const { return gpu_capability_; }
  void set_gpu_capability(double capability) { gpu_capability_ = capability; }

  // Gaudi's pass. Throws ApiConflictError while the rewrite is on or the global policy is mixed.
  void enable_bfloat16_conversion(Recipe recipe);
  void disable_bfloat16_conversion() { recipe_.reset(); }
  const std::optional<Recipe>& bfloat16_conversion() const { return recipe_; }

  /// Applies the mechanism that is on to a graph that was built in this scope; without one its nodes come back
  /// unchanged. The systems compute by IEEE 754: a graph without a preset (Graph::preset) gets ieee.
  Graph finish(const Graph& graph, ListView<std::string> fetches, GraphScope scope = GraphScope::kFunction) const;

  /// The mechanism that is on, as it is now, for TrainerOptions::pass; its messages go where those of this context go.
  /// Empty without one.
  GraphPass pass() const;

  void log(LogLevel level, const std::string& message) const { log_to(sink_, level, message); }

 private:
  friend class PolicyScope;
  static void log_to(const LogSink& sink, LogLevel level, const std::string& message) {
    if (sink) sink(level, message);
  }

  LogSink sink_;
  DtypeBehaviour behaviour_;
  Policy policy_;
  std::optional<std::pair<OpLists, RewriteOptions>> rewrite_;
  std::optional<Recipe> recipe_;
  int64_t sessions_ = 0;
  double gpu_capability_ = 7.0;
  mutable bool device_checked_ = false;
};

/// Sets the global policy while alive (MIXED_PRECISION K05), then restores the one before, after an exception, too.
/// [ours] If that one is mixed and another mechanism was turned on meanwhile, that mechanism is turned off again, with
/// an error in the log.
class PolicyScope {
 public:
  PolicyScope(MixedPrecisionContext& context, const Policy& policy);
  PolicyScope(MixedPrecisionContext& context, std::string_view name);
  ~PolicyScope();
  PolicyScope(const PolicyScope&) = delete;
  PolicyScope& operator=(const PolicyScope&) = delete;

 private:
  MixedPrecisionContext& context_;
  Policy before_;
};

}  // namespace softamp
