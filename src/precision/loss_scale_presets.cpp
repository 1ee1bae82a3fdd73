// The table of loss-scale presets: one row per system. A field that a row does not set has its default.
//
// Where the numbers come from (N250 to N254): Graphcore's tutorial on half precision and its
// TensorFlow 1 optimizer for automatic loss scaling, SDK 2.5; TensorFlow r2.3, Keras 2.4, MindSpore r1.5; PyTorch's
// GradScaler; apex's amp.
#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"
#include "softamp/precision/loss_scale.h"
#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/word.h"

namespace softamp {
namespace {

using enum Unscale;

constexpr double kLargest = 0x1.fffffep127;
/// The largest float32 number below 2^15: Graphcore's scale has to stay less than its maximum, 32768.
constexpr double kBelow32768 = 0x1.fffffep14;

const std::vector<LossScaleOptions>& table() {
  static const std::vector<LossScaleOptions> rows = {
      {.name = "none", .skip_overflowed = false},
      {.name = "fixed", .initial = 256, .skip_overflowed = false},
      {.name = "graphcore_automatic",
       .dynamic = true,
       .window = 8,
       .min = 1,
       .max = kBelow32768,
       .clamp_at_max = false,
       .skip_overflowed = false,
       .histogram = true,
       .histogram_edge = 65504,
       .histogram_threshold = 1e-5},
      {.name = "tensorflow",
       .dynamic = true,
       .initial = 0x1p15,
       .min = 1,
       .clamp_at_max = false,
       .unscale = kReciprocal},
      {.name = "keras",
       .dynamic = true,
       .initial = 0x1p15,
       .min = 1,
       .clamp_at_max = false,
       .count_skipped_steps = true,
       .unscale = kReciprocal},
      // Without the cap the scale would become infinite and stay so; here it stops at the largest number.
      {.name = "mindspore",
       .dynamic = true,
       .initial = 0x1p24,
       .min = 1,
       .max = kLargest,
       .clamp_at_max = true,
       .max_consecutive = 1000,
       .unscale = kReciprocalInGradientDtype},
      {.name = "mindspore_fixed", .initial = 128, .unscale = kReciprocalInGradientDtype},
      {.name = "torch", .dynamic = true, .initial = 0x1p16, .clamp_at_max = false, .unscale = kReciprocal},
      {.name = "apex", .dynamic = true, .initial = 0x1p16, .max = 0x1p24, .clamp_at_max = true, .unscale = kReciprocal},
  };
  return rows;
}

const LossScaleOptions& row(std::string_view name) {
  for (const LossScaleOptions& r : table())
    if (r.name == name) return r;
  throw std::logic_error("loss scale table: no row " + std::string(name));
}

/// "2^15", or a number as number_text.h reads it; false for another text.
bool read_number(const std::string& text, double& value) {
  const size_t power = text.find('^');
  const std::string base = text.substr(0, power);
  const ParsedNumber number = parse_number(base);
  if (number.kind != ParsedNumber::Kind::kFinite) return false;
  value = value_of(kBinary64, round_and_pack(kBinary64, number.value, RoundingPolicy{}).code);
  if (power == std::string::npos) return true;
  const bool inverse = text[power + 1] == '-';
  const std::string digits = text.substr(power + 1 + inverse);
  if (digits.empty() || digits.size() > 3 || digits.find_first_not_of("0123456789") != std::string::npos) return false;
  const double factor = value;
  value = 1;
  for (int n = std::stoi(digits); n > 0; --n) value *= factor;
  if (inverse) value = 1 / value;
  return true;
}

}  // namespace

LossScaleOptions LossScaleOptions::none() { return row("none"); }
// implements: N253
LossScaleOptions LossScaleOptions::graphcore_automatic() { return row("graphcore_automatic"); }
// implements: N251
LossScaleOptions LossScaleOptions::tensorflow() { return row("tensorflow"); }
// implements: N251
LossScaleOptions LossScaleOptions::keras() { return row("keras"); }
// implements: N251
LossScaleOptions LossScaleOptions::mindspore() { return row("mindspore"); }
// implements: N251
LossScaleOptions LossScaleOptions::torch() { return row("torch"); }
// implements: N251
LossScaleOptions LossScaleOptions::apex() { return row("apex"); }

LossScaleOptions LossScaleOptions::own(std::shared_ptr<const LossScaleRule> rule, double initial, std::string name) {
  LossScaleOptions o = row("tensorflow");
  o.name = std::move(name);
  o.initial = initial;
  o.min = 0x1p-149;
  o.rule = std::move(rule);
  if (!o.rule) throw std::invalid_argument("loss scale '" + o.name + "': rule is null; expected a LossScaleRule");
  o.validate();
  return o;
}

LossScaleOptions LossScaleOptions::fixed(double scale) {
  LossScaleOptions o = row("fixed");
  o.initial = scale;
  o.validate();
  return o;
}

LossScaleOptions LossScaleOptions::mindspore_fixed(double scale, bool drop_overflow_update) {
  LossScaleOptions o = row("mindspore_fixed");
  o.initial = scale;
  o.skip_overflowed = drop_overflow_update;
  o.validate();
  return o;
}

std::vector<std::string> LossScaleOptions::preset_names() {
  std::vector<std::string> names;
  for (const LossScaleOptions& r : table()) {
    names.push_back(r.name);
    if (r.name == "tensorflow") names.emplace_back("dynamic");
  }
  return names;
}

LossScaleOptions LossScaleOptions::parse(std::string_view text) {
  const engine::DefaultEnvironment guard;
  std::string word(text.substr(0, 200));
  double number = 0;
  if (read_number(word, number)) return fixed(number);
  if (same_word(word, "dynamic")) word = "tensorflow";
  if (const LossScaleOptions* const row = find_word(table(), word, &LossScaleOptions::name)) return *row;

  const std::vector<std::string> known = preset_names();
  throw std::invalid_argument("Could not interpret loss scale identifier: " + files::excerpt(text) +
                              graph_detail::nearest_of(text, known) +
                              "; expected a positive number (256, 2^15, 0.125) or one of: " + joined(known, " "));
}

}  // namespace softamp
