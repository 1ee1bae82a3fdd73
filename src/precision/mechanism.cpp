// The mechanisms by name; each function calls that of the chosen system.
#include "softamp/precision/mechanism.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "src/precision/recipe_source.h"
#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/word.h"

namespace softamp {
namespace {

using files::excerpt;
using graph_detail::nearest_of;
using MechanismKind = Mechanism::Kind;

constexpr std::array kKinds = {"none",   "tensorflow", "recipe",
                               "policy", "level",      "fp8"};  // in the order of MechanismKind
constexpr std::array kPolicies = {"mixed_float16", "mixed_bfloat16", "float16", "bfloat16", "float32", "float64"};
constexpr std::array kLevelNames = {"O0", "O1", "O2", "O3", "auto"};
constexpr std::string_view kDtype = ",dtype=";
constexpr const char* kForms =
    "expected none, tensorflow, tensorflow=PRESET, recipe=full, recipe=basic, recipe=FILE, policy=NAME, level=NAME, "
    "fp8=NAME or "
    "fp8=FILE, "
    "with or without ,dtype=float16 or ,dtype=bfloat16";

const char* word(MechanismKind kind) { return kKinds[static_cast<size_t>(kind)]; }

/// "; nearest: O2; expected O0, O1, ..."
template <class Names>
std::string choices(std::string_view given, const Names& names) {
  return nearest_of(given, names) + "; expected " + joined(names);
}

/// What to write for a word that is a value of some mechanism: "; for this, write policy=mixed_float16".
std::string form_of_value(std::string_view value) {
  const auto among = [&](const auto& names) { return find_word(names, value) != nullptr; };
  const char* kind = among(kPolicies)                 ? "policy"
                     : among(kLevelNames)             ? "level"
                     : among(kBuiltInRecipes)         ? "recipe"
                     : among(OpLists::preset_names()) ? "tensorflow"
                     : among(Fp8Recipe::names())      ? "fp8"
                                                      : nullptr;
  return kind ? "; for this, write " + std::string(kind) + "=" + std::string(value) : "";
}

/// The settings of a level; "auto" means a GPU's.
AmpSettings settings(const Mechanism& m) {
  return amp_settings(parse_amp_level(m.value), "GPU", m.low.value_or(DType::kFloat16));
}

bool is_low(const std::optional<DType>& dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Mechanism read() {
    std::string_view rest = text_;
    std::optional<std::string_view> dtype;
    if (const size_t at = rest.rfind(kDtype); at != std::string_view::npos) {
      dtype = rest.substr(at + kDtype.size());
      rest = rest.substr(0, at);
    }
    const size_t equals = rest.find('=');
    read_kind(rest.substr(0, equals));
    if (equals == std::string_view::npos)
      default_value();
    else
      read_value(rest.substr(equals + 1));
    if (dtype) read_dtype(*dtype);
    return m_;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw std::invalid_argument("mechanism '" + excerpt(text_) + "': " + what);
  }

  void read_kind(std::string_view name) {
    for (size_t k = 0; k < kKinds.size(); ++k)
      if (same_word(name, kKinds[k])) {
        m_.kind = static_cast<MechanismKind>(k);
        return;
      }
    const std::string form = form_of_value(name);
    refuse("there is no mechanism '" + excerpt(name) + "'" + (form.empty() ? nearest_of(name, kKinds) : form) + "; " +
           kForms);
  }

  void default_value() {
    if (m_.kind == MechanismKind::kNone) return;
    if (m_.kind != MechanismKind::kTensorFlow) refuse(std::string(word(m_.kind)) + " needs a value; " + kForms);
    m_.value = "2.3";
  }

  void read_value(std::string_view value) {
    if (value.empty()) refuse(std::string("nothing stands after '='; ") + kForms);
    m_.value = value;
    try {
      switch (m_.kind) {
        case MechanismKind::kNone: break;
        case MechanismKind::kTensorFlow: OpLists::preset(m_.value = our_word(OpLists::preset_names(), value)); return;
        case MechanismKind::kRecipe: Recipe::find(m_.value = our_word(kBuiltInRecipes, value)); return;
        case MechanismKind::kPolicy: m_.value = our_word(kPolicies, value), read_policy(); return;
        case MechanismKind::kLevel: m_.value = name_of(parse_amp_level(our_word(kLevelNames, value))); return;
        case MechanismKind::kFp8: Fp8Recipe::find(m_.value = our_word(Fp8Recipe::names(), value)); return;
      }
    } catch (const std::invalid_argument& e) {
      std::string what = e.what();
      if (what.ends_with('.')) what.pop_back();
      refuse(what + (m_.kind == MechanismKind::kPolicy ? choices(value, kPolicies) : ""));
    }
    refuse("none takes no value; " + std::string(kForms));
  }

  void read_policy() const {
    const auto compute = Policy(m_.value).compute_dtype();
    if (!compute || !is_floating(*compute))
      throw std::invalid_argument("policy '" + m_.value + "' computes in no floating dtype");
  }

  void read_dtype(std::string_view name) {
    m_.low = parse_dtype(name);
    if (!is_low(m_.low)) refuse("dtype '" + excerpt(name) + "'; expected float16 or bfloat16");
    const DType asked = *m_.low;
    m_.low.reset();
    const DType own = m_.low_dtype();
    if (own == DType::kFloat32 || (m_.kind == MechanismKind::kPolicy && own != asked))
      refuse(std::string("dtype ") + name_of(asked) + "; expected none: " +
             (own == DType::kFloat32 ? "all of it stays float32" : "the policy's name says its dtype"));
    m_.low = asked;
  }

  std::string_view text_;
  Mechanism m_;
};

OpLists lists_of(const Mechanism& m) {
  OpLists lists = OpLists::preset(m.value);
  lists.low = m.low.value_or(lists.low);
  return lists;
}

}  // namespace

Mechanism Mechanism::parse(std::string_view text) { return Reader(text).read(); }

std::string Mechanism::text() const {
  return word(kind) + (value.empty() ? "" : "=" + value) + (low ? std::string(kDtype) + name_of(*low) : "");
}

DType Mechanism::low_dtype() const {
  switch (kind) {
    case MechanismKind::kNone:
    case MechanismKind::kFp8: break;
    case MechanismKind::kTensorFlow: return lists_of(*this).low;
    case MechanismKind::kRecipe: return low.value_or(DType::kBFloat16);
    case MechanismKind::kPolicy: return Policy(value).compute_dtype().value_or(DType::kFloat32);
    case MechanismKind::kLevel:
      if (settings(*this).level != AmpLevel::kO0) return low.value_or(DType::kFloat16);
      break;
  }
  return DType::kFloat32;
}

bool Mechanism::rewrites() const {
  return kind == MechanismKind::kTensorFlow || kind == MechanismKind::kRecipe || kind == MechanismKind::kFp8 ||
         (kind == MechanismKind::kLevel && settings(*this).level == AmpLevel::kO1);
}

LossScaleOptions Mechanism::loss_scale() const {
  if (kind == MechanismKind::kTensorFlow) return LossScaleOptions::tensorflow();
  if (kind == MechanismKind::kPolicy && value == "mixed_float16") return LossScaleOptions::keras();
  if (kind == MechanismKind::kLevel) return settings(*this).loss_scale;
  return LossScaleOptions::none();
}

Colouring Mechanism::colour(const OpGraph& graph) const {
  const std::string name = std::string(word(kind)) + (value.empty() ? "" : " " + value);
  const DType dtype = low_dtype();
  if (kind == MechanismKind::kTensorFlow) return colour_tensorflow(graph, lists_of(*this));
  if (kind == MechanismKind::kRecipe) return colour_recipe(graph, Recipe::find(value), dtype);
  if (dtype == DType::kFloat32) {
    Colouring nothing = Colouring::nothing(graph, name, DType::kFloat16);
    nothing.lists.assign(nothing.lists.size(), word(kind));
    nothing.reasons.assign(nothing.reasons.size(),
                           name + (kind == MechanismKind::kFp8 ? ": quantises operands in training; no dtype changes"
                                                               : ": everything stays float32"));
    return nothing;
  }
  return rewrites() ? colour_o1(graph, dtype) : colour_layers(graph, *layer_rule(), dtype, name);
}

GraphPass Mechanism::pass() const {
  // A recipe's file is read once, now: later changes to it do not change what a running program does.
  if (kind == MechanismKind::kFp8)
    return [recipe = Fp8Recipe::find(value)](const Graph& graph, std::span<const std::string> fetches) {
      return quantize_products(graph, recipe, fetches);
    };
  std::optional<Recipe> recipe;
  if (kind == MechanismKind::kRecipe) recipe = Recipe::find(value);
  return [m = *this, recipe](const Graph& graph, std::span<const std::string> fetches) {
    return rewrite_with(graph, fetches, [&](const OpGraph& picture) {
      return recipe ? colour_recipe(picture, *recipe, m.low_dtype()) : m.colour(picture);
    });
  };
}

std::optional<LayerRule> Mechanism::layer_rule() const {
  if (kind == MechanismKind::kPolicy) return Policy(value).layer_rule();
  if (kind == MechanismKind::kLevel && !rewrites()) return softamp::layer_rule(settings(*this));
  return std::nullopt;
}

}  // namespace softamp
