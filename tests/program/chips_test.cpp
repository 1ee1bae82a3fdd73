// `softamp chips` and `softamp round --chip`.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <cstring>
#include <regex>
#include <sstream>

#include "softamp/data/npy.h"
#include "softamp/numerics/random.h"
#include "tests/csv.h"
#include "tests/program/process.h"

namespace softamp::test {
namespace {

using nlohmann::json;

json answer(const std::string& arguments) {
  const Outcome outcome = run_softamp(arguments);
  EXPECT_EQ(outcome.err, "");
  return json_of(outcome);
}

TEST(ChipsVerb, TheTableHasALineForEachConversion) {
  const Outcome outcome = run_softamp("chips");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("chip            to    from  bits  R is", 0), 0u) << outcome.out.substr(0, 60);
  const json document = answer("chips --json");
  size_t conversions = 0;
  for (const json& chip : document["chips"]) {
    EXPECT_NE(outcome.out.find("\n" + chip["name"].get<std::string>() + "  "), std::string::npos) << chip["name"];
    EXPECT_FALSE(chip["evidence"].empty());
    conversions += chip["conversions"].size();
  }
  EXPECT_EQ(document["chips"].size(), 12u);
  EXPECT_EQ(parse_csv(run_softamp("chips --csv /dev/stdout").out).size(), conversions + 1);
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
}

TEST(ChipsVerb, TensorCoresWithTheirEvidence) {
  const json cores = answer("chips --tensor-cores --json")["tensor_cores"];
  EXPECT_EQ(cores, answer("chips --json")["tensor_cores"]);
  ASSERT_EQ(cores.size(), 8u);
  const Outcome outcome = run_softamp("chips --tensor-cores"), all = run_softamp("chips");
  EXPECT_NE(all.out.find("\nTensor cores: how their products are summed\n\n" + outcome.out), std::string::npos);
  size_t instructions = 0;
  for (const json& core : cores) {
    const std::string name = core["accumulator"];
    EXPECT_NE(outcome.out.find("\n" + name + "  "), std::string::npos) << name;
    instructions += core["instructions"].size();
  }
  EXPECT_EQ(parse_csv(run_softamp("chips --tensor-cores --csv /dev/stdout").out).size(), instructions + 1);
  const json& mma = cores[6];
  EXPECT_EQ(mma["accumulator"], "tensorcore_hopper_mma");
  EXPECT_EQ(mma["confirmed"], "H100, H200");
  EXPECT_EQ(mma["instructions"][3]["operands"], "e5m2");
  EXPECT_EQ(mma["instructions"][3]["accumulator_format"], "fp16");
  EXPECT_EQ(mma["instructions"][3]["order"], "two groups, C last");
  EXPECT_EQ(mma["instructions"][3]["evidence"], "verified");
  EXPECT_EQ(mma["instructions"][3]["equal_results"], 10000);
  EXPECT_FALSE(answer("chips ipu --json").contains("tensor_cores"));
  const Outcome both = run_softamp("chips ipu --tensor-cores");
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("NAME: expected no --tensor-cores beside it"), std::string::npos) << both.err;
}

TEST(ChipsVerb, OneChipWithItsEvidenceInFull) {
  const Outcome outcome = run_softamp("chips nvidia_sm100");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"nvidia_sm100: NVIDIA B200 (sm_100a)", "instruction  cvt.rs", "hash-verified", "PTX ISA 8.7",
                           "third party", "the first operand lands highest"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  const json p3109 = answer("chips p3109_rne --bits 5 --json")["chips"][0];
  EXPECT_EQ(p3109["conversions"][0]["bits"], 5);
}

/// 1 + 2^-11, a tie, under the word 5a5a1234: NVIDIA reads 1234 (up from 1000 on), AMD the top 13 bits, 0b4b.
TEST(ChipsVerb, TheSameInputAndWord) {
  const json document = answer("chips --input 1.00048828125 --input=-0 --format fp16 --json");
  ASSERT_EQ(document["comparisons"].size(), 1u);
  const json& c = document["comparisons"][0];
  EXPECT_EQ(c["word"], "0x5a5a1234");
  const json& tie = c["inputs"][0]["results"];
  EXPECT_EQ(c["inputs"][0]["code"], "0x3f801000");
  EXPECT_EQ(c["inputs"][0]["nearest"], "0x3c00");
  EXPECT_EQ(tie["nvidia_sm100"]["code"], "0x3c01");
  EXPECT_EQ(tie["nvidia_sm100"]["away"], true);
  EXPECT_EQ(tie["amd_cdna4"]["code"], "0x3c00");
  EXPECT_EQ(tie["amd_cdna4"]["away"], false);
  EXPECT_EQ(tie["intel_xe"]["code"], "0x3c01");
  EXPECT_EQ(tie["ipu"]["code"], "0x3c00");  // 16 bits: 1234 below 8000
  EXPECT_FALSE(tie.contains("tenstorrent_wh"));
  EXPECT_EQ(c["inputs"][1]["results"]["amd_cdna4"]["text"], "-0");
  const json& r = c["chips"];
  EXPECT_EQ(r[1]["chip"], "nvidia_sm100");
  EXPECT_EQ(r[1]["random"], 0x1234);
  EXPECT_EQ(c["not_compared"], (json{"amd_cdna3", "tenstorrent_wh"}));
}

