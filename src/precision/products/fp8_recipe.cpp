// Recipes of block formats: those with names, and their JSON.
#include "softamp/precision/fp8_recipe.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "softamp/graph/operation.h"
#include "softamp/names/block_format_names.h"
#include "src/files/regular_file.h"
#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"
#include "src/text/word.h"

namespace softamp {
namespace {

using Json = nlohmann::ordered_json;
using files::excerpt;
using graph_detail::Nearest;
using graph_detail::nearest_of;

// Sources of the formats: NVIDIA/TransformerEngine d0067d0 (DelayedScaling with HYBRID, Float8CurrentScaling,
// Float8BlockScaling, MXFP8BlockScaling, NVFP4BlockScaling with its signs), arXiv 2412.19437 (DeepSeek-V3), OCP MX,
// arXiv 2303.11257 (unit scaling).
constexpr std::array kBuiltIn = {
    R"({"name": "fp8_delayed",
 "about": "e4m3 and, for gradients, e5m2, one scale for a tensor from the steps before: TransformerEngine's DelayedScaling",
 "fprop": {"input": "e4m3", "weight": "e4m3"},
 "dgrad": {"gradient": "e5m2", "weight": "e4m3"},
 "wgrad": {"gradient": "e5m2", "input": "e4m3"},
 "scaling": "delayed"})",
    R"({"name": "fp8_current",
 "about": "the same with the scale of the tensor itself: TransformerEngine's Float8CurrentScaling",
 "fprop": {"input": "e4m3_tensor", "weight": "e4m3_tensor"},
 "dgrad": {"gradient": "e5m2_tensor", "weight": "e4m3_tensor"},
 "wgrad": {"gradient": "e5m2_tensor", "input": "e4m3_tensor"}})",
    R"({"name": "fp8_block",
 "about": "e4m3 in 1x128, weights in 128x128, scales that are powers of two: TransformerEngine's Float8BlockScaling",
 "fprop": {"input": "e4m3_1x128:powers_of_two=true", "weight": "e4m3_128x128:powers_of_two=true"},
 "dgrad": {"gradient": "e4m3_1x128:powers_of_two=true", "weight": "e4m3_128x128:powers_of_two=true"},
 "wgrad": {"gradient": "e4m3_1x128:powers_of_two=true", "input": "e4m3_1x128:powers_of_two=true"}})",
    R"({"name": "deepseek_v3",
 "about": "e4m3 everywhere, 1x128 and 128x128, scales of fp32, Hopper's sums promoted every 128: DeepSeek-V3",
 "fprop": {"input": "e4m3_1x128:scale_rule=deepseek", "weight": "e4m3_128x128:scale_rule=deepseek"},
 "dgrad": {"gradient": "e4m3_1x128:scale_rule=deepseek", "weight": "e4m3_128x128:scale_rule=deepseek"},
 "wgrad": {"gradient": "e4m3_1x128:scale_rule=deepseek", "input": "e4m3_1x128:scale_rule=deepseek"},
 "accumulation": "hopper"})",
    R"({"name": "mxfp8",
 "about": "MXFP8 with e4m3 everywhere, scales rounded up: TransformerEngine's MXFP8BlockScaling",
 "fprop": {"input": "mxfp8_e4m3:scale_rule=rceil", "weight": "mxfp8_e4m3:scale_rule=rceil"},
 "dgrad": {"gradient": "mxfp8_e4m3:scale_rule=rceil", "weight": "mxfp8_e4m3:scale_rule=rceil"},
 "wgrad": {"gradient": "mxfp8_e4m3:scale_rule=rceil", "input": "mxfp8_e4m3:scale_rule=rceil"}})",
    R"({"name": "mxfp6",
 "about": "MXFP6 with e3m2 everywhere, OCP's scales",
 "fprop": {"input": "mxfp6_e3m2", "weight": "mxfp6_e3m2"},
 "dgrad": {"gradient": "mxfp6_e3m2", "weight": "mxfp6_e3m2"},
 "wgrad": {"gradient": "mxfp6_e3m2", "input": "mxfp6_e3m2"}})",
    R"({"name": "mxfp4",
 "about": "MXFP4 everywhere, OCP's scales, to nearest: what stalls",
 "fprop": {"input": "mxfp4", "weight": "mxfp4"},
 "dgrad": {"gradient": "mxfp4", "weight": "mxfp4"},
 "wgrad": {"gradient": "mxfp4", "input": "mxfp4"}})",
    R"({"name": "nvfp4",
 "about": "NVFP4 with 16x16 weights, stochastic gradients, a Hadamard transform of wgrad: TransformerEngine's NVFP4BlockScaling",
 "fprop": {"input": "nvfp4", "weight": "nvfp4_16x16"},
 "dgrad": {"gradient": "nvfp4:rounding=stochastic,bits=8", "weight": "nvfp4_16x16"},
 "wgrad": {"gradient": "nvfp4:rounding=stochastic,bits=8", "input": "nvfp4"},
 "hadamard": 16, "hadamard_signs": "+++-+------+-+--"})",
    R"({"name": "nvfp4_nearest",
 "about": "NVFP4 whose gradients are rounded to nearest, without a transform",
 "fprop": {"input": "nvfp4", "weight": "nvfp4_16x16"},
 "dgrad": {"gradient": "nvfp4", "weight": "nvfp4_16x16"},
 "wgrad": {"gradient": "nvfp4", "input": "nvfp4"}})",
    R"({"name": "nvfp4_4over6",
 "about": "NVFP4 whose blocks choose between two scales, to nearest, without a transform: TransformerEngine's nvfp4_4over6 all",
 "fprop": {"input": "nvfp4:4over6=mae", "weight": "nvfp4_16x16:4over6=mae"},
 "dgrad": {"gradient": "nvfp4:4over6=mae", "weight": "nvfp4_16x16:4over6=mae"},
 "wgrad": {"gradient": "nvfp4:4over6=mae", "input": "nvfp4:4over6=mae"}})",
    R"({"name": "unit_scaling",
 "about": "e4m3 and, for gradients, e5m2, with factors that follow from shapes: unit scaling",
 "fprop": {"input": "e4m3", "weight": "e4m3"},
 "dgrad": {"gradient": "e5m2", "weight": "e4m3"},
 "wgrad": {"gradient": "e5m2", "input": "e4m3"},
 "scaling": "unit"})",
};
constexpr std::array kScalings = {"format", "delayed", "unit"};  // in the order of Fp8Scaling
constexpr int64_t kMostHadamard = 4096, kMostHistory = 65536, kMostKept = 1'000'000;

