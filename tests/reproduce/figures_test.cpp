// Every figure of every experiment, as files: the points that the .svg shows are those of the .json, no more, no fewer.
#include <gtest/gtest.h>

#include <chrono>

#include "src/reproduce/kept.h"
#include "src/reproduce/shelf.h"
#include "tests/files.h"
#include "tests/svg_points.h"

namespace softamp::reproduce {
namespace {

using softamp::test::picture_differs;
using softamp::test::read_text;
using softamp::test::SvgPlot;
using softamp::test::TemporaryFolder;

class Figures : public ::testing::TestWithParam<Experiment> {};

TEST_P(Figures, OfTheFilesAreTheSame) {
  const TemporaryFolder folder;
  Request brief;
  brief.brief = true;
  Watch watch;
  const Result ran = run_experiment(GetParam(), brief, {"test", "p"}, watch);
  if (!ran.outcome.skipped.empty()) GTEST_SKIP() << ran.outcome.skipped;
  keep_result(ran, folder.path());
  draw_missing(ran, folder.path());
  const Result read = result_from_json(Json::parse(read_text(folder.file(json_file(ran.name)))));
  ASSERT_EQ(read.outcome.figures.size(), ran.outcome.figures.size());
  EXPECT_GE(read.outcome.figures.size(), 1u);
  for (const Figure& figure : read.outcome.figures) {
    EXPECT_NE(figure.caption, "") << figure.name;
    EXPECT_NE(figure.plot.title, "") << figure.name;
    EXPECT_NE(figure.plot.x_label, "") << figure.name;
    EXPECT_NE(figure.plot.y_label, "") << figure.name;
    const SvgPlot svg(read_text(folder.file(figure_file(ran.name, figure, ".svg"))));
    EXPECT_EQ(picture_differs(figure.plot, svg), "") << figure.name;
  }
  EXPECT_NE(ran.outcome.seen, "");
  EXPECT_GE(ran.outcome.checks.size(), 1u);
  for (const Table& table : ran.outcome.tables)
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.name;
}

INSTANTIATE_TEST_SUITE_P(Shelf, Figures, ::testing::ValuesIn(shelf()),
                         [](const ::testing::TestParamInfo<Experiment>& tested) {
                           std::string name = tested.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace softamp::reproduce
