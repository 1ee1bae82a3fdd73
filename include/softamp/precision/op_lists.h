// TensorFlow's lists of operations: which are converted always, never, or like their neighbours.
//
// Source of the names: auto_mixed_precision_lists.h of TensorFlow r2.3 (and of 2019, before Log, Log1p, LogSoftmax and
// Softmax moved from the deny list), read as facts; the names later given to the lists are used here.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/names/dtype.h"

namespace softamp {

enum class OpClass : uint8_t {
  kAllow,     ///< (white) always converted
  kInfer,     ///< (gray) converted between two allowed ones, unless downstream of a denied one
  kDeny,      ///< (black) never converted; inferred ones downstream are not converted either
  kClear,     ///< no numerical effect: like its neighbours
  kUnlisted,  ///< never converted
};
const char* name_of(OpClass c);  ///< "allow", "infer", "deny", "clear", "unlisted"

struct OpLists {
  using Names = std::set<std::string, std::less<>>;
  std::string name = "custom";  ///< of the preset; in reports
  DType low = DType::kFloat16;  ///< (float16, bfloat16)
  Names allow, infer, deny, clear;

  static OpLists tf_2_3();   ///< r2.3 on CUDA >= 9.1 with cuDNN >= 7.6.2
  static OpLists tf_2019();  ///< as r2.3, but Log, Log1p, LogSoftmax, Softmax denied
  static OpLists mkl();      ///< bfloat16 on CPUs, 2.4
  /// "2.3", "r2.3", "2019", "mkl". Throws std::invalid_argument with the known names, and the nearest.
  static OpLists preset(std::string_view name);
  static std::vector<std::string> preset_names();

  OpClass class_of(std::string_view op) const;
  /// name: "allow" "infer" "deny" "clear", and the old "white" "gray" "black" (also with "list" behind). Throws
  /// std::invalid_argument for another.
  Names& list(std::string_view name);
  /// Throws std::invalid_argument, beginning "Op lists have conflicting entries", that names an operation and both
  /// lists.
  void validate() const;

  /// A copy changed by the environment variables
  /// TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_{ALLOWLIST,INFERLIST,DENYLIST,CLEARLIST,
  /// WHITELIST,GRAYLIST,BLACKLIST}_{ADD,REMOVE}, comma-separated; the old spellings are applied after the new. Throws
  /// as validate.
  OpLists with_environment() const;
  /// The four lists as text, TensorFlow's "paintbuckets" file.
  std::string paint_buckets() const;
  bool operator==(const OpLists&) const = default;
};

}  // namespace softamp