/// A negative result that grew is no result "above".
TEST(ChipsVerb, WhatIsNotComparedIsNamed) {
  const Outcome text = run_softamp("chips ipu amd_cdna3 amd_cdna4 --input -1.5 --format fp16 --lane 1");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out.rfind("to fp16, random word 0x5a5a1234, value 1 of the packed result; codes in hexadecimal, + "
                           "where the result lies further from zero than the truncated value\n",
                           0),
            0u)
      << text.out;
  EXPECT_NE(text.out.find("\none word per value, in any lane: amd_cdna4\n"), std::string::npos);
  EXPECT_NE(text.out.find("\nnot compared, no rounding to fp16: amd_cdna3\n"), std::string::npos);
  const Outcome csv = run_softamp("chips ipu amd_cdna3 --input 1 --csv /dev/stdout");
  EXPECT_TRUE(csv.err.ends_with("\nnot compared, no rounding to fp16: amd_cdna3\n")) << csv.err;
  EXPECT_EQ(parse_csv(csv.out)[0].size(), 5u);
}

/// Strangers do not have our notes: no number of a rule or source of ours is printed.
TEST(ChipsVerb, NoReferencesThatOnlyWeCanFollow) {
  const std::regex ours("(^|[^A-Za-z0-9_])(N[0-9]{3}|[BDGQS][0-9]{1,2})([^A-Za-z0-9_]|$)|ipu\\.md");
  for (const json& chip : answer("chips --json")["chips"])
    for (const char* part : {"title", "instruction", "notes", "evidence"}) {
      std::smatch found;
      std::string text = chip[part].dump();
      for (const char* title : {"Wormhole B0"})  // the name of a revision
        if (const size_t at = text.find(title); at != std::string::npos) text.erase(at, std::strlen(title));
      EXPECT_FALSE(std::regex_search(text, found, ours)) << chip["name"] << ": " << found.str();
    }
}

/// What the digests do not cover is said beside them, and the weakest is shown.
// tests: N389
TEST(ChipsVerb, EvidenceIsNotOverstated) {
  const Outcome b200 = run_softamp("chips nvidia_sm100");
  for (const char* part :
       {"hash-verified in part", "other random numbers", "normal fp16", "infinity, NaN", "without .satfinite"})
    EXPECT_NE(b200.out.find(part), std::string::npos) << part;
  for (const json& row : answer("chips ipu --json")["chips"][0]["conversions"])
    EXPECT_EQ(row["evidence"], "assumed") << row["to"];
}

TEST(ChipsVerb, TwoChipsThatReadOtherBytes) {
  const json document =
      answer("chips nvidia_sm100 nvidia_sm103 --compare --format e4m3 --lane 1 --word 0x00008001 --json");
  const json& c = document["comparisons"][0];
  EXPECT_EQ(c["chips"][0]["random"], 0x80);
  EXPECT_EQ(c["chips"][1]["random"], 0x80);  // byte 0, reversed
  EXPECT_EQ(c["inputs"].size(), 16u);
  const auto csv = parse_csv(run_softamp("chips nvidia_sm100 --compare --format bf16 --csv /dev/stdout").out);
  EXPECT_EQ(csv.size(), 18u);
  EXPECT_EQ(csv[0].size(), 5u);
  const Outcome text = run_softamp("chips --compare");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("to fp16, random word 0x5a5a1234"), std::string::npos);
  EXPECT_NE(text.out.find("to bf16, random word 0x5a5a1234"), std::string::npos);
}

