// The HTML page of all results, the Markdown of docs/REPRODUCED.md, and that this page of the docs is complete.
#include <gtest/gtest.h>

#include <string>

#include "src/reproduce/kept.h"
#include "src/reproduce/page.h"
#include "src/reproduce/shelf.h"
#include "tests/files.h"
#include "tests/html.h"
#include "tests/refusal.h"
#include "tests/reproduce/fake_experiment.h"

namespace softamp::reproduce::test {
namespace {

using softamp::test::read_text;

std::vector<Result> fake_results() {
  Watch watch;
  Result first = run_experiment(fake_experiment(), Request{}, {"1.2", "p"}, watch);
  Result second = first;
  second.name = "other";
  second.outcome = {};
  second.outcome.skipped = "no <images>";
  Result third = first;
  third.name = "third";
  third.outcome.checks[0].agrees = false;
  Result fourth = empty_result(fake_experiment(), Request{}, {"1.2", "p"});
  fourth.name = "fourth";
  fourth.failed = "no <memory>";
  return {first, second, third, fourth};
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// A picture, as a file would hold it.
std::string drawn(const std::string& file) {
  return "<svg viewBox=\"0 0 960 600\"><title>Gnuplot</title><g id='a'/><text>" + file + "</text></svg>";
}

TEST(Page, HoldsEveryResultAndRefersToNoFile) {
  const std::string html = page_html(fake_results(), drawn);
  EXPECT_EQ(softamp::test::faults_of_page(html), "");
  for (const char* part : {"<h2 id=\"fake\">",
                           "<h2 id=\"other\">",
                           "<a href=\"#third\">",
                           "Skipped: no &lt;images&gt;",
                           "<text>fake-error.svg</text>",
                           "<g id='p1-a'/>",
                           "<g id='p2-a'/>",
                           "Also in fake-sums.csv.",
                           "too: fake.json, beside this page.",
                           "Error &amp; &lt;bound&gt;.",
                           "Nobody, &quot;Nothing&quot;, 1970, nowhere",
                           "<code>softamp reproduce fake</code>",
                           "<td class=\"agrees\">3 of 3</td>",
                           "<td class=\"differs\">2 of 3</td>",
                           "<td class=\"skipped\">skipped</td>",
                           "<td class=\"differs\">failed</td>",
                           "<p class=\"bad\">Failed: no &lt;memory&gt;</p>",
                           "<details><summary>Checks: 3 of 3 agree</summary>",
                           "<details open><summary>Checks: 2 of 3 agree</summary>",
                           "<details><summary>Sums, &lt;by&gt; format (3 rows)</summary>",
                           "Not as published:</strong> Nine paths, not &lt;ten&gt;.",
                           "say &quot;x&quot;",
                           "softamp 1.2",
                           "0.30000000000000004"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  // Pictures first, then what is folded.
  EXPECT_LT(html.find("<figure>"), html.find("The sum stops,"));
  EXPECT_LT(html.find("The sum stops,"), html.find("<details>"));
}

TEST(Page, HasALongTableWhole) {
  const std::string html = page_html({fake_results()[0]}, drawn);
  EXPECT_NE(html.find("<td class=\"n\">99</td>"), std::string::npos);
  Result many = fake_results()[0];
  many.outcome.tables.resize(2);
  many.outcome.tables[1].rows.assign(1234, {7});
  const std::string part = page_html({many}, drawn);
  EXPECT_NE(part.find("The first 1000 of 1234 rows; all are in fake-long.csv."), std::string::npos);
  EXPECT_EQ(occurrences(part, "<td class=\"n\">7</td>"), 1000u);
}

TEST(Page, SaysWhatWasNotDrawn) {
  const std::string html = page_html(fake_results(), [](const std::string&) { return std::string(); });
  EXPECT_EQ(softamp::test::faults_of_page(html), "");
  EXPECT_EQ(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("fake-error.svg was not drawn"), std::string::npos);
  // A file that is no picture is none.
  const std::string other = page_html(fake_results(), [](const std::string& file) {
    return "<svg viewBox=\"0 0 1 1\"><script>" + file + "</script></svg>";
  });
  EXPECT_EQ(other.find("<svg"), std::string::npos);
  EXPECT_NE(other.find("fake-error.svg was not drawn"), std::string::npos);
}

TEST(Markdown, HasFiguresBesideThePublishedOnesAndNoMachine) {
  std::vector<Result> results = fake_results();
  Request request;
  request.data = "/home/somebody/images";
  request.brief = true;
  Watch watch;
  results[0] = run_experiment(fake_experiment(), request, {"1.2", "digest"}, watch);
  results[1].source = "A|B, *x_y*";
  const std::string text = page_markdown(results);
  EXPECT_NE(text.find("| fp16: final sum | 0.25 | 0.25 | figure | agrees |\n"), std::string::npos) << text;
  EXPECT_NE(text.find("| fp16: final sum | 0.25 | 0.25 | figure | differs |\n"), std::string::npos);
  EXPECT_NE(text.find("Source: Nobody, \"Nothing\", 1970, nowhere"), std::string::npos);
  EXPECT_NE(text.find("`softamp reproduce fake --data DIR --brief`"), std::string::npos);
  EXPECT_EQ(text.find("somebody"), std::string::npos);
  EXPECT_EQ(text.find("digest"), std::string::npos);
  EXPECT_EQ(page_html(results, drawn).find("somebody"), std::string::npos);
  EXPECT_NE(text.find("Source: A\\|B, \\*x\\_y\\*  \n"), std::string::npos);
  EXPECT_NE(text.find("Skipped: no \\<images>\n"), std::string::npos);
  EXPECT_NE(text.find("Failed: no \\<memory>\n"), std::string::npos);
  EXPECT_NE(text.find("| [fourth](#fourth) | failed |"), std::string::npos);
  EXPECT_NE(text.find("\nNot as published: Nine paths, not \\<ten>.\n"), std::string::npos);
  // The same results give the same text, whatever a clock said.
  results[0].seconds = 99;
  EXPECT_EQ(page_markdown(results), text);
}

TEST(Markdown, ABarOfATextDoesNotEndACell) {
  Result r = fake_results()[0];
  r.outcome.checks[0].what = "a|b";
  r.outcome.seen = std::string(117, 'x') + " - 1 <b>";
  const std::string text = page_markdown({r});
  EXPECT_NE(text.find("| a\\|b | 0.25 |"), std::string::npos);
  EXPECT_EQ(occurrences(text, "| figure | agrees |"), 1u);
  EXPECT_NE(text.find("x\n\\- 1 \\<b>\n"), std::string::npos);  // no list, no element
}

TEST(Shelf, NamesAreUniqueAndEveryFactIsGiven) {
  std::vector<std::string> names;
  for (const Experiment& e : shelf()) {
    EXPECT_EQ(std::count(names.begin(), names.end(), e.name), 0) << e.name;
    names.push_back(e.name);
    EXPECT_NE(e.summary, "") << e.name;
    EXPECT_EQ(e.summary.find('\n'), std::string::npos) << e.name;
    EXPECT_NE(e.source, "") << e.name;
    EXPECT_EQ((e.options & kSamples) != 0, !e.samples.empty()) << e.name;
    EXPECT_GE(e.seconds(Request{}), 0) << e.name;
    Request brief;
    brief.brief = true;
    EXPECT_LT(e.seconds(brief), 4) << e.name;
  }
}

TEST(Shelf, AnUnknownExperimentNamesTheNearest) {
  const std::string words = softamp::test::refusal<std::exception>([] { experiment_called("harmonic-serie"); });
  EXPECT_EQ(words.rfind("unknown experiment 'harmonic-serie'; nearest: harmonic-series; known: ", 0), 0u) << words;
}

TEST(ReproducedPage, NamesEveryExperimentAndItsCommand) {
  std::string text = read_text(SOFTAMP_SOURCE_DIR "/docs/REPRODUCED.md");
  std::erase(text, '\\');  // what keeps marks of Markdown from being such
  ASSERT_NE(text, "");
  for (const Experiment& e : shelf()) {
    EXPECT_NE(text.find("\n## " + e.name + "\n"), std::string::npos) << e.name;
    EXPECT_NE(text.find("`softamp reproduce " + e.name), std::string::npos) << e.name;
    EXPECT_NE(text.find("Source: " + e.source), std::string::npos) << e.name;
  }
  EXPECT_EQ(text.find("| differs |"), std::string::npos);
}

}  // namespace
}  // namespace softamp::reproduce::test
