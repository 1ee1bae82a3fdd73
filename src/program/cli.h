// The command line of a verb, as a verb declares and reads it: CLI11's App and Option under their own names, with those
// of their functions that verbs need. CLI11's header costs five seconds in each source that includes it: cli.cpp does,
// and this one does not.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace softamp::program::cli {

/// An option, a flag or a positional. Refers to one of CLI11; so do its copies.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  const Option& required() const;
  const Option& type_name(const std::string& value) const;  ///< what help calls its value, "FILE"
  const Option& expected(int values) const;
  const Option& expected(int least, int most) const;
  const Option& allow_extra_args(bool allowed) const;  ///< --x A B, beside --x A --x B
  const Option& excludes(const Option& other) const;
  const Option& excludes(const std::string& other) const;
  const Option& needs(const Option& other) const;

  std::string name() const;                     ///< "--format"; of a positional "IN"
  std::vector<std::string> long_names() const;  ///< without their dashes
  std::string type_name() const;
  bool has_name(const std::string& name) const;
  size_t count() const;      ///< how often it was given
  std::string text() const;  ///< the value that was given

  explicit operator bool() const { return option_ != nullptr; }
  CLI::Option* get() const { return option_; }

 private:
  CLI::Option* option_;
};

/// The program, or a verb of it. Refers to one of CLI11; so do its copies.
class App {
 public:
  explicit App(CLI::App* app) : app_(app) {}

  App add_subcommand(const std::string& name, const std::string& description) const;
  /// An option "--name" or "-n,--name", or a positional "NAME", whose value goes into `target`: a text, several, a
  /// number; std::optional.
  Option add_option(const std::string& name, std::string& target, const std::string& description) const;
  Option add_option(const std::string& name, std::optional<std::string>& target, const std::string& description) const;
  Option add_option(const std::string& name, std::vector<std::string>& target, const std::string& description) const;
  Option add_option(const std::string& name, int& target, const std::string& description) const;
  /// An option whose value is passed to `take`; its values, where it may be given several times.
  Option add_option_function(const std::string& name, const std::function<void(const std::string&)>& take,
                             const std::string& description) const;
  Option add_option_function(const std::string& name, const std::function<void(const std::vector<std::string>&)>& take,
                             const std::string& description) const;
  Option add_flag(const std::string& name, bool& target, const std::string& description) const;
  /// A flag that may have a value, --name=X: "--name{DEFAULT}".
  Option add_flag(const std::string& name, std::optional<std::string>& target, const std::string& description) const;
  void after_parsing(std::function<void()> call) const;
  void footer(const std::string& text) const;
  void allow_extras() const;  ///< what is no option of the verb is kept: remaining()

  std::string name() const;
  Option option(const std::string& name) const;       ///< throws CLI::OptionNotFound
  Option find_option(const std::string& name) const;  ///< false where there is none
  std::vector<Option> options() const;
  std::vector<Option> given_in_order() const;
  std::vector<std::string> remaining() const;

  CLI::App* get() const { return app_; }

 private:
  CLI::App* app_;
};

/// The command line of the program.
class Program {
 public:
  Program(const std::string& description, const std::string& name);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  App app() const { return App(program_.get()); }
  /// --version prints what `text` gives, and ends the program.
  void add_version_flag(const std::function<std::string()>& text, const std::string& description) const;
  /// Reads the command line, which has to have a verb. False where it asks for --help or --version, which is printed.
  /// Throws UsageError, which names the help of `place`: "softamp sum".
  bool parse(int count, char** arguments, const std::string& place) const;

 private:
  std::unique_ptr<CLI::App> program_;
};

}  // namespace softamp::program::cli
