#include "src/program/cli.h"

#include <CLI/CLI.hpp>

#include <utility>

#include "src/program/usage.h"

namespace softamp::program::cli {
namespace {

std::vector<Option> listed(const std::vector<CLI::Option*>& options) {
  std::vector<Option> all;
  for (CLI::Option* const option : options) all.emplace_back(option);
  return all;
}

/// CLI11 from version 2.5 on breaks help into paragraphs of 65 and 80 characters, examples in a footer, too. Here each
/// line is printed as it is written, and names of options stand one behind the other, as older versions have them.
template <class Formatter>
void print_as_written(Formatter& help) {
  if constexpr (requires { help.enable_footer_formatting(false); }) {
    help.enable_description_formatting(false);
    help.enable_footer_formatting(false);
  }
  if constexpr (requires { help.right_column_width(size_t{1}); }) help.right_column_width(1000);
  if constexpr (requires { help.long_option_alignment_ratio(0.0F); })
    help.long_option_alignment_ratio(2.5F / static_cast<float>(help.get_column_width()));
}

}  // namespace

const Option& Option::required() const { return option_->required(), *this; }
const Option& Option::type_name(const std::string& value) const { return option_->type_name(value), *this; }
const Option& Option::expected(int values) const { return option_->expected(values), *this; }
const Option& Option::expected(int least, int most) const { return option_->expected(least, most), *this; }
const Option& Option::allow_extra_args(bool allowed) const { return option_->allow_extra_args(allowed), *this; }
const Option& Option::excludes(const Option& other) const { return option_->excludes(other.option_), *this; }
const Option& Option::excludes(const std::string& other) const { return option_->excludes(other), *this; }
const Option& Option::needs(const Option& other) const { return option_->needs(other.option_), *this; }
std::string Option::name() const { return option_->get_name(); }
std::vector<std::string> Option::long_names() const { return option_->get_lnames(); }
std::string Option::type_name() const { return option_->get_type_name(); }
bool Option::has_name(const std::string& name) const { return option_->check_name(name); }
size_t Option::count() const { return option_->count(); }
std::string Option::text() const { return option_->as<std::string>(); }

App App::add_subcommand(const std::string& name, const std::string& description) const {
  return App(app_->add_subcommand(name, description));
}

Option App::add_option(const std::string& name, std::string& target, const std::string& description) const {
  return Option(app_->add_option(name, target, description));
}
Option App::add_option(const std::string& name, std::optional<std::string>& target,
                       const std::string& description) const {
  return Option(app_->add_option(name, target, description));
}
Option App::add_option(const std::string& name, std::vector<std::string>& target,
                       const std::string& description) const {
  return Option(app_->add_option(name, target, description));
}
Option App::add_option(const std::string& name, int& target, const std::string& description) const {
  return Option(app_->add_option(name, target, description));
}

Option App::add_option_function(const std::string& name, const std::function<void(const std::string&)>& take,
                                const std::string& description) const {
  return Option(app_->add_option_function(name, take, description));
}
Option App::add_option_function(const std::string& name,
                                const std::function<void(const std::vector<std::string>&)>& take,
                                const std::string& description) const {
  return Option(app_->add_option_function(name, take, description));
}
Option App::add_flag(const std::string& name, bool& target, const std::string& description) const {
  return Option(app_->add_flag(name, target, description));
}
Option App::add_flag(const std::string& name, std::optional<std::string>& target,
                     const std::string& description) const {
  return Option(app_->add_flag(name, target, description));
}
void App::after_parsing(std::function<void()> call) const { app_->parse_complete_callback(std::move(call)); }
void App::footer(const std::string& text) const { app_->footer(text); }
void App::allow_extras() const { app_->allow_extras(); }

std::string App::name() const { return app_->get_name(); }
Option App::option(const std::string& name) const { return Option(app_->get_option(name)); }
Option App::find_option(const std::string& name) const { return Option(app_->get_option_no_throw(name)); }
std::vector<Option> App::options() const { return listed(app_->get_options()); }
std::vector<Option> App::given_in_order() const { return listed(app_->parse_order()); }
std::vector<std::string> App::remaining() const { return app_->remaining(); }

Program::Program(const std::string& description, const std::string& name)
    : program_(std::make_unique<CLI::App>(description, name)) {
  print_as_written(*program_->get_formatter());
  program_->require_subcommand(1);
}

Program::~Program() = default;

void Program::add_version_flag(const std::function<std::string()>& text, const std::string& description) const {
  program_->set_version_flag("--version", text, description);
}

bool Program::parse(int count, char** arguments, const std::string& place) const {
  try {
    program_->parse(count, arguments);
    return true;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) throw UsageError(std::string(e.what()) + "; see `" + place + " --help`");
    program_->exit(e);
    return false;
  }
}

}  // namespace softamp::program::cli
