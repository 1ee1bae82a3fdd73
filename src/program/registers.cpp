// softamp registers: a small scripted floating-point unit.
#include "src/program/program.h"
#include "src/program/unit_script.h"

#include "softamp/findings/exception.h"
#include "softamp/findings/registers.h"
#include "src/files/input_file.h"
#include "src/machine/machine_memory.h"
#include "src/text/read_json.h"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <iostream>
#include <sstream>
#include <utility>

namespace softamp::program {
namespace {

constexpr const char* kDemonstration = R"(# What a tile does with 60000 * 60000, and with a sum that does not fit.
print
mul 60000 60000          # saturates; the flag is recorded
print
clear
behaviour nanoo          # overflow gives NaN and counts as invalid too
mul 60000 60000
behaviour esr            # stochastic rounding of halves
seed 0xdeadbeef
add4 1 1 1 1 0x1000 0x1000 0x1000 0x1000
clear
behaviour inv div0 oflo  # exceptions: this unit stops
add 1 0.001
div 1 0
add 1 1                  # not reached
)";

struct RegistersOptions {
  std::string script;
  bool json = false;
};

constexpr uint64_t kMostScript = uint64_t{1} << 24;  ///< bytes
constexpr const char* kScript = "a script, or - for standard input";

struct Source {
  std::string name, text;
};

/// The script that was asked for; else standard input, and if that is empty the demonstration.
Source read_source(const std::string& script) {
  if (script == "-" || (script.empty() && ::isatty(STDIN_FILENO) == 0)) {
    Source source{"standard input", files::InputFile(STDIN_FILENO, "standard input", "a script", kMostScript).rest()};
    if (script == "-" || source.text.find_first_not_of(" \t\r\n") != std::string::npos) return source;
  }
  if (script.empty()) return {"demonstration", kDemonstration};
  return {script, files::read_input(script, kScript, kMostScript)};
}

void print_step(const ScriptStep& step) {
  std::cout << step.command << '\n';
  for (const std::string& line : step.lines) std::cout << "  " << line << '\n';
}

Json status_json(const FpUnit& unit) {
  const uint32_t status = unit.get(Csr::kFpSts);
  return {{"oflo", (status & StatusRegister::kOflo) != 0},
          {"div0", (status & StatusRegister::kDiv0) != 0},
          {"inv", (status & StatusRegister::kInv) != 0}};
}

/// The document of --json is printed when the script has come to its end: all of it lies in memory.
void check_memory(const Source& source) {
  constexpr uint64_t kLeast = 256;  // bytes a command; most take four times as much
  uint64_t commands = 0;
  std::istringstream lines(source.text);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find_first_not_of(" \t\r");
    commands += first != std::string::npos && line[first] != '#';
  }
  const engine::MachineMemory there = engine::machine_memory();
  if (commands * kLeast > there.bytes)
    throw UsageError("--json: " + source.name + " has " + std::to_string(commands) + " commands, which need " +
                     std::to_string(commands * kLeast) + " bytes at least, and this process gets at most " +
                     there.text() + "; expected a shorter script, or no --json");
}

int run_registers(const RegistersOptions& options) {
  const Source source = read_source(options.script);
  if (options.json) check_memory(source);
  UnitScript script;
  Json document = {{"script", source.name}, {"steps", Json::array()}};
  std::istringstream lines(source.text);
  int code = kSuccess;
  std::string line;
  for (int number = 1; code == kSuccess && std::getline(lines, line); ++number) {
    ScriptStep step;
    try {
      step = script.execute(line);
    } catch (const std::invalid_argument& e) {
      throw UsageError(source.name + ", line " + std::to_string(number) + ": " + e.what());
    } catch (const UsageError& e) {
      throw UsageError(source.name + ", line " + std::to_string(number) + ": " + e.what());
    }
    if (step.command.empty()) continue;
    if (!options.json) print_step(step);
    if (options.json) {  // else no line stays in memory
      step.json["line"] = number;
      document["steps"].push_back(std::move(step.json));
    }
    try {
      throw_if_excepted(script.unit(), script.tile(), script.worker());
    } catch (const FloatingPointError& e) {
      std::cout.flush();
      if (!options.json) std::cerr << e.what() << '\n';
      document["exception"] = read_json(e.report(DumpFormat::kJson));
      code = kFloatingPointException;
    }
  }
  document["fp_sts"] = status_json(script.unit());
  if (options.json) print_json(document);
  return code;
}

}  // namespace

Verb add_registers(const cli::App& program) {
  cli::App app =
      program.add_subcommand("registers", "Drive one worker's unit by a script: behaviour, operations, registers");
  const auto options = std::make_shared<RegistersOptions>();
  app.add_option("SCRIPT", options->script,
                 "a file of commands, or - for standard input [=standard input, else a demonstration]")
      .type_name("FILE");
  app.add_flag("--json", options->json, "print one JSON document");
  app.footer(std::string(UnitScript::help()) +
             "\n\nAn operation that raises an enabled flag ends the script with a report and exit code 3. Example:\n"
             "  $ printf 'behaviour oflo nanoo\\nmul 60000 60000\\n' | softamp registers -\n\n"
             "The demonstration that runs without a script:\n\n" +
             kDemonstration);
  return {app, [options] { return run_registers(*options); }};
}

}  // namespace softamp::program