TEST(ChipsVerb, BadWordsAreNamed) {
  EXPECT_EQ(error_of("chips amd_cdna2").rfind("softamp chips: unknown chip 'amd_cdna2'; nearest: amd_cdna", 0), 0u);
  EXPECT_EQ(error_of("chips trainium").rfind("softamp chips: no preset for chip 'trainium': ", 0), 0u);
  EXPECT_EQ(error_of("chips amd_cdna3 --compare --format fp16"),
            "softamp chips: chip amd_cdna3 does not round to fp16: expected f143 or f152\n");
  EXPECT_EQ(error_of("chips --input 1.2.3").rfind("softamp chips: --input: '1.2.3' is not a number", 0), 0u);
  EXPECT_EQ(error_of("chips --lane 4"), "softamp chips: --lane: '4': expected a whole number in 0..3\n");
  const std::string lane = "softamp chips: --lane: ";
  EXPECT_EQ(error_of("chips nvidia_sm100 --compare --format fp16 --lane 3"),
            lane + "'3': one word of nvidia_sm100 serves 2 values of fp16: expected 0..1\n");
  EXPECT_EQ(error_of("chips amd_cdna4 intel_xe --compare --format e5m2 --lane 1"),
            lane + "'1': a word serves one value of e5m2 (amd_cdna4, intel_xe): expected 0\n");
  EXPECT_EQ(run_softamp("chips nvidia_sm103 --compare --format e4m3 --lane 3").code, 0);
  for (const std::string idle : {"--format e4m3", "--word 1", "--lane 0"})
    EXPECT_EQ(error_of("chips " + idle),
              "softamp chips: " + idle.substr(0, idle.find(' ')) + ": expected --compare beside it\n");
  EXPECT_EQ(error_of("chips intel_xe --bits 5"),
            "softamp chips: --bits: '5': the number is fixed for intel_xe: expected one of p3109_fastest, p3109_fast, "
            "p3109_rne, p3109_odd\n");
  EXPECT_EQ(error_of("chips exact ipu --compare --bits 5")
                .rfind("softamp chips: --bits: '5': the number is fixed for exact and the others named: ", 0),
            0u);
  EXPECT_EQ(run_softamp("chips --bits 5").code, 0);
  EXPECT_EQ(error_of("chips ipu exact ipu"), "softamp chips: NAME: 'ipu' twice: expected each chip once\n");
  EXPECT_EQ(error_of("chips --csv /dev/stdout --json"),
            "softamp chips: --csv: '/dev/stdout' takes the document of --json; expected another file\n");
  EXPECT_EQ(error_of("chips --compare --format fp16 --format bf16 --latex a.tex"),
            "softamp chips: --latex: expected one --format\n");
}

// ---- softamp round --chip

class RoundByChip : public ::testing::Test {
 protected:
  template <class T>
  std::string array(const char* name, npy::ElementType type, const std::vector<T>& values) {
    const uint64_t shape[] = {values.size()};
    npy::Writer writer(folder_.file(name), type, shape);
    writer.write(values.data(), values.size());
    writer.commit();
    return folder_.file(name);
  }
  TemporaryFolder folder_;
};

