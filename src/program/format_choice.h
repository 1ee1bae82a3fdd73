// What --format may name where arrays are rounded and numbers looked at: a format of numbers, one of P3109's, E8M0, or
// a format of blocks.
#pragma once

#include "src/program/description/words.h"

#include "softamp/numerics/p3109.h"

#include <optional>
#include <string>

namespace softamp::program {

/// One of the four kinds.
struct FormatChoice {
  FloatFormat number = kFp16;
  std::optional<p3109::Format> p3109;
  bool e8m0 = false;
  std::string blocks;  ///< a format of blocks, as typed; the verb adds its options before it is parsed

  bool is_number() const { return !p3109 && !e8m0 && blocks.empty(); }
};

/// Reads --format. Throws UnknownName, with all the names there are.
FormatChoice format_choice_from_name(const std::string& name);

/// "Binary8p4se".
std::string p3109_name(const p3109::Format& format);

/// The first names of every kind.
Words words_of_format_choice();

/// Adds --format, and offers the words of every kind.
cli::Option add_format_choice(const cli::App& app, FormatChoice& target, const std::string& description);

/// A value of P3109's as text: to the last digit where it has at most 40, else with an exponent.
std::string value_text(const p3109::Format& format, uint64_t code);

}  // namespace softamp::program
