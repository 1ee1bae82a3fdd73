#include "src/program/inspect/block_inspection.h"

#include "softamp/names/block_format_names.h"
#include "softamp/numbers/number_text.h"
#include "src/numbers/decimal_text.h"
#include "src/text/columns.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <ostream>

namespace softamp::program {
namespace {

using block::BlockFamily;
using block::BlockFormat;

std::string fp32_decimal(uint32_t code) { return shortest_decimal(kFp32, code); }
std::string block_code_text(const BlockFormat& f, uint32_t code) {
  return code_text(f.element.integer ? kE4m3 : f.element.format, code);
}
std::string block_element_name(const BlockFormat& f) {
  return f.element.integer ? "int8" : format_name(f.element.format);
}

/// The value of a scale as fp32: the power of two, NVFP4's e4m3, or FP8's decode scale.
uint32_t block_scale_value(const BlockFormat& f, const block::BlockScale& s) {
  if (f.family == BlockFamily::kMx) return e8m0::fp32_code(s.bits);
  if (f.family == BlockFamily::kFp8) return s.bits;
  return block::detail32::widened(kE4m3, s.bits & 0x7F);
}
/// "0x7e = 0.5", "2^-1" beside it where it is a power of two.
std::string block_scale_text(const BlockFormat& f, const block::BlockScale& s) {
  const uint32_t value = block_scale_value(f, s);
  std::string text = code_text(f.family == BlockFamily::kFp8 ? kFp32 : kE4m3, s.bits) + " = " + fp32_decimal(value);
  if (f.family == BlockFamily::kMx && s.bits != e8m0::kNan)
    text += " = 2^" + std::to_string(static_cast<int>(s.bits) - 127);
  return text;
}

std::string block_error_text(const BlockInspection& b, const BlockElement& e, size_t i) {
  const double x = __builtin_bit_cast(float, b.x[i]), v = __builtin_bit_cast(float, e.value);
  if (!std::isfinite(x) || !std::isfinite(v)) return "-";
  return significant_digits(v - x, 6);
}
const char* block_loss(const BlockElement& e) { return e.saturated ? "saturated" : e.zeroed ? "zeroed" : ""; }

double block_root_mean_square(const BlockInspection& b, const BlockOutcome& o) {
  return b.x.empty() ? 0 : std::sqrt(o.squares / static_cast<double>(b.x.size()));
}

}  // namespace

void print_block(const BlockInspection& b, std::ostream& out) {
  const BlockFormat& f = b.format;
  const BlockOutcome o = block_outcome(b, f);
  out << b.source << " in " << block_format_text(f) << ", elements " << block_element_name(f) << ", rounding "
      << name_of(f.rounding().mode) << "\n\n"
      << "greatest     " << fp32_decimal(block_amax(b)) << " (" << code_text(kFp32, block_amax(b)) << ")\n";
  if (f.family == BlockFamily::kNvfp4) {
    const block::Nvfp4Tensor t = block::nvfp4_tensor(b.tensor_amax, f.nvfp4);
    out << "tensor       greatest " << fp32_decimal(t.amax) << " (" << code_text(kFp32, t.amax) << "), encode scale "
        << fp32_decimal(t.encode) << ", decode scale " << fp32_decimal(t.decode) << '\n';
  }
  if (f.scale_bytes() != 0) out << "scale        " << block_scale_text(f, o.scale) << ", by " << rule_name(f) << '\n';
  out << '\n';
  std::vector<std::vector<std::string>> rows = {{"element", "x", "code", "value", "error", "lost"}};
  for (size_t i = 0; i < b.x.size(); ++i) {
    const BlockElement& e = o.elements[i];
    rows.push_back({std::to_string(b.index[i]), fp32_decimal(b.x[i]), block_code_text(f, e.code), fp32_decimal(e.value),
                    block_error_text(b, e, i), block_loss(e)});
  }
  out << in_columns(rows);
  out << "\nlost: " << o.saturated << " saturated, " << o.zeroed << " zeroed, of " << b.x.size()
      << "; root mean square error " << significant_digits(block_root_mean_square(b, o), 6) << '\n';
  const auto all = formats_by_rule(f);
  if (all.empty()) return;
  out << "\nEvery rule for the scale\n";
  rows = {{"rule", "scale", "saturated", "zeroed", "root mean square error"}};
  for (const auto& [name, other] : all) {
    const BlockOutcome r = block_outcome(b, other);
    rows.push_back({name, block_scale_text(other, r.scale), std::to_string(r.saturated), std::to_string(r.zeroed),
                    significant_digits(block_root_mean_square(b, r), 6)});
  }
  out << in_columns(rows);
}

Json block_json(const BlockInspection& b) {
  const BlockFormat& f = b.format;
  const auto summary = [&b](const BlockFormat& format, const BlockOutcome& o) {
    Json json;
    if (format.scale_bytes() != 0) {
      json["scale"] = code_text(format.family == BlockFamily::kFp8 ? kFp32 : kE4m3, o.scale.bits);
      json["scale_value"] = value_of(kFp32, block_scale_value(format, o.scale));
    }
    json["saturated"] = o.saturated;
    json["zeroed"] = o.zeroed;
    json["root_mean_square_error"] = block_root_mean_square(b, o);
    return json;
  };
  const BlockOutcome o = block_outcome(b, f);
  Json json;
  json["verb"] = "inspect";
  json["input"] = b.source;
  json["format"] = block_format_text(f);
  json["element"] = block_element_name(f);
  json["amax"] = value_of(kFp32, block_amax(b));
  json["amax_code"] = code_text(kFp32, block_amax(b));
  if (f.family == BlockFamily::kNvfp4) json["tensor_amax_code"] = code_text(kFp32, b.tensor_amax);
  if (f.scale_bytes() != 0) json["rule"] = rule_name(f);
  json.update(summary(f, o));
  json["elements"] = Json::array();
  for (size_t i = 0; i < b.x.size(); ++i) {
    const BlockElement& e = o.elements[i];
    Json element = {{"index", b.index[i]},
                    {"x", value_of(kFp32, b.x[i])},
                    {"code", block_code_text(f, e.code)},
                    {"value", value_of(kFp32, e.value)},
                    {"saturated", e.saturated},
                    {"zeroed", e.zeroed}};
    json["elements"].push_back(std::move(element));
  }
  for (const auto& [name, other] : formats_by_rule(f)) json["rules"][name] = summary(other, block_outcome(b, other));
  return json;
}

}  // namespace softamp::program
