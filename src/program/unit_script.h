// A script for one worker's unit: what `softamp registers` executes, line by line.
#pragma once

#include "src/program/options.h"

#include "softamp/numerics/unit.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace softamp::program {

/// What one line did.
struct ScriptStep {
  std::string command;             ///< the line, its words separated by one blank; empty for a comment
  std::vector<std::string> lines;  ///< for people
  Json json;                       ///< for machines: "results", "register", ...
};

/// A unit, controlled by a small script language; `help()` lists the commands.
class UnitScript {
 public:
  /// The commands, one a line, with an example of each.
  static const char* help();

  /// Executes one line. Throws UsageError for an unknown command (naming the nearest), a wrong number of words, or a
  /// word that is not what the command expects; the unit is then unchanged.
  ScriptStep execute(const std::string& line);

  const FpUnit& unit() const { return unit_; }
  /// Of the last set_seed; 0 before it.
  uint32_t tile() const { return tile_; }
  uint32_t worker() const { return worker_; }

 private:
  using Words = std::vector<std::string>;
  using Action = void (UnitScript::*)(const Words& words, ScriptStep& step);
  struct Command {
    const char* name;
    int least, most;  ///< words after the name
    const char* expected;
    Action action;
  };
  static const std::vector<Command>& commands();

  void behaviour(const Words& words, ScriptStep& step);
  void seed(const Words& words, ScriptStep& step);
  void set_seed(const Words& words, ScriptStep& step);
  void put(const Words& words, ScriptStep& step);
  void get(const Words& words, ScriptStep& step);
  void launch(const Words& words, ScriptStep& step);
  void clear(const Words& words, ScriptStep& step);
  void print(const Words& words, ScriptStep& step);
  void urand32(const Words& words, ScriptStep& step);
  void urand64(const Words& words, ScriptStep& step);
  void compare(const Words& words, ScriptStep& step);
  void to_half(const Words& words, ScriptStep& step);
  void to_float(const Words& words, ScriptStep& step);
  void to_int(const Words& words, ScriptStep& step);
  void arithmetic(const Words& words, ScriptStep& step);

  FpUnit unit_;
  uint32_t tile_ = 0, worker_ = 0;
};

}  // namespace softamp::program