TEST_F(RoundByChip, RandomNumbersFromAFile) {
  // One that overflows where it goes up; a tie; one and a half of the least subnormal number.
  const std::string in = array<float>("in.npy", npy::ElementType::kFloat32, {65519.99f, 1.00048828125f, 0x1.8p-24f});
  const std::string words = array<uint16_t>("r.npy", npy::ElementType::kUint16, {0x1FFF, 0x1000, 0x1FFF});
  const auto codes = [&](const std::string& options) {
    const Outcome outcome = run_softamp("round " + in + " " + folder_.file("out.npy") +
                                        " --format fp16 --random-words " + words + " " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    npy::Reader reader(folder_.file("out.npy"));
    std::vector<uint16_t> out(3);
    reader.read(out.data(), out.size());
    return out;
  };
  using Codes = std::vector<uint16_t>;
  EXPECT_EQ(codes("--chip nvidia_sm100"), (Codes{0x7C00, 0x3C01, 0x0002}));
  EXPECT_EQ(codes("--chip nvidia_sm100 --overflow saturate"), (Codes{0x7BFF, 0x3C01, 0x0002}));
  EXPECT_EQ(codes("--chip intel_xe"), (Codes{0x7C00, 0x3C01, 0x0001}));
  EXPECT_EQ(codes("--chip p3109_fastest --bits 1"), (Codes{0x7BFF, 0x3C00, 0x0002}));  // sees no half of 65519.99
}

/// The same number under the same word of the machine: `round` and `chips` agree, whichever bits the chip reads.
TEST_F(RoundByChip, TheWordMeansWhatItMeansInChips) {
  const struct {
    const char *chip, *format;
  } rows[] = {{"amd_cdna4", "fp16"}, {"amd_cdna3", "f143"}, {"nvidia_sm100", "bf16"}, {"nvidia_sm103", "e4m3"},
              {"intel_xe", "fp16"},  {"ipu", "fp16"},       {"p3109_rne", "e5m2"}};
  for (const auto& row : rows) {
    const std::string name = row.chip;
    for (const uint32_t word : {0x5A5A1234u, 0xFFF80000u}) {
      const json compared = answer("chips " + name + " --compare --format " + row.format + " --word " +
                                   std::to_string(word) + " --json")["comparisons"][0]["inputs"];
      std::vector<float> values;
      std::vector<uint64_t> expected;
      for (const json& input : compared) {
        values.push_back(
            std::bit_cast<float>(static_cast<uint32_t>(std::stoul(input["code"].get<std::string>(), nullptr, 16))));
        expected.push_back(std::stoul(input["results"][name]["code"].get<std::string>(), nullptr, 16));
      }
      const std::string in = array("in.npy", npy::ElementType::kFloat32, values);
      const std::string words = array("r.npy", npy::ElementType::kUint32, std::vector<uint32_t>(values.size(), word));
      const std::string out = folder_.file("out.npy");
      answer("round " + in + " " + out + " --format " + row.format + " --chip " + name + " --random-words " + words +
             " --json");
      npy::Reader reader(out);
      std::vector<uint64_t> found;
      if (npy::size_of(reader.header().type) == 1) {
        std::vector<uint8_t> codes(values.size());
        reader.read(codes.data(), codes.size());
        found.assign(codes.begin(), codes.end());
      } else {
        std::vector<uint16_t> codes(values.size());
        reader.read(codes.data(), codes.size());
        found.assign(codes.begin(), codes.end());
      }
      EXPECT_EQ(found, expected) << name << " word " << word;
    }
  }
}

/// --packed: one word for four neighbours, each by its byte; sm_103 takes them in another order. Half a quantum above 1
/// goes up where its byte reaches 80.
TEST_F(RoundByChip, PackedWordsServeNeighbours) {
  std::vector<float> values(11, 1.0625f);
  values[10] = 1e9f;
  const std::string in = array("in.npy", npy::ElementType::kFloat32, values), out = folder_.file("out.npy");
  const std::string words = array<uint32_t>("r.npy", npy::ElementType::kUint32, {0x00000080, 0x80000000, 0x00000001});
  const auto round = [&](const std::string& options) {
    return "round " + in + " " + out + " --format e4m3 " + options;
  };
  const auto codes = [&](const std::string& options) {
    const json summary = answer(round(options + " --json"));
    EXPECT_EQ(summary["settings"]["packed"], true);
    EXPECT_EQ(summary["flags"]["overflow"]["first_index"], 10);
    npy::Reader reader(out);
    std::vector<uint8_t> read(values.size());
    reader.read(read.data(), read.size());
    return read;
  };
  using Codes = std::vector<uint8_t>;
  EXPECT_EQ(codes("--chip nvidia_sm100 --packed --random-words " + words),
            (Codes{0x39, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x39, 0x38, 0x38, 0x7E}));
  EXPECT_EQ(codes("--chip nvidia_sm103 --packed --random-words " + words),
            (Codes{0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x39, 0x38, 0x38, 0x39, 0x7E}));
  Codes drawn;
  for (uint64_t i = 0; i < values.size(); ++i) {
    const uint32_t byte = RandomBits{7}.bits(0, 0, i / 4, 32) >> 8 * (i % 4) & 0xFF;
    drawn.push_back(i == 10 ? 0x7E : byte >= 0x80 ? 0x39 : 0x38);
  }
  EXPECT_EQ(codes("--chip nvidia_sm100 --packed --seed 7"), drawn);

  EXPECT_EQ(error_of(round("--packed")), "softamp round: --packed: expected --chip beside it, whose words they are\n");
  const std::string two = array<uint32_t>("r2.npy", npy::ElementType::kUint32, {1, 2});
  EXPECT_EQ(error_of(round("--chip nvidia_sm100 --packed --random-words " + two)),
            "softamp round: " + two + ": 2 words; expected 3, one for every 4 of 11 elements\n");
  const std::string half = array<uint16_t>("r3.npy", npy::ElementType::kUint16, {1, 2, 3});
  EXPECT_EQ(error_of(round("--chip nvidia_sm100 --packed --random-words " + half)),
            "softamp round: " + half + ": type '<u2'; expected whole words with --packed, '<u4'\n");
  for (const char* other :
       {"--chip amd_cdna4 --packed", "--chip nvidia_sm100", "--chip nvidia_sm100 --packed --values"})
    EXPECT_EQ(error_of(round(std::string(other) + " --backend cuda")),
              "softamp round: --backend: 'cuda': rounds to codes with --packed --chip nvidia_sm100 or nvidia_sm103; "
              "expected these beside it, no --values, or emu, which gives the same bits\n");
}

/// Numbers too narrow for what is read of them could never be large.
TEST_F(RoundByChip, NarrowNumbersAreRefused) {
  const std::string in = array<float>("in.npy", npy::ElementType::kFloat32, {1.5f}), out = folder_.file("out.npy");
  const std::string bytes = array<uint8_t>("r1.npy", npy::ElementType::kUint8, {255});
  const std::string halves = array<uint16_t>("r2.npy", npy::ElementType::kUint16, {65535});
  const auto round = [&](const std::string& words, const std::string& options) {
    return "round " + in + " " + out + " --random-words " + words + " --format " + options;
  };
  const std::string whose = "softamp round: " + bytes + ": type '|u1'; expected ";
  EXPECT_EQ(error_of(round(bytes, "fp16 --rounding stochastic")), whose + "'<u2' or '<u4': bits 0 to 12 are read\n");
  EXPECT_EQ(error_of(round(bytes, "fp16 --chip nvidia_sm100")), whose + "'<u2' or '<u4': bits 0 to 12 are read\n");
  EXPECT_EQ(error_of(round(bytes, "e4m3 --chip nvidia_sm103")), whose + "'<u2' or '<u4': bits 8 to 15 are read\n");
  EXPECT_EQ(error_of(round(halves, "fp16 --chip amd_cdna4")),
            "softamp round: " + halves + ": type '<u2'; expected '<u4': bits 19 to 31 are read\n");
  EXPECT_EQ(run_softamp(round(bytes, "e4m3 --chip nvidia_sm100")).code, 0);
  EXPECT_EQ(run_softamp(round(bytes, "fp16 --chip p3109_odd")).code, 0);
  EXPECT_EQ(run_softamp(round(halves, "bf16 --chip nvidia_sm103")).code, 0);
}

TEST_F(RoundByChip, SettingsAndRefusals) {
  const std::string in = array<float>("in.npy", npy::ElementType::kFloat32, {1.5f});
  const std::string doubles = array<double>("d.npy", npy::ElementType::kFloat64, {1.5});
  const std::string out = folder_.file("out.npy");
  const auto round = [&](const std::string& options) { return "round " + in + " " + out + " " + options; };
  const json summary = answer(round("--format e4m3 --chip nvidia_sm103 --seed 3 --json"));
  EXPECT_EQ(summary["settings"]["chip"], "nvidia_sm103");
  EXPECT_EQ(summary["settings"]["bits"], 8);
  EXPECT_EQ(summary["settings"]["overflow"], "saturate");
  EXPECT_EQ(answer(round("--format bf16 --chip tenstorrent_wh --json"))["settings"]["variant"], "at-least");
  EXPECT_EQ(error_of(round("--format fp16 --chip amd_cdna3")),
            "softamp round: --chip: chip amd_cdna3 does not round to fp16: expected f143 or f152\n");
  EXPECT_EQ(error_of(round("--format fp16 --chip nvidia_sm100 --overflow nan")),
            "softamp round: --overflow: 'nan': expected infinity or saturate with --chip nvidia_sm100 --format fp16\n");
  EXPECT_EQ(error_of(round("--format e5m2 --chip intel_xe")),
            "softamp round: --chip: intel_xe makes e5m2 from fp16: expected a format that it makes from fp32\n");
  EXPECT_EQ(error_of("round " + doubles + " " + out + " --format fp16 --chip ipu"),
            "softamp round: " + doubles + ": type '<f8'; expected '<f4', which --chip ipu rounds\n");
  EXPECT_NE(error_of(round("--format fp16 --chip ipu --preset ipu")).find("excludes"), std::string::npos);
  EXPECT_EQ(error_of(round("--format fp16 --chip gaudi")).rfind("softamp round: --chip: no preset for chip 'gaudi'", 0),
            0u);
}

}  // namespace
}  // namespace softamp::test
