#include "src/program/format_choice.h"

#include "softamp/names/block_format_names.h"
#include "src/numbers/dyadic.h"
#include "src/program/usage.h"
#include "src/text/lower_case.h"
#include "src/text/word.h"

#include <algorithm>

namespace softamp::program {
namespace {

constexpr const char* kOthers[] = {"e8m0", "Binary8p4se"};  ///< words of the other kinds
constexpr const char* kE8m0Names[] = {"e8m0", "float8_e8m0fnu", "ue8m0"};
constexpr const char* kP3109Form =
    "Binary<K>p<P><s|u><e|f>, K 3..16, P 1..K-1 signed (s), 1..K unsigned (u), e with infinities, f without: "
    "Binary8p4se";

/// Words that mean to be a name of P3109's, whatever is wrong with them: binary8..., but not binary16, p3109_...
bool looks_like_p3109(const std::string& name) {
  return name.starts_with("p3109") || (name.starts_with("binary") && name.find('p') != std::string::npos);
}

/// The name in "mxfp4:scale_rule=rceil".
std::string_view first_word(std::string_view text) { return text.substr(0, text.find(':')); }

/// Names of the formats that have blocks, all spellings.
const std::vector<std::string>& block_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all;
    for (const NamedBlockFormat& f : named_block_formats())
      if (f.format.family != block::BlockFamily::kPlain) all.insert(all.end(), f.names.begin(), f.names.end());
    return all;
  }();
  return words;
}

/// For the message about a word that names nothing.
std::vector<std::string> all_names() {
  std::vector<std::string> all;
  const auto add = [&all](const std::vector<std::string>& names) {
    std::string text = names.front();
    for (size_t i = 1; i < names.size(); ++i) text += (i > 1 ? ", " : " (") + names[i];
    all.push_back(text + (names.size() > 1 ? ")" : ""));
  };
  for (const NamedFormat& f : named_formats()) add(f.names);
  for (const char* other : kOthers) all.emplace_back(other);
  for (const NamedBlockFormat& f : named_block_formats())
    if (f.format.family != block::BlockFamily::kPlain) all.push_back(f.names.front());
  return all;
}

}  // namespace

FormatChoice format_choice_from_name(const std::string& name) {
  const std::string low = lower_case(name);
  FormatChoice choice;
  choice.p3109 = p3109::format_from_name(low);
  if (choice.p3109) return choice;
  if (looks_like_p3109(low)) throw UsageError("--format: '" + name + "': expected " + kP3109Form);
  choice.e8m0 = find_word(kE8m0Names, low) != nullptr;
  if (choice.e8m0) return choice;
  if (find_word(block_words(), first_word(low))) {
    choice.blocks = name;
    return choice;
  }
  try {
    choice.number = format_from_name(name);
  } catch (const UnknownName& e) {
    if (!std::string(e.what()).starts_with("unknown")) throw;  // e9p3, whose numbers it names
    throw UnknownName(unknown_name_message("format", name, all_names()) +
                      ", or e<E>p<P> (E exponent bits, precision P): e5p11, or Binary<K>p<P><s|u><e|f>: Binary8p4se");
  }
  return choice;
}

std::string p3109_name(const p3109::Format& f) {
  return "Binary" + std::to_string(f.width) + "p" + std::to_string(f.precision) + (f.has_sign ? "s" : "u") +
         (f.extended ? "e" : "f");
}

Words words_of_format_choice() {
  Words words = names_of_all<FloatFormat>();
  for (const char* other : kOthers) words.emplace_back(other);
  for (const NamedBlockFormat& f : named_block_formats())
    if (f.format.family != block::BlockFamily::kPlain) words.push_back(f.names.front());
  return words;
}

cli::Option add_format_choice(const cli::App& app, FormatChoice& target, const std::string& description) {
  cli::Option option = app.add_option_function(
      "--format",
      [&target](const std::string& name) {
        try {
          target = format_choice_from_name(name);
        } catch (const UnknownName& e) {
          throw UsageError(std::string("--format: ") + e.what());
        }
      },
      description);
  offer(app, "--format", words_of_format_choice);
  return option.type_name("WORD");
}

std::string value_text(const p3109::Format& f, uint64_t code) {
  if (f.is_nan(code)) return "nan";
  const bool negative = (code & f.sign_mask()) != 0;
  if (f.is_infinity(code)) return negative ? "-inf" : "inf";
  const Exact x = p3109::exact(f, code);
  if (x.significand == 0) return "0";
  if (x.exponent >= -40 && x.exponent <= 60) {
    detail::Dyadic value{x.significand, x.exponent};
    if (negative) value.number = -value.number;
    return value.decimal();
  }
  return std::string(negative ? "-" : "") + std::to_string(x.significand) + " * 2^" + std::to_string(x.exponent);
}

}  // namespace softamp::program
