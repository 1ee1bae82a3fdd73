#include "src/program/idle_options.h"

#include <algorithm>

#include "src/program/usage.h"

namespace softamp::program {
namespace {

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string name_and_value(const cli::Option& option) {
  const bool one_value = option.count() == 1 && !option.type_name().empty();
  return option.name() + (one_value ? ": '" + option.text() + "'" : std::string());
}

std::string option_name(std::string_view key) {
  std::string name = "--" + std::string(key);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

cli::Option asked_option(const cli::App& app, std::string_view key) {
  const cli::Option option = app.find_option(option_name(key));
  return option && option.count() > 0 ? option : cli::Option(nullptr);
}

void refuse_idle_random(const cli::App& app, std::span<const detail::RandomUse> cases, const RandomOptions& how) {
  const auto asked = [&](std::string_view key) {
    const cli::Option option = asked_option(app, key);
    return !option || contains(how.used_otherwise, key) ? std::string() : option.name();
  };
  if (const auto message = detail::idle_random_setting({asked, how.stochastic, how.words}, cases))
    throw UsageError(*message);
}

void refuse_idle(const cli::App& app, const std::string& option, const std::string& why, const std::string& expected) {
  if (const cli::Option given = app.option(option); given.count() > 0)
    throw UsageError(detail::idle_message(name_and_value(given), why, expected));
}

void refuse_all_but(const cli::App& app, const std::vector<std::string_view>& used, const std::string& why,
                    const std::string& expected) {
  for (const cli::Option& given : app.given_in_order())
    if (!contains(used, given.name())) throw UsageError(detail::idle_message(name_and_value(given), why, expected));
}

}  // namespace softamp::program
