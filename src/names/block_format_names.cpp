#include "softamp/names/block_format_names.h"

#include <charconv>

#include "softamp/names/names.h"

#include "src/names/idle.h"
#include "src/names/name_rows.h"
#include "src/text/comma_list.h"
#include "src/text/word.h"

namespace softamp {
namespace {

using block::BlockFamily;
using block::BlockFormat;
using block::FourOverSix;
using block::Fp8Rule;
using block::Nvfp4Rule;
using block::ScaleRule;
using name_rows::name_from_value;
using name_rows::Row;
using name_rows::value_from_name;

constexpr Row<ScaleRule> kScaleRules[] = {
    {ScaleRule::kFloor, {"floor"}},
    {ScaleRule::kCeil, {"ceil"}},
    {ScaleRule::kEven, {"even"}},
    {ScaleRule::kRceil, {"rceil"}},
    {ScaleRule::kMicroxcaling, {"microxcaling"}},
};
constexpr Row<Nvfp4Rule> kNvfp4Rules[] = {
    {Nvfp4Rule::kTransformerEngine, {"transformer_engine", "te"}},
    {Nvfp4Rule::kTorchao, {"torchao"}},
    {Nvfp4Rule::kOneLevel, {"one_level"}},
};
constexpr Row<Fp8Rule> kFp8Rules[] = {
    {Fp8Rule::kTransformerEngine, {"transformer_engine", "te"}},
    {Fp8Rule::kDeepSeek, {"deepseek"}},
    {Fp8Rule::kDeepGemm, {"deepgemm"}},
};
constexpr Row<FourOverSix> kFourOverSix[] = {
    {FourOverSix::kNone, {"none"}}, {FourOverSix::kMae, {"mae"}}, {FourOverSix::kMse, {"mse"}}};
constexpr Row<bool> kTruths[] = {{true, {"true", "on", "1"}}, {false, {"false", "off", "0"}}};
constexpr Row<bool> kNans[] = {{true, {"poison"}}, {false, {"skip"}}};
constexpr Row<bool> kInfinities[] = {{false, {"nan"}}, {true, {"saturate"}}};
constexpr int kMostElements = 1 << 20;

int number(std::string_view option, std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    throw std::invalid_argument("'" + std::string(text) + "'; expected a whole number from " + std::to_string(least) +
                                " to " + std::to_string(most) + " for " + std::string(option));
  return value;
}

bool has_blocks(const BlockFormat& f) { return f.size != 0; }
bool always(const BlockFormat&) { return true; }
bool is_mx(const BlockFormat& f) { return f.family == BlockFamily::kMx; }
bool is_rceil(const BlockFormat& f) { return is_mx(f) && f.mx.scale == block::ScaleRule::kRceil; }
bool is_fp8(const BlockFormat& f) { return f.family == BlockFamily::kFp8; }
bool has_bound(const BlockFormat& f) {
  return f.family == BlockFamily::kNvfp4 && f.nvfp4.rule == Nvfp4Rule::kTransformerEngine;
}
bool has_scale(const BlockFormat& f) { return f.family != BlockFamily::kPlain; }
bool is_stochastic(const BlockFormat& f) { return f.rounding().stochastic(); }

std::string scale_rule_text(const BlockFormat& f) {
  switch (f.family) {
    case BlockFamily::kNvfp4: return name_of(f.nvfp4.rule);
    case BlockFamily::kFp8: return name_of(f.fp8.rule);
    default: return name_of(f.mx.scale);
  }
}
void set_scale_rule(BlockFormat& f, std::string_view v) {
  switch (f.family) {
    case BlockFamily::kNvfp4: f.nvfp4.rule = nvfp4_rule_from_name(v); break;
    case BlockFamily::kFp8: f.fp8.rule = fp8_rule_from_name(v); break;
    default: f.mx.scale = scale_rule_from_name(v); break;
  }
}

/// One option: who has it, how it is read and written.
struct Option {
  std::string_view name;
  bool (*belongs)(const BlockFormat&);
  void (*set)(BlockFormat&, std::string_view);
  std::string (*text)(const BlockFormat&);
};

constexpr Option kOptions[] = {
    {"scale_rule", has_scale, set_scale_rule, scale_rule_text},
    {"block", has_blocks, [](BlockFormat& f, std::string_view v) { f.size = number("block", v, 1, kMostElements); },
     [](const BlockFormat& f) { return std::to_string(f.size); }},
    {"rows", has_blocks, [](BlockFormat& f, std::string_view v) { f.rows = number("rows", v, 1, kMostElements); },
     [](const BlockFormat& f) { return std::to_string(f.rows); }},
    {"rounding", always, [](BlockFormat& f, std::string_view v) { f.rounding().mode = rounding_from_name(v); },
     [](const BlockFormat& f) { return name_of(f.rounding().mode); }},
    {"variant", is_stochastic, [](BlockFormat& f, std::string_view v) { f.rounding().variant = variant_from_name(v); },
     [](const BlockFormat& f) { return name_of(f.rounding().variant); }},
    {"bits", is_stochastic,
     [](BlockFormat& f, std::string_view v) { f.rounding().random_bits = number("bits", v, 1, 32); },
     [](const BlockFormat& f) { return std::to_string(f.rounding().random_bits); }},
    {"nan", has_scale,
     [](BlockFormat& f, std::string_view v) {
       const bool poisons = value_from_name("treatment of NaN", kNans, v);
       f.mx.nan_poisons_block = f.nvfp4.nan_poisons_block = f.fp8.nan_poisons_block = poisons;
     },
     [](const BlockFormat& f) { return name_from_value(kNans, f.nan_poisons_block()); }},
    {"infinity", is_rceil,
     [](BlockFormat& f, std::string_view v) {
       f.mx.infinity_saturates = value_from_name("treatment of infinities", kInfinities, v);
     },
     [](const BlockFormat& f) { return name_from_value(kInfinities, f.mx.infinity_saturates); }},
    {"three_quarters", is_mx,
     [](BlockFormat& f, std::string_view v) { f.mx.three_quarters = value_from_name("truth", kTruths, v); },
     [](const BlockFormat& f) { return name_from_value(kTruths, f.mx.three_quarters); }},
    {"4over6", has_bound,
     [](BlockFormat& f, std::string_view v) {
       f.nvfp4.four_over_six = value_from_name("way to choose a scale", kFourOverSix, v);
     },
     [](const BlockFormat& f) { return name_from_value(kFourOverSix, f.nvfp4.four_over_six); }},
    {"e4m3_max", has_bound,
     [](BlockFormat& f, std::string_view v) {
       f.nvfp4.e4m3_max = number("e4m3_max", v, 256, 448);
       if (f.nvfp4.e4m3_max != 256 && f.nvfp4.e4m3_max != 448)
         throw std::invalid_argument("'" + std::string(v) + "'; expected 256 or 448 for e4m3_max");
     },
     [](const BlockFormat& f) { return std::to_string(f.nvfp4.largest_scale()); }},
    {"powers_of_two", is_fp8,
     [](BlockFormat& f, std::string_view v) { f.fp8.powers_of_two = value_from_name("truth", kTruths, v); },
     [](const BlockFormat& f) { return name_from_value(kTruths, f.fp8.powers_of_two); }},
};

std::vector<NamedBlockFormat> all_formats() {
  std::vector<NamedBlockFormat> all;
  const auto mx = [&](const block::Element& e, std::vector<std::string> names, const std::string& element) {
    all.push_back({BlockFormat::of_mx(e), std::move(names), element + ", 32 to a power of two; OCP MX"});
  };
  mx(block::Element(kE4m3), {"mxfp8_e4m3", "mxfp8"}, "e4m3");
  mx(block::Element(kE5m2), {"mxfp8_e5m2"}, "e5m2");
  mx(block::Element(kE3m2), {"mxfp6_e3m2"}, "e3m2");
  mx(block::Element(kE2m3), {"mxfp6_e2m3"}, "e2m3");
  mx(block::Element(kE2m1), {"mxfp4", "mxfp4_e2m1"}, "e2m1");
  mx(block::Element::int8(), {"mxint8"}, "whole numbers of 8 bits");
  all.push_back({BlockFormat::of_nvfp4(), {"nvfp4"}, "e2m1, 16 to an e4m3, one fp32 for the array; NVIDIA"});
  all.push_back({BlockFormat::of_nvfp4(16), {"nvfp4_16x16"}, "the same, 16x16 to an e4m3, as for weights"});
  for (const auto& row : {std::pair{kE4m3, "e4m3"}, {kE5m2, "e5m2"}}) {
    const FloatFormat format = row.first;  // clang before 16 captures no structured binding
    const char* name = row.second;
    const auto fp8 = [&](int rows, int size, const std::string& extent, const std::string& about) {
      const std::string ours = std::string(name) + "_" + extent;
      all.push_back({BlockFormat::of_fp8(format, rows, size), {ours, "fp8_" + ours}, std::string(name) + about});
    };
    fp8(0, 0, "tensor", ", an fp32 for the array; TransformerEngine, torchao");
    fp8(1, 0, "row", ", an fp32 for each row; torchao");
    fp8(1, 128, "1x128", ", 128 to an fp32; DeepSeek-V3, TransformerEngine");
    fp8(128, 128, "128x128", ", 128x128 to an fp32, as for weights; DeepSeek-V3, TransformerEngine");
  }
  for (const NamedFormat& f : named_formats())
    if (f.format.storage_bits() <= 8)
      all.push_back({BlockFormat::of_plain(block::Element(f.format)), f.names, "no scale, saturating; " + f.origin});
  return all;
}

bool same_element(const block::Element& a, const block::Element& b) {
  return a.integer == b.integer && (a.integer || a.format == b.format);
}

}  // namespace

const std::vector<NamedBlockFormat>& named_block_formats() {
  static const std::vector<NamedBlockFormat> all = all_formats();
  return all;
}

block::BlockFormat parse_block_format(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const NamedBlockFormat* found = nullptr;
  std::vector<std::string> known;
  for (const NamedBlockFormat& f : named_block_formats()) {
    known.push_back(f.names.front());
    for (const std::string& n : f.names)
      if (!found && same_word(n, name)) found = &f;
  }
  if (!found) throw UnknownName(unknown_name_message("block format", name, known));
  BlockFormat format = found->format;
  if (colon == std::string_view::npos) return format;
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("block format '" + std::string(text) + "': " + why);
  };
  // Two rounds, so that an option that another one makes possible may stand before it.
  std::vector<std::pair<const Option*, std::string>> given;
  for (const std::string& part : split_at_commas(text.substr(colon + 1))) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) refuse("'" + part + "'; expected OPTION=VALUE");
    const std::string key = part.substr(0, equals);
    const Option* option = nullptr;
    for (const Option& o : kOptions)
      if (same_word(o.name, key)) option = &o;
    if (!option) {
      std::vector<std::string> names;
      for (const Option& o : kOptions) names.emplace_back(o.name);
      throw UnknownName(unknown_name_message("option of a block format", key, names));
    }
    for (const auto& [earlier, value] : given)
      if (earlier == option) refuse(key + " is given twice");
    given.emplace_back(option, part.substr(equals + 1));
    const bool first = option->name == "rounding" || option->name == "scale_rule";
    if (first && option->belongs(format)) option->set(format, given.back().second);
  }
  for (const auto& [option, value] : given) {
    if (!option->belongs(format)) {
      if (option->belongs == is_stochastic)
        refuse(detail::idle_message(std::string(option->name), "no rounding is stochastic", "rounding=stochastic"));
      refuse(std::string(option->name) + (option->belongs == is_rceil && is_mx(format)
                                              ? " belongs to scale_rule=rceil"
                                              : " is no option of " + found->names.front()));
    }
    option->set(format, value);
  }
  if (format.chooses_scale() && format.rounding().stochastic())
    refuse("4over6 compares errors, which a stochastic rounding makes random; expected another rounding");
  return format;
}

