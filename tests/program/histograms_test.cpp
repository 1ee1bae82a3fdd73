// `softamp train --histograms`: counts of the tensors that a step computes, and a run that is the same with them.
#include "tests/program/process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "softamp/data/npz.h"
#include "softamp/pictures/exponent_histogram.h"
#include "softamp/pictures/plot.h"

namespace softamp::test {
namespace {

using nlohmann::json;

const std::string kHistogramRun =
    "train --quiet --set generated=true --set train_images=64 --set test_images=32 --set batch_size=8 --set epochs=2 ";

TEST(Histograms, LeaveTheRunAsItIsAndDoNotDependOnThreads) {
  const TemporaryFolder folder;
  const std::string run = kHistogramRun + "--set precision=float16 --set stochastic_rounding=on ";
  ASSERT_EQ(run_softamp(run + "--log " + folder.file("a.jsonl")).code, 0);
  for (const std::string threads : {"1", "3"}) {
    const Outcome o = run_softamp(run + "--threads " + threads + " --log " + folder.file("b.jsonl") +
                                  " --histogram-every 3 --histograms " + folder.file(threads + ".json"));
    ASSERT_EQ(o.code, 0) << o.err;
    const auto after_settings = [&](const std::string& name) {
      const std::string text = read_text(folder.file(name));
      return text.substr(text.find('\n'));
    };
    EXPECT_EQ(after_settings("a.jsonl"), after_settings("b.jsonl"));
  }
  EXPECT_EQ(read_text(folder.file("1.json")), read_text(folder.file("3.json")));
  const json document = json::parse(read_text(folder.file("1.json")));
  std::vector<int> steps;
  for (const json& step : document["steps"]) steps.push_back(step["step"]);
  EXPECT_EQ(steps, (std::vector<int>{0, 3, 6, 9, 12, 15}));
  std::set<std::string> kinds;
  for (const json& tensor : document["steps"][0]["tensors"]) {
    kinds.insert(tensor["kind"].get<std::string>());
    const json& counts = tensor["counts"];
    int64_t all = counts["zeros"].get<int64_t>() + counts["infinities"].get<int64_t>() + counts["nans"].get<int64_t>();
    for (const auto& [exponent, count] : counts["exponents"].items()) all += count.get<int64_t>();
    EXPECT_EQ(all, counts["elements"]) << tensor;
    if (tensor["kind"] != "gradients") continue;
    // The loss scale is 256: what is not scaled stands eight exponents lower.
    std::map<int, int64_t> moved;
    for (const auto& [exponent, count] : counts["exponents"].items()) moved[std::stoi(exponent) - 8] = count;
    std::map<int, int64_t> unscaled;
    for (const auto& [exponent, count] : tensor["unscaled"]["exponents"].items()) unscaled[std::stoi(exponent)] = count;
    EXPECT_EQ(moved, unscaled) << tensor["layer"];
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"weights", "activations", "gradients"}));
}

TEST(Histograms, OfWeightsAreThoseOfTheArrays) {
  const TemporaryFolder folder;
  const json run = json_of(kHistogramRun + "--steps 1 --json --write-initial " + folder.file("w.npz") +
                           " --histograms " + folder.file("h.json"));
  EXPECT_EQ(run["histograms"], json::parse(read_text(folder.file("h.json")))["steps"]);
  std::map<std::string, ExponentHistogram> expected;
  npz::Reader reader(folder.file("w.npz"));
  for (const std::string& name : reader.names()) {
    const Tensor t = reader.tensor(name);
    expected[name.substr(0, name.rfind('/'))].add(exponents_of(t.type(), t.data()));
  }
  ASSERT_FALSE(expected.empty());
  size_t found = 0;
  for (const json& tensor : run["histograms"][0]["tensors"]) {
    if (tensor["kind"] != "weights") continue;
    ++found;
    EXPECT_EQ(tensor["counts"], json::parse(expected[tensor["layer"].get<std::string>()].json())) << tensor["layer"];
  }
  EXPECT_EQ(found, expected.size());
}

TEST(Histograms, TakeAScaleThatIsNoPowerOfTwo) {
  const TemporaryFolder folder;
  const json run =
      json_of(kHistogramRun + "--steps 2 --json --set precision=float16 --set loss_scale=1000 --histograms " +
              folder.file("h.json"));
  for (const json& tensor : run["histograms"][0]["tensors"])
    if (tensor["kind"] == "gradients") {
      EXPECT_EQ(tensor["unscaled"]["elements"], tensor["counts"]["elements"]);
      EXPECT_EQ(tensor["unscaled"]["zeros"], tensor["counts"]["zeros"]);
    }
  EXPECT_EQ(run["histograms"][0]["loss_scale"], 1000);
}

TEST(Histograms, ArePicturesWithTheFormatsLimits) {
  if (!plots_can_be_drawn()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  const Outcome o =
      run_softamp(kHistogramRun + "--steps 3 --set precision=float16 --histograms " + folder.file("h.svg"));
  ASSERT_EQ(o.code, 0) << o.err;
  const std::string svg = read_text(folder.file("h.svg"));
  for (const char* text : {"times the loss scale, 256", "without it", "float16: subnormal from", "float16: normal from",
                           "float16: no number from"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
}

TEST(Histograms, RefuseWhatCannotBeWrittenBeforeTheRun) {
  const TemporaryFolder folder;
  expect_complaint("train", "--histograms a.gif",
                   "histograms 'a.gif': expected a file name that ends in .json, .svg, .png or .pdf");
  expect_complaint("train", "--histograms " + folder.file("no/a.json"), "no/a.json' cannot be written");
  expect_complaint("train", "--csv a.json --histograms a.json", "--csv: 'a.json' is the file of --histograms");
  expect_complaint("train", "--find-loss-scale --histograms a.json",
                   "--histograms: 'a.json': --find-loss-scale does not train");
}

}  // namespace
}  // namespace softamp::test