/// What an attribute of ScaledMatMul may be.
const std::vector<std::string>& choices_of(std::string_view name) {
  const std::vector<AttributeSpec>& all = operation("ScaledMatMul").attributes;
  return std::find_if(all.begin(), all.end(), [&](const AttributeSpec& a) { return a.name == name; })->choices;
}

class Fp8RecipeReader {
 public:
  Fp8RecipeReader(std::string_view text, std::string_view place) : place_(place) {
    JsonLimits limits;
    limits.bytes = kMostWrittenBytes;
    json_ = read_json(text, place_, limits);
  }

  Fp8Recipe read() {
    if (!json_.is_object()) refuse("expected an object, {\"fprop\": {...}, ...}");
    check_fields(json_, "",
                 {"name", "about", "fprop", "dgrad", "wgrad", "scaling", "hadamard", "hadamard_signs",
                  "amax_history_len", "amax_compute_algo", "margin", "zero_keeps_history", "accumulation", "promotion",
                  "promote_every", "keep_first", "keep_last"});
    text("name", r_.name);
    text("about", r_.about);
    operands("fprop", "input", "weight", r_.fprop);
    operands("dgrad", "gradient", "weight", r_.dgrad);
    operands("wgrad", "gradient", "input", r_.wgrad);
    std::string scaling = kScalings[static_cast<size_t>(r_.scaling)];
    word("scaling", scaling, kScalings);
    for (size_t i = 0; i < kScalings.size(); ++i)
      if (scaling == kScalings[i]) r_.scaling = static_cast<Fp8Scaling>(i);
    number("hadamard", r_.hadamard, 0, kMostHadamard);
    if ((r_.hadamard & (r_.hadamard - 1)) != 0)
      refuse("'hadamard' is " + std::to_string(r_.hadamard) + "; expected 0 or a power of two");
    text("hadamard_signs", r_.hadamard_signs);
    check_signs();
    number("amax_history_len", r_.amax_history_len, 1, kMostHistory);
    word("amax_compute_algo", r_.amax_compute_algo, std::array{"max", "most_recent"});
    number("margin", r_.margin, -64, 64);
    if (const auto it = json_.find("zero_keeps_history"); it != json_.end()) {
      if (!it->is_boolean()) refuse("'zero_keeps_history' is " + shown(*it) + "; expected true or false");
      r_.zero_keeps_history = it->get<bool>();
    }
    text("accumulation", r_.accumulation);
    if (!r_.accumulation.empty()) {
      word("accumulation", r_.accumulation, choices_of("accumulation"));
      if (r_.scaling != Fp8Scaling::kFormat)
        refuse("'accumulation' is '" + r_.accumulation + "', and the scaling is " + scaling +
               "; expected formats with scales of their own");
    }
    word("promotion", r_.promotion, choices_of("promotion"));
    number("promote_every", r_.promote_every, 0, int64_t{1} << 30);
    number("keep_first", r_.keep_first, 0, kMostKept);
    number("keep_last", r_.keep_last, 0, kMostKept);
    return std::move(r_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw std::invalid_argument(place_ + ": " + what); }
  static std::string shown(const Json& value) {
    return excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  void check_fields(const Json& object, const std::string& in, std::initializer_list<const char*> known) const {
    for (const auto& [key, value] : object.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end())
        refuse("'" + excerpt(in + key) + "' is no field of a recipe" + nearest_of(key, known) + "; expected " +
               joined(known));
    }
  }
  void text(const char* key, std::string& out) const {
    const auto it = json_.find(key);
    if (it == json_.end()) return;
    if (!it->is_string()) refuse("'" + std::string(key) + "' is " + shown(*it) + "; expected a text");
    out = it->get<std::string>();
  }
  template <class Words>
  void word(const char* key, std::string& out, const Words& words) const {
    text(key, out);
    if (std::find(std::begin(words), std::end(words), out) == std::end(words))
      refuse("'" + std::string(key) + "' is '" + excerpt(out) + "'" + nearest_of(out, words) + "; expected " +
             joined(words));
  }
  void number(const char* key, int64_t& out, int64_t least, int64_t most) const {
    const auto it = json_.find(key);
    if (it == json_.end()) return;
    const auto value = whole_number_in<int64_t>(*it, least, most);
    if (!value)
      refuse("'" + std::string(key) + "' is " + shown(*it) + "; expected a whole number from " + std::to_string(least) +
             " to " + std::to_string(most));
    out = *value;
  }

  void operands(const std::string& product, const char* first, const char* second, Fp8Recipe::Operands& out) const {
    const auto it = json_.find(product);
    if (it == json_.end()) return;
    if (!it->is_object())
      refuse("'" + product + "' is " + shown(*it) + "; expected {\"" + first + "\": FORMAT, \"" + second +
             "\": FORMAT}");
    check_fields(*it, product + ".", {first, second});
    out.first = format(*it, product, first);
    out.second = format(*it, product, second);
  }
  std::string format(const Json& object, const std::string& product, const char* operand) const {
    const auto it = object.find(operand);
    if (it == object.end()) return "";
    const std::string where = "'" + product + "." + operand + "'";
    if (!it->is_string()) refuse(where + " is " + shown(*it) + "; expected a block format, such as \"mxfp8_e4m3\"");
    const auto text = it->get<std::string>();
    if (text.empty()) return "";
    try {
      const block::BlockFormat f = parse_block_format(text);
      const bool needs_scale = f.family == block::BlockFamily::kPlain;
      const auto scaling = json_.find("scaling");
      const bool factors = scaling != json_.end() && scaling->is_string() && scaling->get<std::string>() != "format";
      if (factors != needs_scale && factors)
        refuse(where + ": " + excerpt(text) +
               " has scales of its own; expected a format without, such as e4m3, where "
               "the scaling is " +
               scaling->get<std::string>());
      return block_format_text(f);
    } catch (const std::invalid_argument& e) {
      const std::string what = e.what();
      if (what.starts_with(place_)) throw;
      refuse(where + ": " + what);
    }
  }
  void check_signs() const {
    const std::string& s = r_.hadamard_signs;
    if (s.empty()) return;
    if (s.size() != static_cast<size_t>(r_.hadamard) || s.size() > 64 || s.find_first_not_of("+-") != std::string::npos)
      refuse("'hadamard_signs' is '" + excerpt(s) + "'; expected as many of + and - as 'hadamard', which is " +
             std::to_string(r_.hadamard) + ", and at most 64");
  }

  std::string place_;
  Json json_;
  Fp8Recipe r_;
};

Json operands_json(const Fp8Recipe::Operands& o, const char* first, const char* second) {
  return {{first, o.first}, {second, o.second}};
}

}  // namespace

