// Results of tensor cores: made-up sets with two wrong lines each (vectors/make.py), layouts and lines that are
// refused, and the real sets where they are there.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <tuple>

#include "softamp/chips/tensor_core_table.h"
#include "softamp/data/images.h"
#include "softamp/names/names.h"
#include "src/reproduce/request.h"
#include "src/reproduce/shelf.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/reproduce/brief.h"

namespace vectors_of_tests {
namespace {

namespace fs = std::filesystem;
using namespace softamp;
using namespace softamp::reproduce;

const fs::path kMadeUp = fs::path(SOFTAMP_SOURCE_DIR) / "tests/reproduce/vectors";

const Experiment& vectors() { return experiment_called("tensor-core-vectors"); }
Outcome of_folder(const fs::path& folder, bool brief = false) {
  Request request;
  request.data = folder.string();
  request.brief = brief;
  return outcome_of(vectors(), request);
}
size_t column(const Table& t, const std::string& name) {
  return static_cast<size_t>(std::find(t.columns.begin(), t.columns.end(), name) - t.columns.begin());
}

/// A copy of the made-up sets, to be spoilt.
class Copy {
 public:
  Copy() {
    fs::copy(kMadeUp, folder_.path() / "data", fs::copy_options::recursive);
    fs::remove(folder_.path() / "data/make.py");
  }
  fs::path operator/(const std::string& name) const { return folder_.path() / "data" / name; }
  std::string refusal() const {
    return folder_.without(softamp::test::refusal<std::exception>([this] { of_folder(folder_.path() / "data"); }));
  }
  fs::path folder() const { return folder_.path() / "data"; }

