#include "src/program/description/words.h"

#include "softamp/chips/chip_table.h"
#include "softamp/numerics/convert.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace softamp::program {
namespace {

/// An option of CLI11 has no room for it. The process has one command line, so one table is enough.
std::map<const CLI::Option*, std::function<Words()>>& table() {
  static std::map<const CLI::Option*, std::function<Words()>> words;
  return words;
}

/// Enumerators count from 0; name_of throws after the last.
template <typename Enum>
Words names_of_enumerators() {
  Words names;
  try {
    for (int i = 0;; ++i) names.push_back(name_of(static_cast<Enum>(i)));
  } catch (const std::logic_error&) {
    return names;
  }
}

}  // namespace

void offer(const cli::App& app, const std::string& option, std::function<Words()> words) {
  table()[app.option(option).get()] = std::move(words);
}

void offer(const cli::App& app, const std::string& option, const Words& words) {
  offer(app, option, [words] { return words; });
}

Words offered(const cli::Option& option) {
  const auto found = table().find(option.get());
  return found == table().end() ? Words{} : found->second();
}

template <>
Words names_of_all<RoundingMode>() {
  return names_of_enumerators<RoundingMode>();
}
template <>
Words names_of_all<StochasticVariant>() {
  return names_of_enumerators<StochasticVariant>();
}
template <>
Words names_of_all<Overflow>() {
  return names_of_enumerators<Overflow>();
}
template <>
Words names_of_all<CastProfile>() {
  Words names;
  for (int i = 0; i < kCastProfiles; ++i) names.emplace_back(name_of(static_cast<CastProfile>(i)));
  return names;
}
template <>
Words names_of_all<Tininess>() {
  return names_of_enumerators<Tininess>();
}
template <>
Words names_of_all<RandomEngine>() {
  return names_of_enumerators<RandomEngine>();
}
template <>
Words names_of_all<Preset>() {
  return names_of_enumerators<Preset>();
}
template <>
Words names_of_all<FloatFormat>() {
  Words names;
  for (const NamedFormat& format : named_formats()) names.push_back(format.names.front());
  return names;
}
template <>
Words names_of_all<Chip>() {
  Words names;
  for (const ChipFacts& chip : chip_facts()) names.push_back(chip.name);
  return names;
}

Words names_of_compute_formats() {
  Words names = names_of_all<FloatFormat>();
  std::erase(names, format_name(kBinary64));
  return names;
}

}  // namespace softamp::program
