// Keras' dtype policies (MIXED_PRECISION K01 to K05, K20).
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "softamp/precision/layer_rule.h"

namespace softamp {

/// A name, the dtype that layers compute in, and the one that their variables are kept in.
class Policy {
 public:
  /// The name of a dtype: both are it; "mixed_float16", "mixed_bfloat16": that dtype, variables float32; "_infer":
  /// unknown until a layer's first input decides. Throws std::invalid_argument with Keras' texts (MIXED_PRECISION K02).
  explicit Policy(std::string_view name);
  /// [ours] Keras wants a name.
  explicit Policy(DType dtype);

  const std::string& name() const { return name_; }
  const std::optional<DType>& compute_dtype() const { return compute_; }
  const std::optional<DType>& variable_dtype() const { return variable_; }
  bool is_mixed() const { return name_.starts_with("mixed_"); }

  /// "float32"; null; {"class_name":"Policy","config":{"name":"mixed_float16"}} (MIXED_PRECISION K20).
  std::string to_json() const;
  /// Reads these, and drops a "loss_scale" of older versions. Throws std::invalid_argument with the place.
  static Policy from_json(std::string_view text);
  /// As a rule for networks and finished graphs; BatchNorm's own variables stay float32, as Keras' layer keeps them.
  LayerRule layer_rule() const;

  bool operator==(const Policy& other) const { return name_ == other.name_; }

 private:
  std::string name_;
  std::optional<DType> compute_, variable_;
};
std::ostream& operator<<(std::ostream& out, const Policy& policy);  ///< <Policy "mixed_float16">
std::string text(const Policy& policy);

}  // namespace softamp

template <>
struct std::hash<softamp::Policy> {
  size_t operator()(const softamp::Policy& policy) const { return std::hash<std::string>()(policy.name()); }
};
