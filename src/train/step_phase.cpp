// The phases of a step, by the names of nodes.
#include "softamp/train/trainer.h"

namespace softamp {
namespace {

/// Added by a pass over a finished graph, in any scope: "gradients/dense/MatMul_grad/MatMul-0-CastToFp32".
bool is_cast_of_pass(std::string_view name) {
  for (const char* word : {"-CastToFp16", "-CastToBf16", "-CastToFp32"})
    if (name.find(word, name.rfind('/') + 1) != std::string_view::npos) return true;
  return false;
}

/// Added while the network is built: "kernel_cast", "kernel_cast_1".
bool is_cast_of_layer(std::string_view name) {
  const size_t last = name.find_last_not_of("0123456789");
  if (last != std::string_view::npos && last + 1 < name.size() && name[last] == '_') name = name.substr(0, last);
  constexpr std::string_view kEnd = "_cast";
  return name.size() >= kEnd.size() && name.substr(name.size() - kEnd.size()) == kEnd;
}

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

}  // namespace

std::string_view phase_of(std::string_view name) {
  if (is_cast_of_pass(name)) return "cast";
  if (begins(name, "gradients/") || begins(name, "accumulate/")) return "backward";
  if (begins(name, "scale/")) return "scale";
  if (begins(name, "unscale/")) return "unscale";
  if (begins(name, "update/") || begins(name, "clip/") || begins(name, "learning_rate/")) return "update";
  if (begins(name, "loss_fn/") || name == "loss") return "loss";
  if (is_cast_of_layer(name)) return "cast";
  return "forward";
}

}  // namespace softamp