std::string block_format_text(const block::BlockFormat& format) {
  const NamedBlockFormat* nearest = nullptr;
  for (const NamedBlockFormat& f : named_block_formats()) {
    if (f.format.family != format.family || !same_element(f.format.element, format.element)) continue;
    if (has_blocks(f.format) != has_blocks(format)) continue;
    const bool same = f.format.size == format.size && f.format.rows == format.rows;
    if (!has_blocks(format) && !same) continue;
    if (!nearest || same) nearest = &f;
  }
  if (!nearest) throw std::invalid_argument("a block format without a name");
  std::string text = nearest->names.front();
  char separator = ':';
  for (const Option& o : kOptions) {
    if (!o.belongs(format)) continue;
    const std::string value = o.text(format);
    BlockFormat base = nearest->format;
    base.nvfp4.four_over_six = o.name == "e4m3_max" ? format.nvfp4.four_over_six : base.nvfp4.four_over_six;
    if (o.belongs == is_stochastic) base.rounding().mode = RoundingMode::kStochastic;
    if (value == o.text(base)) continue;
    text += separator + std::string(o.name) + "=" + value;
    separator = ',';
  }
  return text;
}

block::ScaleRule scale_rule_from_name(std::string_view name) {
  return value_from_name("scale rule", kScaleRules, name);
}
block::Nvfp4Rule nvfp4_rule_from_name(std::string_view name) {
  return value_from_name("scale rule of NVFP4", kNvfp4Rules, name);
}
block::Fp8Rule fp8_rule_from_name(std::string_view name) {
  return value_from_name("scale rule of FP8", kFp8Rules, name);
}
std::string name_of(block::ScaleRule rule) { return name_from_value(kScaleRules, rule); }
std::string name_of(block::Nvfp4Rule rule) { return name_from_value(kNvfp4Rules, rule); }
std::string name_of(block::Fp8Rule rule) { return name_from_value(kFp8Rules, rule); }

}  // namespace softamp
