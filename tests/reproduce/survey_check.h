// What tests of the survey's experiments share: an outcome whose checks agree and whose tables and figures are well
// formed, two outcomes that are the same, and a request that is refused.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>
#include <string>

#include "src/reproduce/experiment.h"

#include "tests/refusal.h"
#include "tests/reproduce/brief.h"

namespace softamp::reproduce::test {

inline void expect_good_checks(const Outcome& o) {
  EXPECT_FALSE(o.checks.empty());
  for (const Check& c : o.checks) {
    EXPECT_TRUE(c.agrees) << c.what << ": ours " << c.ours << ", theirs " << c.theirs;
    EXPECT_FALSE(c.what.empty());
    EXPECT_FALSE(c.ours.empty()) << c.what;
    EXPECT_TRUE(c.against == Against::kRecorded || !c.theirs.empty()) << c.what;
  }
}

/// Rectangular, and without numbers that JSON does not have.
inline void expect_good_tables(const Outcome& o) {
  std::set<std::string> names;
  for (const Table& t : o.tables) {
    EXPECT_TRUE(names.insert(t.name).second) << t.name;
    EXPECT_FALSE(t.rows.empty()) << t.name;
    for (const auto& row : t.rows) {
      EXPECT_EQ(row.size(), t.columns.size()) << t.name;
      for (const Json& c : row) EXPECT_TRUE(!c.is_number_float() || std::isfinite(c.get<double>())) << t.name;
    }
  }
}

/// Curves of finite points, with a place on their axes.
inline void expect_good_figures(const Outcome& o) {
  EXPECT_FALSE(o.figures.empty());
  std::set<std::string> names;
  for (const Figure& f : o.figures) {
    EXPECT_TRUE(names.insert(f.name).second) << f.name;
    EXPECT_FALSE(f.caption.empty()) << f.name;
    for (const Curve& c : f.plot.curves) {
      EXPECT_EQ(c.x.size(), c.y.size()) << f.name << ": " << c.title;
      EXPECT_FALSE(c.x.empty()) << f.name << ": " << c.title;
      for (const double y : c.y)
        EXPECT_TRUE(std::isfinite(y) && (f.plot.y_log == 0 || y > 0)) << f.name << ": " << c.title;
    }
  }
}

inline void expect_sound(const Outcome& o) {
  EXPECT_TRUE(o.skipped.empty());
  EXPECT_FALSE(o.seen.empty());
  EXPECT_FALSE(o.settings.empty());
  expect_good_checks(o);
  expect_good_tables(o);
  expect_good_figures(o);
}

/// Tables and checks are equal.
inline bool same(const Outcome& a, const Outcome& b) {
  if (a.tables.size() != b.tables.size() || a.checks.size() != b.checks.size()) return false;
  for (size_t i = 0; i < a.tables.size(); ++i)
    if (a.tables[i].rows != b.tables[i].rows) return false;
  for (size_t i = 0; i < a.checks.size(); ++i)
    if (a.checks[i].ours != b.checks[i].ours) return false;
  return true;
}

/// `once(seed)` is the same on one thread, and not for another seed.
template <class Once>
void expect_seed_decides(const Once& once) {
  const Outcome usual = once(0);
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  EXPECT_TRUE(same(usual, once(0)));
  EXPECT_FALSE(same(usual, once(1)));
}

template <class Action>
void expect_refused(const Action& action, const std::string& message) {
  EXPECT_EQ(softamp::test::refusal<std::invalid_argument>(action), message);
}

}  // namespace softamp::reproduce::test