 private:
  softamp::test::TemporaryFolder folder_;
};

TEST(TensorCoreVectors, WrongLinesAreCounted) {
  const Outcome o = of_folder(kMadeUp);
  ASSERT_EQ(o.checks.size(), 6u);
  for (const Check& c : o.checks) {
    EXPECT_EQ(c.ours, "6 of 8 equal") << c.what;
    EXPECT_EQ(c.theirs, "8 of 8 equal") << c.what;
    EXPECT_FALSE(c.agrees) << c.what;
  }
  EXPECT_EQ(o.checks[3].what, "H100, e4m3 to fp32");
  EXPECT_EQ(o.checks[4].what, "H100, e5m2 to fp16");
  const Table& t = o.tables[0];
  ASSERT_EQ(t.rows.size(), 6u);
  for (const auto& row : t.rows) {
    EXPECT_EQ(row.size(), t.columns.size());
    EXPECT_EQ(row[column(t, "first unequal line")], 7);
  }
  const size_t model = column(t, "model"), digest = column(t, "SHA-256 of a, b, c, d");
  const char* const models[] = {"tensorcore_ampere", "tensorcore_ada",        "tensorcore_blackwell_mma",
                                "tensorcore_hopper", "tensorcore_hopper_mma", "tensorcore_volta"};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(t.rows[i][model], models[i]);
  // sha256sum of the texts, those of the second set unpacked.
  EXPECT_EQ(t.rows[5][digest], "6e43a8e1b01b9cb8037327fa37c5cb1ef28ea97f05c03a38f1a133dcd90f9566");
  EXPECT_EQ(t.rows[1][digest], "b59bdeb071900c52514c06c94e25e2dfb2b989c0cbcaee5f3f71cd2acc414c4a");
  EXPECT_EQ(o.settings["lines"], 48);
  EXPECT_EQ(o.settings["different_sets"], 6);
  for (const auto& row : o.tables[1].rows) EXPECT_EQ(row.size(), o.tables[1].columns.size());
}

/// Without the two wrong lines all are equal, and no line is looked at beyond the last.
TEST(TensorCoreVectors, AllLinesAndNoMore) {
  const Copy copy;
  for (const char* name : {"a_V100_fp16", "b_V100_fp16", "c_V100_fp32", "d_V100_fp32"}) {
    const std::string file = (copy / "V100/fp16" / (std::string(name) + ".txt")).string();
    std::string text = softamp::test::read_text(file);
    for (int line = 0; line < 2; ++line) text.erase(text.rfind('\n', text.size() - 2) + 1);
    softamp::test::write_text(file, text);
  }
  const Outcome o = of_folder(copy.folder());
  EXPECT_EQ(o.checks[5].ours, "6 of 6 equal");
  EXPECT_TRUE(o.checks[5].agrees);
  const auto& row = o.tables[0].rows[5];
  EXPECT_TRUE(row[column(o.tables[0], "first unequal line")].is_null());
  // F of the model is 23, and no other gives these six.
  const auto& others = o.tables[1].rows[5];
  EXPECT_LE(others[column(o.tables[1], "least F as good")], 23);
  EXPECT_GE(others[column(o.tables[1], "greatest F as good")], 23);
}

/// The folder above, too; a file of results of the other format beside the first is a set of its own.
TEST(TensorCoreVectors, WhereTheFoldersAre) {
  const Copy copy;
  fs::create_directory(copy.folder() / "CUDA");
  softamp::test::TemporaryFolder above;
  fs::rename(copy.folder(), above.path() / "tensor_cores");
  EXPECT_EQ(of_folder(above.path()).checks.size(), 6u);
  EXPECT_EQ(vectors().data_files(above.path().string()).size(), 24u);
  Request request;
  request.data = above.path().string();
  const Json before = request_json(vectors(), request);
  const fs::path set = above.path() / "tensor_cores/B200/E4M3";
  fs::copy_file(set / "d_B200_fp32.txt", set / "d_B200_fp16.txt");
  EXPECT_NE(request_json(vectors(), request), before) << "another run";
  EXPECT_NE(softamp::test::refusal<DataError>([&] { of_folder(above.path()); }).find("d_B200_fp16.txt: line 1: '"),
            std::string::npos)
      << "no fp16 numbers";
  softamp::test::write_text((set / "d_B200_fp16.txt").string(), [] {
    std::string text;
    for (int line = 0; line < 8; ++line) text += "01000000000000000000000000000000\n";
    return text;
  }());
  EXPECT_EQ(of_folder(above.path()).checks.size(), 7u);
}

TEST(TensorCoreVectors, LayoutsThatAreRefused) {
  const Copy copy;
  fs::create_directory(copy / "MI300");
  EXPECT_EQ(copy.refusal(),
            "tensor-core-vectors: data/MI300: is no GPU that is known; expected one of V100, T4, A100, A2, Ada, L40S, "
            "H100, H200, B200");
  fs::remove(copy / "MI300");
  fs::rename(copy / "V100/fp16", copy / "V100/fp17");
  EXPECT_EQ(copy.refusal(),
            "tensor-core-vectors: data/V100/fp17: is no format of operands; expected one of fp16, bf16, tf32, E4M3, "
            "E5M2");
  fs::rename(copy / "V100/fp17", copy / "V100/bf16");
  EXPECT_EQ(copy.refusal(), "tensor-core-vectors: data/V100/bf16: a V100 has no operands of bf16");
  fs::rename(copy / "V100/bf16", copy / "V100/fp16");
  fs::rename(copy / "V100/fp16/b_V100_fp16.txt", copy / "V100/fp16/b.txt");
  EXPECT_EQ(copy.refusal(),
            "tensor-core-vectors: data/V100/fp16: has no file b_V100_fp16.txt or b_V100_fp16.txt.gz; expected one of "
            "them");
  fs::rename(copy / "V100/fp16/b.txt", copy / "V100/fp16/b_V100_fp16.txt");
  softamp::test::write_text((copy / "V100/fp16/e.txt").string(), "");
  EXPECT_EQ(copy.refusal(),
            "tensor-core-vectors: data/V100/fp16/e.txt: is no file of this folder; expected a, b_V100_fp16.txt, "
            "c_V100_fp32.txt, d_V100_fp32.txt or _fp16.txt, each .gz or not");
  const softamp::test::TemporaryFolder empty;
  EXPECT_NE(softamp::test::refusal<std::invalid_argument>([&] {
              of_folder(empty.path());
            }).find("has no folder of a GPU, nor has its folder tensor_cores"),
            std::string::npos);
  EXPECT_TRUE(vectors().data_files(empty.path().string()).empty());
}

TEST(TensorCoreVectors, LinesThatAreRefused) {
  const Copy copy;
  const std::string a = (copy / "V100/fp16/a_V100_fp16.txt").string(),
                    d = (copy / "V100/fp16/d_V100_fp32.txt").string();
  const std::string codes = softamp::test::read_text(a), results = softamp::test::read_text(d);
  const auto spoilt = [&](const std::string& file, const std::string& text) {
    softamp::test::write_text(file, text);
    const std::string words = copy.refusal();
    softamp::test::write_text(file, file == a ? codes : results);
    return words;
  };
  const std::string numbers = "numbers of fp16: fp32 codes of 8 hexadecimal digits";
  EXPECT_EQ(spoilt(a, "3f800000 3f800001 3f800000 3f800000\n"),
            "data/V100/fp16/a_V100_fp16.txt: line 1: '3f800001'; expected " + numbers);
  EXPECT_EQ(spoilt(a, "3f800000 3f8000 3f800000 3f800000\n"),
            "data/V100/fp16/a_V100_fp16.txt: line 1: '3f8000'; expected " + numbers);
  const std::string e4m3 = (copy / "H100/E4M3/a_H100_E4M3.txt").string(), all = softamp::test::read_text(e4m3);
  softamp::test::write_text(e4m3, "7f800000" + all.substr(8));
  EXPECT_EQ(copy.refusal(),
            "data/H100/E4M3/a_H100_E4M3.txt: line 1: '7f800000'; expected numbers of e4m3: fp32 codes of 8 hexadecimal "
            "digits");
  softamp::test::write_text(e4m3, all);
  EXPECT_EQ(spoilt(a, codes + "3f800000\n"),
            "data/V100/fp16/a_V100_fp16.txt: line 9: '1 operands'; expected 4, as on the lines before");
  EXPECT_EQ(spoilt(a, codes + codes.substr(0, codes.find('\n') + 1)),
            "data/V100/fp16/b_V100_fp16.txt: has 8 lines; expected 9, as the files beside it have");
  EXPECT_EQ(spoilt(d, results + "0100\n"),
            "data/V100/fp16/d_V100_fp32.txt: line 9: '0100'; expected an fp32 code of 32 binary digits");
  EXPECT_EQ(spoilt(d, results.substr(33)),
            "data/V100/fp16/d_V100_fp32.txt: has 7 lines; expected 8, as the files beside it have");
}

/// A line with an infinity or a NaN is a case like any other.
TEST(TensorCoreVectors, InfinitiesAndNans) {
  const Copy copy;
  const auto change = [&](const std::string& file, size_t line, const std::string& begins) {
    std::string text = softamp::test::read_text((copy / file).string());
    size_t at = 0;
    while (line-- != 0) at = text.find('\n', at) + 1;
    text.replace(at, begins.size(), begins);
    softamp::test::write_text((copy / file).string(), text);
  };
  const std::string infinity = "01111111100000000000000000000000", nan = "01111111111111111111111111111111",
                    quiet = "01111111110000000000000000000000", one = "3f800000", folder = "V100/fp16/";
  const std::string a = folder + "a_V100_fp16.txt", b = folder + "b_V100_fp16.txt", c = folder + "c_V100_fp32.txt",
                    d = folder + "d_V100_fp32.txt";
  const auto equal = [&] { return of_folder(copy.folder()).checks[5].ours; };
  EXPECT_EQ(equal(), "6 of 8 equal");
  change(a, 0, "7f800000"), change(b, 0, one), change(d, 0, infinity);
  EXPECT_EQ(equal(), "6 of 8 equal");
  change(c, 1, infinity), change(d, 1, infinity);
  change(a, 2, "7fc00000"), change(d, 2, nan);
  change(a, 3, "7f800000"), change(b, 3, "00000000"), change(d, 3, quiet);
  EXPECT_EQ(equal(), "6 of 8 equal") << "any NaN is a NaN";
  change(d, 2, infinity);
  EXPECT_EQ(equal(), "5 of 8 equal");
  change("H100/E4M3/a_H100_E4M3.txt", 0, "7fc00000"), change("H100/E4M3/d_H100_fp32.txt", 0, quiet);
  EXPECT_EQ(of_folder(copy.folder()).checks[3].ours, "6 of 8 equal");
}

TEST(TensorCoreVectors, WithoutDataItIsSkipped) {
  const Outcome o = outcome_of(vectors(), Request{});
  EXPECT_EQ(o.skipped.rfind("no results of tensor cores: expected --data DIR", 0), 0u) << o.skipped;
  EXPECT_EQ(vectors().seconds(Request{}), 0);
}

/// Every set, every line.
// tests: N475
TEST(TensorCoreVectors, RealResults) {
  const fs::path folder = data_folder().value_or(fs::path(SOFTAMP_SOURCE_DIR) / "../shared/data");
  if (vectors().data_files(folder.string()).empty())
    GTEST_SKIP() << "no folder tensor_cores in SOFTAMP_DATA or ../shared/data";
  const Outcome o = of_folder(folder);
  EXPECT_EQ(o.checks.size(), 24u);
  for (const Check& c : o.checks) EXPECT_EQ(c.ours, "5000 of 5000 equal") << c.what;
  EXPECT_EQ(o.settings["different_sets"], 21) << "an L40S's are those of an Ada part";
  // What the results leave open: F of sums of 8 bits in pairs, and of some with an fp16 result.
  const Table& t = o.tables[1];
  const size_t least = column(t, "least F as good"), most = column(t, "greatest F as good");
  for (const auto& row : t.rows) {
    const bool wide = row[2] == "fp32", pairs = !row[column(t, "C first")].is_null();
    EXPECT_EQ(row[least] == row[most], (wide && !pairs) || (row[0] == "Ada" && row[1] == "e5m2")) << row[0] << row[1];
    for (const char* other : {"half the group", "twice the group", "one chain of k", "C first"})
      if (const Json& count = row[column(t, other)]; !count.is_null()) {
        EXPECT_LT(count, 4500) << row[0] << row[1] << other;
      }
  }
  // What `softamp chips` calls verified is what has such a set.
  std::set<std::tuple<std::string, std::string, std::string>> seen, told;
  for (const auto& row : o.tables[0].rows)
    seen.emplace(row[column(o.tables[0], "model")], row[1].get<std::string>(), row[2].get<std::string>());
  for (const TensorCoreParts& parts : tensor_core_parts())
    for (const TensorCoreRow& r : tensor_core_rows(parts.accumulator))
      if (r.evidence == TensorCoreEvidence::kVerified)
        told.emplace(name_of(r.accumulator), format_name(r.operand), r.halves ? "fp16" : "fp32");
  EXPECT_EQ(seen, told);
  const Outcome brief = of_folder(folder, true);
  EXPECT_EQ(brief.checks[0].ours, "250 of 250 equal");
  EXPECT_FALSE(brief.deviations.empty());
}

}  // namespace
}  // namespace vectors_of_tests