std::vector<std::string> Fp8Recipe::names() {
  std::vector<std::string> all;
  for (const char* text : kBuiltIn) all.push_back(parse(text).name);
  return all;
}

Fp8Recipe Fp8Recipe::find(std::string_view name_or_path) {
  Nearest nearest(name_or_path);
  std::string all;
  for (const char* text : kBuiltIn) {
    Fp8Recipe recipe = parse(text);
    if (same_word(recipe.name, name_or_path)) return recipe;
    nearest.offer(recipe.name);
    all += (all.empty() ? "" : ", ") + recipe.name;
  }
  if (name_or_path.find_first_of("./") == std::string_view::npos)
    throw std::invalid_argument("there is no recipe '" + excerpt(name_or_path) + "'" + nearest.text() +
                                "; expected a file, or one of " + all);
  return load(std::filesystem::path(std::string(name_or_path)));
}

Fp8Recipe Fp8Recipe::load(const std::filesystem::path& path) {
  return parse(files::read_regular(path, "a recipe of block formats, a JSON file", kMostWrittenBytes), path.string());
}

Fp8Recipe Fp8Recipe::parse(std::string_view text, std::string_view place) {
  return Fp8RecipeReader(text, place).read();
}

std::string Fp8Recipe::to_json() const {
  const Fp8Recipe usual;
  Json j;
  j["name"] = name;
  if (!about.empty()) j["about"] = about;
  j["fprop"] = operands_json(fprop, "input", "weight");
  j["dgrad"] = operands_json(dgrad, "gradient", "weight");
  j["wgrad"] = operands_json(wgrad, "gradient", "input");
  j["scaling"] = kScalings[static_cast<size_t>(scaling)];
  if (hadamard) j["hadamard"] = hadamard;
  if (!hadamard_signs.empty()) j["hadamard_signs"] = hadamard_signs;
  if (scaling == Fp8Scaling::kDelayed || amax_history_len != usual.amax_history_len)
    j["amax_history_len"] = amax_history_len;
  if (scaling == Fp8Scaling::kDelayed || amax_compute_algo != usual.amax_compute_algo)
    j["amax_compute_algo"] = amax_compute_algo;
  if (scaling == Fp8Scaling::kDelayed || margin != usual.margin) j["margin"] = margin;
  if (zero_keeps_history != usual.zero_keeps_history) j["zero_keeps_history"] = zero_keeps_history;
  if (!accumulation.empty()) j["accumulation"] = accumulation;
  if (accumulation == "hopper" || promotion != usual.promotion) j["promotion"] = promotion;
  if (accumulation == "hopper" || promote_every != usual.promote_every) j["promote_every"] = promote_every;
  j["keep_first"] = keep_first;
  j["keep_last"] = keep_last;
  return j.dump(1) + "\n";
}

}  // namespace softamp
