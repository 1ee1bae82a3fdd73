// Tables as CSV, LaTeX and text.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/results/csv.h"
#include "src/results/json.h"
#include "src/results/latex.h"
#include "src/results/text.h"
#include "tests/csv.h"

namespace softamp::results {
namespace {

Table of_every_kind() {
  const double infinity = std::numeric_limits<double>::infinity();
  return {.title = "every kind\nof cell",
          .columns = {{"name"},
                      {.key = "error_of_bound", .head = "error/bound", .right = true, .digits = 3},
                      {.key = "loss", .right = true, .places = 2},
                      {.key = "bits", .shown = Shown::kToPrograms},
                      {.key = "how", .shown = Shown::kToPeople}},
          .rows = {{"a,b", 0.123456789012345678, 1.0 / 3, 13, "stochastic, 13 bits"},
                   {"say \"x\"", 1.5e-5, -2.5, uint64_t{1} << 63, true},
                   {"two\nlines", Cell(), std::nan(""), Cell(), false},
                   {"", infinity, -infinity, int64_t{-1}, "2^-24"}}};
}

TEST(Results, CsvIsForPrograms) {
  EXPECT_EQ(csv(of_every_kind()),
            "name,error_of_bound,loss,bits\n"
            "\"a,b\",0.12345678901234568,0.3333333333333333,13\n"
            "\"say \"\"x\"\"\",1.5e-05,-2.5,9223372036854775808\n"
            "\"two\nlines\",,nan,\n"
            ",inf,-inf,-1\n");
}

TEST(Results, CsvReadsBackAsItWas) {
  const Table table = of_every_kind();
  const auto lines = test::parse_csv(csv(table));
  ASSERT_EQ(lines.size(), 1 + table.rows.size());
  for (size_t r = 0; r < table.rows.size(); ++r) {
    EXPECT_EQ(lines[1 + r][0], std::get<std::string>(table.rows[r][0].value()));
    if (const double* number = std::get_if<double>(&table.rows[r][1].value())) {
      EXPECT_EQ(std::stod(lines[1 + r][1]), *number);
    }
  }
}

TEST(Results, TextIsForPeople) {
  EXPECT_EQ(text(of_every_kind()),
            "name        error/bound   loss  how\n"
            "a,b               0.123   0.33  stochastic, 13 bits\n"
            "say \"x\"         1.5e-05  -2.50  yes\n"
            "two\\nlines            -    nan  no\n"
            "                    inf   -inf  2^-24\n");
}

TEST(Results, LatexEscapesWhatLatexReads) {
  EXPECT_EQ(latex(of_every_kind()),
            "% Needs \\usepackage{booktabs}\n"
            "% every kind\\nof cell\n"
            "\\begin{tabular}{lrrl}\n"
            "\\toprule\n"
            "name & error/bound & loss & how \\\\\n"
            "\\midrule\n"
            "a,b & 0.123 & 0.33 & stochastic, 13 bits \\\\\n"
            "say \"x\" & $1.5\\times10^{-5}$ & $-2.50$ & yes \\\\\n"
            "two\\textbackslash{}nlines & -- & nan & no \\\\\n"
            " & $\\infty$ & $-\\infty$ & $2^{-24}$ \\\\\n"
            "\\bottomrule\n"
            "\\end{tabular}\n");
  const auto cell = [](const char* text) {
    const std::string all = latex({.columns = {{"x"}}, .rows = {{text}}});
    const size_t begin = all.find("\\midrule\n") + 9;
    return all.substr(begin, all.find(" \\\\\n", begin) - begin);
  };
  EXPECT_EQ(cell("50% of a_b & {c} #1 $x ~ ^ <|>"),
            "50\\% of a\\_b \\& \\{c\\} \\#1 \\$x \\textasciitilde{} \\textasciicircum{} "
            "\\textless{}\\textbar{}\\textgreater{}");
  EXPECT_EQ(cell("loss_scale=2^60"), "loss\\_scale=$2^{60}$");
  EXPECT_EQ(cell("1e+22"), "$1\\times10^{22}$");
  EXPECT_EQ(cell("1e"), "1e");
  EXPECT_EQ(cell("1.e5"), "1.e5");
  EXPECT_EQ(cell("12.5.3"), "12.5.3");
  EXPECT_EQ(cell("+1.5"), "$+1.5$");
  EXPECT_EQ(cell("-"), "--");
  EXPECT_EQ(cell("0x1e5"), "0x1e5");
  EXPECT_EQ(cell("x^2"), "x\\textasciicircum{}2");
}

TEST(Results, AGrowingTableIsTheSame) {
  const Table table = of_every_kind();
  std::string grown = csv_head(table.columns);
  for (const Row& row : table.rows) grown += csv_line(table.columns, row);
  EXPECT_EQ(grown, csv(table));
}

TEST(Results, CellsAsJson) {
  EXPECT_EQ(json(Cell()).dump(), "null");
  EXPECT_EQ(json(true).dump(), "true");
  EXPECT_EQ(json(uint64_t{1} << 63).dump(), "9223372036854775808");
  EXPECT_EQ(json(-3).dump(), "-3");
  EXPECT_EQ(json(0.5).dump(), "0.5");
  EXPECT_EQ(json("a").dump(), "\"a\"");
  EXPECT_EQ(json(number_or_nothing(std::nan(""))).dump(), "null");
  EXPECT_EQ(json(std::optional<double>()).dump(), "null");
}

}  // namespace
}  // namespace softamp::results
