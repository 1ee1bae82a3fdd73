// `softamp demo`: a page that needs no other file, whose pictures and sentences say what `softamp sum` computes.
#include <gtest/gtest.h>

#include <regex>

#include "tests/program/process.h"
#include "tests/svg_points.h"

namespace softamp::test {
namespace {

using nlohmann::json;

/// The pictures of a page, as files would hold them.
std::vector<std::string> pictures_of(const std::string& page) {
  const std::string begin = "src=\"data:image/svg+xml,";
  std::vector<std::string> all;
  for (size_t at = 0; (at = page.find(begin, at)) != std::string::npos;) {
    at += begin.size();
    std::string picture;
    for (; page[at] != '"'; ++at)
      if (page[at] == '%')
        picture += static_cast<char>(std::stoi(page.substr(at + 1, 2), nullptr, 16)), at += 2;
      else
        picture += page[at];
    all.push_back(picture);
  }
  return all;
}

TEST(Demo, SwampingInSixPictures) {
  const TemporaryFolder folder;
  const std::string file = folder.file("story.html");
  const Outcome o = run_softamp("demo swamping --out " + file);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, file + "\n");
  EXPECT_EQ(o.err, "");
  const std::string page = read_text(file);
  const std::vector<std::string> pictures = pictures_of(page);
  ASSERT_EQ(pictures.size(), 6u);
  for (const std::string& p : pictures) EXPECT_NE(p.find("<metadata>"), std::string::npos) << "whole, and readable";
  // Nothing outside the file is asked for.
  EXPECT_EQ(page.find("href=\"http"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);

  // What the sentences say is what the commands below them give.
  const json nearest = json_of("sum --value 0.0001 --count 10000 --json"),
             many = json_of("sum --value 0.0001 --count 10000 --rounding stochastic --replicas 1000 --json");
  std::string sentence = "It stops at " + nearest["final"]["text"].get<std::string>() + ", after " +
                         std::to_string(nearest["last_change"].get<int>()) + " additions";
  EXPECT_NE(page.find(sentence), std::string::npos) << sentence;
  char mean[32];
  std::snprintf(mean, sizeof mean, "%.6g", many["mean"].get<double>());
  EXPECT_NE(page.find("the mean of 1000 sums is " + std::string(mean) + ", "), std::string::npos) << mean;
  const std::string last = "softamp sum --start 1 --value -0.0001 --count 10000 --rounding ";
  EXPECT_NE(page.find(last + "nearest,stochastic --replicas 50<"), std::string::npos);
  std::snprintf(mean, sizeof mean, "%.3g",
                json_of(last.substr(8) + "stochastic --replicas 50 --json")["mean"].get<double>());
  EXPECT_NE(page.find("50 such weights end at " + std::string(mean) + " on average"), std::string::npos) << mean;
  // The second picture: a line to 1, and a curve that stays at a quarter.
  const SvgPlot drawn(pictures[1]);
  for (const auto& [curve, sum] : {std::pair{0, nearest["exact"].get<double>()}, {1, 0.25}}) {
    const SvgPoint end = drawn.place(10000, sum);
    bool there = false;
    for (const SvgPoint& p : drawn.points(static_cast<size_t>(curve)))
      there = there || (std::abs(p.x - end.x) < 0.02 && std::abs(p.y - end.y) < 0.02);  // see svg_points.h
    EXPECT_TRUE(there) << "curve " << curve << " ends at " << sum;
  }
}

TEST(Demo, ASeedGivesTheSameFile) {
  const TemporaryFolder folder;
  const auto page = [&](const std::string& arguments) {
    const std::string file = folder.file("s.html");
    EXPECT_EQ(run_softamp("demo swamping --out " + file + " " + arguments).code, 0);
    return read_text(file);
  };
  const std::string first = page("--seed 3");
  EXPECT_EQ(page("--seed 3"), first);
  EXPECT_NE(page("--seed 4"), first);
}

TEST(Demo, RefusesWhatItCannotDo) {
  expect_complaint("demo", "swampin", "unknown story 'swampin'; nearest: swamping");
  expect_complaint("demo", "swamping --out /dev/null/x.html", "--out: ");
  expect_complaint("demo", "swamping --seed -1", "--seed");
  expect_complaint("demo", "swamping --out a.pdf", "--out: 'a.pdf': expected a file name that ends in .html");
  const Outcome o = run_shell("PATH=/nowhere '" SOFTAMP_PROGRAM "' demo swamping --out /dev/null");
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("gnuplot"), std::string::npos) << o.err;
}

}  // namespace
}  // namespace softamp::test
