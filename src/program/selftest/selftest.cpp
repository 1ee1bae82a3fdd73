// softamp selftest: known answers, in seconds, on the user's own machine; with --backend cuda also a GPU against emu.
#include "src/program/backend_option.h"
#include "src/program/options.h"
#include "src/program/program.h"
#include "src/program/selftest/selftest_backend.h"
#include "src/program/selftest/selftest_checks.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace softamp::program {
namespace {

class Selftest {
 public:
  explicit Selftest(bool json) : json_(json) {
    document_ = {{"instruction_sets", instruction_sets_seen()}, {"checks", Json::array()}};
    say("instruction sets: " + instruction_sets_seen());
  }

  void known_answers() {
    std::vector<SelftestCheck> checks = known_answer_checks();
    for (const SelftestCheck& check : instruction_set_checks()) checks.push_back(check);
    for (const SelftestCheck& check : checks) note(check.name, check.run(), Json::object());
  }

  void backend(const BackendChoice& choice) {
    document_["backend"] = choice.backend;
    document_["device"] = choice.about;
    say("backend " + choice.backend + ": " + choice.about);
    for (const BackendCheck& check : backend_checks()) {
      BackendFinding finding;
      try {
        finding = check.run(choice.backend);
      } catch (const std::exception& e) {
        finding.problem = e.what();
      }
      const std::string name = choice.backend + " equals emu: " + check.name;
      const bool passed = finding.problem.empty();
      note(passed && !json_ ? name + ": " + std::to_string(finding.values) + " values, digest " + finding.digest : name,
           finding.problem, {{"values", finding.values}, {"digest", finding.digest}});
    }
  }

  void skip(const std::string& why) {
    document_["skipped"] = why;
    say("skip  the backend cuda equals emu\n      " + why);
  }

  int finish() {
    document_["passed"] = failed_ == 0;
    if (json_) print_json(document_);
    say(std::to_string(checks_ - failed_) + " of " + std::to_string(checks_) + " checks passed");
    return failed_ == 0 ? kSuccess : kCheckFailed;
  }

 private:
  void say(const std::string& line) const {
    if (!json_) std::cout << line << std::endl;
  }

  void note(const std::string& name, const std::string& problem, const Json& figures) {
    ++checks_;
    failed_ += !problem.empty();
    Json entry = {{"name", name}, {"passed", problem.empty()}};
    entry.update(figures);
    if (!problem.empty()) entry["problem"] = problem;
    document_["checks"].push_back(entry);
    say((problem.empty() ? "pass  " : "FAIL  ") + name + (problem.empty() ? "" : "\n      ") + problem);
  }

  bool json_;
  Json document_;
  size_t checks_ = 0, failed_ = 0;
};

int run_selftest(bool json, const std::string& backend) {
  ExecutorOptions options;
  options.backend = backend;
  BackendChoice choice;
  try {
    choice = choose_backend(options);
  } catch (const std::runtime_error& e) {
    if (json) print_json({{"backend", backend}, {"skipped", e.what()}});
    std::cerr << "softamp selftest: skipped: " << e.what() << '\n';
    return kSkipped;
  }
  Selftest test(json);
  test.known_answers();
  if (choice.backend == "cuda") test.backend(choice);
  if (choice.backend == "emu" && backend == "auto") test.skip(choice.about);
  return test.finish();
}

}  // namespace

Verb add_selftest(const cli::App& program) {
  cli::App app = program.add_subcommand("selftest", "Check this build on this machine against known answers");
  struct SelftestOptions {
    bool json = false;
    std::string backend = "emu";
  };
  const auto o = std::make_shared<SelftestOptions>();
  app.add_option_function(
         "--backend", [o](const std::string& text) { o->backend = backend_from_name(text); },
         "cuda or gpu: also compare a GPU with emu; auto: if there is a GPU [=emu]")
      .type_name("WORD");
  offer_backends(app);
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(
      R"(Exit code 0 where every check passes, 1 where one fails; 77, without a check, where --backend cuda finds no GPU.
Digests of --backend cuda are equal on every machine.

Examples:
  softamp selftest
  softamp selftest --backend cuda)");
  return {app, [o] { return run_selftest(o->json, o->backend); }};
}

}  // namespace softamp::program
