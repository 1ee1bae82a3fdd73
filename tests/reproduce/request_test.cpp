// What a request says of itself: the command line and the JSON of an experiment hold the options that it takes.
#include "src/reproduce/request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "softamp/names/names.h"
#include "src/reproduce/steps/fixed_point_net.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/reproduce/fake_experiment.h"

namespace softamp::reproduce::test {
namespace {

constexpr struct {
  Option option;
  const char *name, *key;
} kOptions[] = {{kFormat, "--format", "format"},
                {kFixed, "--fixed-format", "fixed_format"},
                {kRounding, "--rounding", "rounding"},
                {kBits, "--bits", "bits"},
                {kSeed, "--seed", "seed"},
                {kSamples, "--samples", "samples"},
                {kData, "--data", "data"}};

Request full_request(const std::string& data) {
  Request request;
  request.formats = {kFp16, kBf16};
  request.roundings = {RoundingMode::kUp, RoundingMode::kOdd};
  request.bits = 7;
  request.seed = 3;
  request.samples = 11;
  request.fixed_formats = {fixed16(10)};
  request.data = data;
  request.brief = true;
  return request;
}

Experiment taking(unsigned options) {
  Experiment e = fake_experiment();
  e.options = options;
  return e;
}

TEST(Request, TheCommandSaysAllOfIt) {
  EXPECT_EQ(
      command_line(taking(~0u), full_request("/home/somebody")),
      "softamp reproduce fake --format fp16 --format bf16 --fixed-format q6.10 --rounding up --rounding odd --bits 7 "
      "--seed 3 --samples 11 --data DIR --brief");
  EXPECT_EQ(command_line(taking(~0u), {}), "softamp reproduce fake");
  // `all` gives the seed and the data to every experiment, also to those that do not take them.
  const std::string others = command_line(taking(~0u & ~unsigned{kSeed | kData}), full_request("/home/somebody"));
  EXPECT_EQ(others.find("--seed"), std::string::npos);
  EXPECT_EQ(others.find("--data"), std::string::npos);
}

TEST(Request, TheJsonHasWhatIsTaken) {
  const softamp::test::TemporaryFolder data;
  const Request request = full_request(data.path().string());
  for (const auto& o : kOptions) {
    const Json json = request_json(taking(o.option), request);
    EXPECT_EQ(json.size(), 2u) << o.name << json;
    EXPECT_EQ(json["brief"], true);
    EXPECT_TRUE(json.contains(o.key)) << o.name;
    EXPECT_EQ(option_names(o.option), o.name);
  }
  Json all = request_json(taking(~0u), request);
  EXPECT_EQ(all["data"].get<std::string>().size(), 64u);
  all.erase("data");
  EXPECT_EQ(all.dump(), R"({"brief":true,"format":["fp16","bf16"],"fixed_format":["q6.10"],"rounding":["up","odd"],)"
                        R"("bits":7,"seed":3,"samples":11})");
  EXPECT_EQ(request_json(taking(~0u), {}).dump(), R"({"seed":0})");
  EXPECT_EQ(option_names(0), "no options");
}

TEST(Request, WhatIsNotTakenIsNamed) {
  for (const auto& o : kOptions) {
    const Experiment e = taking(~0u & ~unsigned{o.option});
    const auto said = [&](bool seed_given) {
      return softamp::test::refusal<std::invalid_argument>([&] { check_request(e, full_request("x"), seed_given); });
    };
    EXPECT_EQ(said(true), std::string(o.name) + ": 'fake' does not take it; it takes " + option_names(e.options));
    EXPECT_EQ(said(false).empty(), o.option == kSeed) << o.name;
    check_request(e, {}, false);
  }
  EXPECT_EQ(softamp::test::refusal<std::invalid_argument>([&] { check_request(taking(0), full_request("x"), true); }),
            "--format: 'fake' does not take it; it takes no options");
}

/// Another file, another size, another place, another time: another request.
TEST(Request, DataThatChangesIsAnotherRequest) {
  const softamp::test::TemporaryFolder data;
  const auto digest = [&] { return request_json(taking(kData), full_request(data.path().string()))["data"]; };
  std::vector<Json> seen = {digest()};
  const auto expect_new = [&](const char* what) {
    const Json now = digest();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), now), 0) << what;
    EXPECT_EQ(digest(), now) << what;
    seen.push_back(now);
  };
  namespace fs = std::filesystem;
  const fs::path file = data.path() / "a.npy";
  softamp::test::write_text(file.string(), "1");
  expect_new("a file");
  const auto time = fs::last_write_time(file);
  softamp::test::write_text(file.string(), "22");
  fs::last_write_time(file, time);
  expect_new("another size");
  fs::last_write_time(file, time - std::chrono::hours(1));
  expect_new("another time");
  fs::rename(file, data.path() / "b.npy");
  expect_new("another name");
  for (const char* below : {"fashion-mnist", "mnist"}) {
    fs::create_directory(data.path() / below);
    softamp::test::write_text((data.path() / below / "c").string(), "1");
    expect_new(below);
  }
  const Json before = digest();
  fs::create_directory(data.path() / "elsewhere");
  softamp::test::write_text((data.path() / "elsewhere" / "c").string(), "1");
  EXPECT_EQ(digest(), before) << "which no data set is read from";
}

}  // namespace
}  // namespace softamp::reproduce::test
