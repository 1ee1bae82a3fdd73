// What every experiment of the shelf promises: the checks of its brief form agree, its tables and figures are well
// formed, and the same seed gives the same outcome on any number of threads.
#pragma once

#include <gtest/gtest.h>

#include <oneapi/tbb/global_control.h>

#include <set>
#include <stdexcept>
#include <string>

#include "src/reproduce/shelf.h"

#include "tests/refusal.h"
#include "tests/reproduce/brief.h"

namespace softamp::reproduce {

inline Outcome run_experiment(const std::string& name, const Request& request) {
  return outcome_of(experiment_called(name), request);
}

/// What an outcome found, as one text.
inline std::string text_of(const Outcome& o) {
  Json json;
  for (const Table& t : o.tables) json["tables"].push_back({t.name, t.title, t.columns, t.rows});
  for (const Figure& f : o.figures)
    for (const Curve& c : f.plot.curves) json["curves"].push_back({f.name, c.title, c.x, c.y});
  for (const Check& c : o.checks) json["checks"].push_back({c.what, c.ours, c.theirs, c.agrees});
  return json.dump();
}

inline Outcome brief_outcome(const std::string& name, uint64_t seed = 0) {
  return run_experiment(name, brief_request(seed));
}

inline void expect_sound(const std::string& name) {
  const Outcome o = brief_outcome(name);
  EXPECT_FALSE(o.checks.empty());
  for (const Check& c : o.checks) EXPECT_TRUE(c.agrees) << c.what << ": " << c.ours << " against " << c.theirs;
  std::set<std::string> names;
  for (const Table& t : o.tables) {
    EXPECT_TRUE(names.insert(t.name).second) << t.name;
    EXPECT_FALSE(t.rows.empty()) << t.name;
    for (const auto& row : t.rows) EXPECT_EQ(row.size(), t.columns.size()) << t.name;
  }
  EXPECT_FALSE(o.figures.empty());
  for (const Figure& f : o.figures)
    for (const Curve& c : f.plot.curves) EXPECT_EQ(c.x.size(), c.y.size()) << f.name << ' ' << c.title;
  EXPECT_FALSE(o.seen.empty());
}

inline void expect_repeatable(const std::string& name) {
  const std::string first = text_of(brief_outcome(name));
  EXPECT_NE(text_of(brief_outcome(name, 1)), first) << "another seed";
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  EXPECT_EQ(text_of(brief_outcome(name)), first) << "one thread";
}

inline void expect_refused(const std::string& name, const Request& request, const std::string& message) {
  const std::string words = softamp::test::refusal<std::invalid_argument>([&] { run_experiment(name, request); });
  EXPECT_EQ(words.substr(0, message.size()), message);
}

}  // namespace softamp::reproduce
