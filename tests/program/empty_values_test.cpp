// Empty values of options, which an unset variable of a shell leaves: an error of every verb, before anything is read.
#include <gtest/gtest.h>

#include "tests/program/process.h"

namespace softamp::test {
namespace {

TEST(EmptyValues, OfAnOptionAreRefusedWithWhatItTakes) {
  const std::pair<std::string, std::string> rows[] = {
      {"train --resume \"$UNSET\"", "--resume: the value is empty; expected FILE"},
      {"train --resume=", "--resume: the value is empty; expected FILE"},
      {"run g.json --behaviour ''", "--behaviour: the value is empty; expected WORDS"},
      {"rewrite g.json -o ''", "--out: the value is empty; expected FILE"},
      {"study --grid a=b --csv=''", "--csv: the value is empty; expected FILE"},
      {"study --mechanisms ''", "--mechanisms: the value is empty; expected [A,B,...]"},
  };
  for (const auto& [line, complaint] : rows)
    EXPECT_EQ(error_of(line),
              "softamp " + line.substr(0, line.find(' ') + 1).replace(line.find(' '), 1, ": ") + complaint + '\n');
}

TEST(EmptyValues, OfAPlaceAreRefused) {
  EXPECT_EQ(error_of("run ''"), "softamp run: argument 1 is empty; expected a value, or to leave it out\n");
  EXPECT_EQ(error_of("compare a ''"), "softamp compare: argument 2 is empty; expected a value, or to leave it out\n");
}

TEST(EmptyValues, OfEveryOptionOfEveryVerb) {
  int options = 0;
  for (const char* verb : {"sum", "inspect", "formats", "chips", "round", "compute", "registers", "run", "rewrite",
                           "compare", "train", "study", "operations", "reproduce", "selftest"}) {
    const std::string help = run_softamp(std::string(verb) + " --help").out;
    for (size_t at = 0; (at = help.find("--", at)) != std::string::npos; at += 2) {
      const size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
      const std::string name = help.substr(at, end - at);
      if (end == std::string::npos || help[end] != ' ' || help.compare(end, 2, "  ") == 0) continue;    // no value
      if (help.find_last_not_of(' ', at - 1) != help.rfind('\n', at) && help[at - 1] != ',') continue;  // in a sentence
      ++options;
      expect_complaint(verb, name + " ''", "the value is empty; expected ");
    }
  }
  EXPECT_GT(options, 60);
}

}  // namespace
}  // namespace softamp::test
