// softamp selftest: known answers, in seconds, on the user's own machine.
#include "src/program/options.h"
#include "src/program/program.h"
#include "src/program/selftest_checks.h"

#include <iostream>

namespace softamp::program {
namespace {

int run_selftest(bool json) {
  std::vector<SelftestCheck> checks = known_answer_checks();
  for (const SelftestCheck& check : instruction_set_checks()) checks.push_back(check);

  Json document = {{"instruction_sets", instruction_sets_seen()}, {"checks", Json::array()}};
  if (!json) std::cout << "instruction sets: " << instruction_sets_seen() << '\n';
  size_t failed = 0;
  for (const SelftestCheck& check : checks) {
    const std::string problem = check.run();
    if (!problem.empty()) ++failed;
    document["checks"].push_back({{"name", check.name}, {"passed", problem.empty()}});
    if (!problem.empty()) document["checks"].back()["problem"] = problem;
    if (!json)
      std::cout << (problem.empty() ? "pass  " : "FAIL  ") << check.name << (problem.empty() ? "" : "\n      ")
                << problem << std::endl;
  }
  document["passed"] = failed == 0;
  if (json)
    print_json(document);
  else
    std::cout << checks.size() - failed << " of " << checks.size() << " checks passed\n";
  return failed == 0 ? kSuccess : kCheckFailed;
}

}  // namespace

Verb add_selftest(CLI::App& program) {
  CLI::App* app = program.add_subcommand("selftest", "Check this build on this machine against known answers");
  const auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, "print one JSON document");
  app->footer("Exit code 0 where every check passes, else 1. Example:\n  softamp selftest");
  return {app, [json] { return run_selftest(*json); }};
}

}  // namespace softamp::program
