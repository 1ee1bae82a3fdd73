// The results of every experiment, whole, as tests/reproduce/results/ keeps them: each command of a file is run again,
// and what it finds is compared to the last digit that is kept. After a change that is meant, `SOFTAMP_WRITE_KEPT=1
// build/tests/test_reproduce --file=results_test.cpp` writes the files anew: review each line that moves. A run is
// added by its command, `$ softamp reproduce ...`, at the end of a file.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "softamp/names/names.h"
#include "src/reproduce/kept.h"
#include "src/reproduce/shelf.h"
#include "tests/files.h"
#include "tests/reproduce/outcome_lines.h"
#include "tests/svg_points.h"

namespace softamp::reproduce::test {
namespace {

using softamp::test::picture_differs;
using softamp::test::read_text;
using softamp::test::SvgPlot;
using softamp::test::TemporaryFolder;

const std::string kSources = SOFTAMP_SOURCE_DIR "/";
const std::string kBegin = "$ softamp reproduce ";
constexpr double kMostSeconds = 10;  ///< of a run: longer ones are begun, and stopped

/// The request of a command line, and whether it names a seed.
std::pair<Request, bool> request_of(const std::string& command) {
  std::istringstream words(command.substr(kBegin.size()));
  std::pair<Request, bool> parsed;
  auto& [request, seed_given] = parsed;
  std::string option, value;
  for (words >> option; words >> option;) {
    if (option == "--brief") {
      request.brief = true;
      continue;
    }
    words >> value;
    if (option == "--format") {
      request.formats.push_back(format_from_name(value));
    } else if (option == "--fixed-format") {
      request.fixed_formats.push_back(fixed_format_from_name(value));
    } else if (option == "--rounding") {
      request.roundings.push_back(rounding_from_name(value));
    } else if (option == "--bits") {
      request.bits = std::stoi(value);
    } else if (option == "--samples") {
      request.samples = std::stoull(value);
    } else if (option == "--data") {
      request.data = kSources + "tests/reproduce/vectors";
    } else if (option == "--seed") {
      request.seed = std::stoull(value);
      seed_given = true;
    } else {
      throw std::invalid_argument(command + ": " + option);
    }
  }
  return parsed;
}

/// What a run found, and the shares that its watch heard.
struct Found {
  Outcome outcome{};
  std::vector<double> heard{};
};
Found found_by(const Experiment& e, const Request& request) {
  Found found;
  Watch watch([&found](double share) { found.heard.push_back(share); });
  found.outcome = e.run(request, watch);
  spell_out(found.outcome);
  return found;
}

std::string brief_command(const Experiment& e) { return kBegin + e.name + " --brief"; }

/// The brief run, which several tests look at.
const Found& found_in_brief(const Experiment& e) {
  static std::map<std::string, Found> runs;
  const auto known = runs.find(e.name);
  if (known != runs.end()) return known->second;
  return runs[e.name] = found_by(e, request_of(brief_command(e)).first);
}

/// Experiments that tell their watch every tenth of a second; the others tell it what a machine's speed does not
/// change.
bool tells_by_the_clock(const Experiment& e) {
  static const std::set<std::string> kNames = {"decay",      "heat-equation", "random-bits",
                                               "stagnation", "tutorial-sum",  "unit-circle"};
  return kNames.contains(e.name);
}

std::string watch_line(const std::vector<double>& heard) {
  std::vector<std::string> shares;
  for (const double share : heard) shares.push_back(kept_number(share));
  return "told" + abridged(shares, 5, ", ") + "\n";
}

std::string lines_of_run(const Experiment& e, const std::string& command) {
  const auto [request, seed_given] = request_of(command);
  const bool brief = command == brief_command(e);
  std::string text = command + "\n";
  try {
    check_request(e, request, seed_given);
    if ("$ " + command_line(e, request) != command) text += "that is " + command_line(e, request) + "\n";
    text += "about " + significant_digits(e.seconds(request), 6) + " s\n";
    if (e.seconds(request) > kMostSeconds) {
      Watch at_once({}, [] { return true; });
      e.run(request, at_once);
    }
    const Found found = brief ? found_in_brief(e) : found_by(e, request);
    if (!tells_by_the_clock(e)) text += watch_line(found.heard);
    return text + outcome_lines(found.outcome, brief);
  } catch (const Interrupted&) {
    return text + "too long for a test\n";
  } catch (const std::exception& refused) {
    return text + "refused: " + refused.what() + "\n";
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The lines that are not `known`, and a digest of all.
std::string new_lines(const std::string& text, const std::set<std::string>& known) {
  std::string fresh;
  size_t left_out = 0;
  for (const std::string& line : lines_of(text))
    if (known.contains(line))
      ++left_out;
    else
      fresh += line + "\n";
  return left_out == 0
             ? fresh
             : fresh + "and " + std::to_string(left_out) + " lines as above, all " + short_digest(text) + "\n";
}

class Results : public ::testing::TestWithParam<std::string> {
 protected:
  const Experiment& experiment() const { return experiment_called(GetParam()); }
  std::string file() const { return kSources + "tests/reproduce/results/" + GetParam() + ".txt"; }
  std::vector<std::string> commands() const {
    std::vector<std::string> all = lines_of(read_text(file()));
    std::erase_if(all, [](const std::string& line) { return !line.starts_with(kBegin); });
    return all.empty() ? std::vector{brief_command(experiment())} : all;
  }
};

// tests: N343
TEST_P(Results, AreThoseThatAreKept) {
  const Experiment& e = experiment();
  std::string now = e.name + ": " + e.summary + "\n" + e.source + "\nabout " + significant_digits(e.seconds({}), 6) +
                    " s; takes " + option_names(e.options) + (e.samples.empty() ? "" : "; --samples: ") + e.samples +
                    "\n";
  std::set<std::string> known;
  for (const std::string& command : commands()) {
    const std::string text = lines_of_run(e, command);
    now += "\n" + new_lines(text, known);
    if (known.empty())
      for (const std::string& line : lines_of(text)) known.insert(line);
  }
  if (std::getenv("SOFTAMP_WRITE_KEPT")) softamp::test::write_text(file(), now);
  const std::vector<std::string> kept = lines_of(read_text(file())), found = lines_of(now);
  for (size_t i = 0; i < std::max(kept.size(), found.size()); ++i)
    ASSERT_EQ(i < found.size() ? found[i] : "no line", i < kept.size() ? kept[i] : "no line") << file() << ':' << i + 1;
}

/// Of the second command, which is a short one.
// tests: N383
TEST_P(Results, AreTheSameOnOneThread) {
  const std::string command = commands().at(1), usual = lines_of_run(experiment(), command);
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  EXPECT_EQ(lines_of_run(experiment(), command), usual);
}

/// What a watch hears leads from nothing to the end, and where it says stop, the run stops.
TEST_P(Results, AreNotWaitedForWhereTheWatchStops) {
  const std::vector<double>& heard = found_in_brief(experiment()).heard;
  if (heard.empty()) return;
  EXPECT_TRUE(std::is_sorted(heard.begin(), heard.end()));
  EXPECT_TRUE(heard.front() >= 0 && heard.back() <= 1) << heard.front() << ' ' << heard.back();
  const size_t last = tells_by_the_clock(experiment()) ? 1 : heard.size() / 4 + 1;
  size_t asked = 0;
  Watch watch({}, [&] { return ++asked == last; });
  EXPECT_THROW(experiment().run(request_of(brief_command(experiment())).first, watch), Interrupted);
  EXPECT_EQ(asked, last);
}

/// Every figure, as files: the points that the .svg shows are those of the .json, no more, no fewer.
TEST_P(Results, FiguresShowThem) {
  Result ran = empty_result(experiment(), request_of(brief_command(experiment())).first, {"test", "p"});
  ran.outcome = found_in_brief(experiment()).outcome;
  if (!ran.outcome.skipped.empty()) GTEST_SKIP() << ran.outcome.skipped;
  const TemporaryFolder folder;
  keep_result(ran, folder.path());
  draw_missing(ran, folder.path());
  const Result read = result_from_json(Json::parse(read_text(folder.file(json_file(ran.name)))));
  EXPECT_EQ(outcome_lines(read.outcome), outcome_lines(ran.outcome));
  EXPECT_GE(read.outcome.figures.size(), 1u);
  for (const Figure& figure : read.outcome.figures) {
    EXPECT_NE(figure.caption, "") << figure.name;
    EXPECT_NE(figure.plot.title, "") << figure.name;
    EXPECT_NE(figure.plot.x_label, "") << figure.name;
    EXPECT_NE(figure.plot.y_label, "") << figure.name;
    const SvgPlot svg(read_text(folder.file(figure_file(ran.name, figure, ".svg"))));
    EXPECT_EQ(picture_differs(figure.plot, svg), "") << figure.name;
  }
}

/// Whatever was found: it agrees, no name is twice there, tables are rectangular, and nothing is left without a word.
TEST_P(Results, AreWellFormed) {
  const Outcome& o = found_in_brief(experiment()).outcome;
  if (!o.skipped.empty()) GTEST_SKIP() << o.skipped;
  EXPECT_NE(o.seen, "");
  EXPECT_GE(o.checks.size(), 1u);
  for (const Check& c : o.checks) {
    EXPECT_TRUE(c.agrees) << c.what << ": ours " << c.ours << ", theirs " << c.theirs;
    EXPECT_FALSE(c.what.empty() || c.ours.empty()) << c.what;
    EXPECT_TRUE(c.against == Against::kRecorded || !c.theirs.empty()) << c.what;
  }
  std::set<std::string> names;
  for (const Table& t : o.tables) {
    EXPECT_TRUE(names.insert(t.name).second) << t.name;
    EXPECT_FALSE(t.rows.empty()) << t.name;
    for (const auto& row : t.rows) EXPECT_EQ(row.size(), t.columns.size()) << t.name;
  }
  for (const Figure& f : o.figures) {
    EXPECT_TRUE(names.insert("figure " + f.name).second) << f.name;
    for (const Curve& c : f.plot.curves) EXPECT_TRUE(!c.x.empty() && c.x.size() == c.y.size()) << f.name << c.title;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Experiment& e : shelf()) all.push_back(e.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shelf, Results, ::testing::ValuesIn(names()), [](const auto& tested) {
  std::string name = tested.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace softamp::reproduce::test
