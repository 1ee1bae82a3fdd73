// Which mechanism is on. The texts of conflicts and warnings are TensorFlow's (r2.3, Keras 2.4), where TensorFlow has
// one.
#include "softamp/precision/mixed_precision_context.h"

#include "src/precision/device_check.h"

namespace softamp {
namespace {

constexpr const char* kEitherFunction =
    "You called both functions, which is an error, because both functions enable you to use mixed precision. If in "
    "doubt which function to use, use the ";

std::string rewrite_after_policy() {
  return std::string(
             "The mixed precision graph rewrite cannot be enabled, because the global Keras dtype Policy has been set "
             "to a mixed precision policy. At most, one of the following can be called:\n\n"
             "  1. tf.keras.mixed_precision.experimental.set_policy() with a mixed precision policy (You called this "
             "first)\n\n"
             "  2. tf.train.experimental.enable_mixed_precision_graph_rewrite() (You called this second)\n") +
         kEitherFunction + "first, as it supports Eager execution and is more customizable.";
}

std::string policy_after_rewrite(const Policy& policy) {
  return "The global dtype policy cannot be set to \"" + policy.name() +
         "\", because the mixed precision graph rewrite has already been enabled.\n"
         "At most, one of the following can be called:\n\n"
         "  1. tf.train.experimental.enable_mixed_precision_graph_rewrite() (You called this first)\n"
         "  2. tf.keras.mixed_precision.experimental.set_policy() with a mixed precision policy (You called this "
         "second)\n\n" +
         kEitherFunction + "second, as it supports Eager execution and is more customizable.";
}

/// Gaudi's page calls these combinations undefined and has no text for them; this one is ours.
std::string conversion_conflict(const std::string& what, const std::string& on) {
  return what + ", because " + on +
         ": only one of the graph rewrite, a mixed precision policy and the bfloat16 "
         "conversion can be on; expected the other one to be turned off first";
}

Policy first_policy(DtypeBehaviour behaviour) {
  return Policy(std::string_view(behaviour == DtypeBehaviour::kV1 ? "_infer" : "float32"));
}

}  // namespace

const char* name_of(LogLevel level) {
  static constexpr const char* kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
  return kNames[static_cast<int>(level)];
}

MixedPrecisionContext::MixedPrecisionContext(LogSink log, DtypeBehaviour behaviour)
    : sink_(std::move(log)), behaviour_(behaviour), policy_(first_policy(behaviour)) {}

void MixedPrecisionContext::check_graph_rewrite() const {
  if (policy_.is_mixed()) throw ApiConflictError(rewrite_after_policy());
  if (recipe_)
    throw ApiConflictError(conversion_conflict("The mixed precision graph rewrite cannot be enabled",
                                               "the bfloat16 conversion (recipe '" + recipe_->name + "') is on"));
  if (sessions_ > 0)
    log(LogLevel::kWarning,
        "You already have existing Sessions that do not use mixed precision. enable_mixed_precision_graph_rewrite() "
        "will not affect these Sessions.");
}

void MixedPrecisionContext::enable_graph_rewrite(OpLists lists, RewriteOptions options) {
  lists.validate();
  check_graph_rewrite();
  turn_graph_rewrite_on(std::move(lists), std::move(options));
}

void MixedPrecisionContext::disable_graph_rewrite() {
  if (!rewrite_)
    log(LogLevel::kWarning, "disable_mixed_precision_graph_rewrite() called when mixed precision is already disabled.");
  rewrite_.reset();
}

void MixedPrecisionContext::set_global_policy(const Policy& policy) {
  if (behaviour_ == DtypeBehaviour::kV1)
    throw std::invalid_argument(
        "The global policy can only be set in TensorFlow 2 or if V2 dtype behavior has been set. To enable V2 dtype "
        "behavior, call \"tf.compat.v1.keras.layers.enable_v2_dtype_behavior()\"");
  if (policy.is_mixed() && rewrite_) throw ApiConflictError(policy_after_rewrite(policy));
  if (policy.is_mixed() && recipe_)
    throw ApiConflictError(conversion_conflict("The global dtype policy cannot be set to \"" + policy.name() + "\"",
                                               "the bfloat16 conversion (recipe '" + recipe_->name + "') is on"));
  if (policy.compute_dtype() && !is_floating(*policy.compute_dtype()))
    throw std::invalid_argument(
        "set_policy can only be used to set the global policy to floating-point policies, such as \"float32\" and "
        "\"mixed_float16\", but got policy: " +
        policy.name());
  policy_ = policy;
  check_device(policy);
}

void MixedPrecisionContext::set_global_policy(std::string_view name) { set_global_policy(Policy(name)); }
void MixedPrecisionContext::reset_global_policy() { set_global_policy(first_policy(behaviour_)); }

void MixedPrecisionContext::check_device(const Policy& policy, double gpu_capability) const {
  if (device_checked_ || policy.name() != "mixed_float16") return;
  device_checked_ = true;
  const auto found = precision_detail::device_check(policy.name(), gpu_capability);
  log(found->warns ? LogLevel::kWarning : LogLevel::kInfo, found->text);
}

void MixedPrecisionContext::enable_bfloat16_conversion(Recipe recipe) {
  const std::string what = "The bfloat16 conversion cannot be enabled";
  if (rewrite_) throw ApiConflictError(conversion_conflict(what, "the mixed precision graph rewrite is on"));
  if (policy_.is_mixed())
    throw ApiConflictError(conversion_conflict(what, "the global dtype policy is \"" + policy_.name() + "\""));
  recipe_ = std::move(recipe);
}

GraphPass MixedPrecisionContext::pass() const {
  if (!rewrite_ && !recipe_) return {};
  auto tensorflow = rewrite_;
  if (tensorflow && !tensorflow->second.gpu_capability) tensorflow->second.gpu_capability = gpu_capability_;
  return [sink = sink_, tensorflow, recipe = recipe_](const Graph& graph, std::span<const std::string> fetches) {
    GraphRewrite done = tensorflow ? rewrite(graph, tensorflow->first, fetches, tensorflow->second)
                                   : convert_bfloat16(graph, *recipe, fetches);
    for (const std::string& message : done.report.colours.messages) {
      const size_t space = message.find(' ');
      LogLevel level = LogLevel::kInfo;
      for (const LogLevel l : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError})
        if (message.substr(0, space) == name_of(l)) level = l;
      log_to(sink, level, space == std::string::npos ? message : message.substr(space + 1));
    }
    return done;
  };
}

