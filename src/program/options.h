// Options that several verbs share, and the checks on their values.
#pragma once

#include "src/program/description/words.h"
#include "src/program/program.h"

#include "softamp/chips/chip_table.h"
#include "softamp/names/names.h"
#include "src/arithmetic/rounding_choice.h"
#include "src/names/name_rows.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

namespace softamp::program {

using Json = nlohmann::ordered_json;

/// An option whose value, shown as `value` in the help, is passed to `take`.
cli::Option add_text(const cli::App& app, const std::string& name, std::function<void(const std::string&)> take,
                     const std::string& description, const std::string& value);

/// An option whose value is a whole number in [least, greatest].
template <typename T>
cli::Option add_whole(const cli::App& app, const std::string& name, T& target, uint64_t least, uint64_t greatest,
                      const std::string& description) {
  return add_text(
      app, name,
      [&target, name, least, greatest](const std::string& text) {
        target = static_cast<T>(parse_whole(name, text, least, greatest));
      },
      description, "N");
}

/// An option whose value is a word that `parse` understands, one of `words`; `parse` throws UnknownName.
template <typename T, typename Parse, typename OfferedWords>
cli::Option add_word(const cli::App& app, const std::string& name, T& target, Parse parse, const OfferedWords& words,
                     const std::string& description) {
  cli::Option option = add_text(
      app, name,
      [&target, name, parse](const std::string& text) {
        try {
          target = parse(text);
        } catch (const UnknownName& e) {
          throw UsageError(name + ": " + e.what());
        }
      },
      description, "WORD");
  offer(app, name, words);
  return option;
}
template <typename T, typename Parse>
cli::Option add_word(const cli::App& app, const std::string& name, T& target, Parse parse,
                     const std::string& description) {
  return add_word(app, name, target, parse, names_of_all<T>, description);
}
/// The same for a word of a list, which is kept as the list spells it. `what`: what the word names.
inline cli::Option add_word(const cli::App& app, const std::string& name, std::string& target, const char* what,
                            const Words& words, const std::string& description) {
  return add_word(
      app, name, target,
      [what, words](const std::string& word) { return name_rows::word_from_name(what, words, word); }, words,
      description);
}
/// The same for a name of one of the rows.
template <typename T, typename Value, size_t n>
cli::Option add_word(const cli::App& app, const std::string& name, T& target, const char* what,
                     const name_rows::Row<Value> (&rows)[n], const std::string& description) {
  Words words;
  for (const auto& row : rows) words.emplace_back(row.names.front());
  return add_word(
      app, name, target,
      [what, &rows](const std::string& word) { return name_rows::value_from_name(what, rows, word); }, words,
      description);
}

/// The values of the options about rounding, and the seed of their random bits [=0].
struct RoundingOptions : detail::RoundingChoice {
  RoundingOptions() { dashes = "--"; }

  uint64_t seed = 0;

  /// The object must outlive the parsing of `app`.
  void add_rounding(const cli::App& app);  ///< --rounding
  void add_bits(const cli::App& app);      ///< --bits, --variant
  void add_seed(const cli::App& app);      ///< --seed
  void add_engine(const cli::App& app);    ///< --random
  void add_overflow(const cli::App& app);  ///< --overflow
  void add_preset(const cli::App& app);    ///< --preset
  void add_chip(const cli::App& app);      ///< --chip; after the others
  void add_cast(const cli::App& app);      ///< --cast; after --chip

  /// As RoundingChoice has them; they throw UsageError.
  Semantics semantics() const;
  Semantics semantics(const FloatFormat& f) const;
  RoundingPolicy policy(const FloatFormat& f) const;

  /// The settings that the result depends on, in a fixed order.
  Json settings(const FloatFormat& f) const;
  /// The same for people: "fp16, rounding stochastic (carry, 13 bits, philox, seed 0), overflow infinity, preset ieee".
  std::string description(const FloatFormat& f, const std::string& random_bits = "") const;
};

/// Adds --format to a verb that computes in the format; binary64 is refused, because it is for conversions only.
cli::Option add_compute_format(const cli::App& app, FloatFormat& target, const std::string& description);

/// Prints one JSON document to standard output, with its provenance at the end.
void print_json(Json document);

}  // namespace softamp::program