Graph MixedPrecisionContext::finish(const Graph& graph, ListView<std::string> fetches, GraphScope scope) const {
  if (scope == GraphScope::kEager && (rewrite_ || recipe_))
    log(LogLevel::kInfo, "an eager graph: " + std::string(rewrite_ ? "the graph rewrite" : "the bfloat16 conversion") +
                             " does nothing here; expected a function");
  const GraphPass on = scope == GraphScope::kEager ? GraphPass() : pass();
  Graph finished = on ? on(graph, fetches).graph : graph;
  return finished.preset() ? finished : finished.with_preset(Preset::kIeee);
}

std::unique_ptr<Executor> MixedPrecisionContext::make_session(const Graph& graph, ListView<std::string> fetches,
                                                              ExecutorOptions options, GraphScope scope) {
  auto executor = make_executor(finish(graph, fetches, scope), std::move(options));
  note_session();
  return executor;
}

PolicyScope::PolicyScope(MixedPrecisionContext& context, const Policy& policy)
    : context_(context), before_(context.global_policy()) {
  context.set_global_policy(policy);
}
PolicyScope::PolicyScope(MixedPrecisionContext& context, std::string_view name) : PolicyScope(context, Policy(name)) {}

PolicyScope::~PolicyScope() {
  // A destructor cannot refuse: a mechanism turned on meanwhile is turned off in favour of the restored policy.
  if (before_.is_mixed() && (context_.rewrite_ || context_.recipe_)) {
    context_.log(LogLevel::kError, "the global dtype policy \"" + before_.name() +
                                       "\" comes back at the end of its scope; the graph rewrite or bfloat16 "
                                       "conversion that was turned on inside is turned off");
    context_.rewrite_.reset();
    context_.recipe_.reset();
  }
  context_.policy_ = before_;
}

}  // namespace softamp
