// Traces: what a writer writes, and how two are laid side by side.
#include "softamp/graph/trace.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "softamp/numerics/version.h"
#include "tests/comma_locale.h"
#include "tests/files.h"
#include "tests/kept_text.h"
#include "tests/refusal.h"
#include "tests/small_disk.h"

namespace softamp {
namespace {

using test::read_text;
using test::TemporaryFolder;
using test::write_text;

Node node_of(const char* name, const char* op, int outputs = 1) {
  Node node;
  node.name = name;
  node.op = op;
  node.outputs.resize(static_cast<size_t>(outputs), {DType::kFloat16, {2}});
  return node;
}

const uint16_t kOnes[] = {0x3C00, 0x3C00}, kTwos[] = {0x4000, 0x4000};
const TensorType kPair{DType::kFloat16, {2}};
const std::string kHead = R"({"softamp_trace":1,"arithmetic":1,"settings":{"seed":0}})";

std::string line(int step, const char* tensor, const char* hash, const char* op = "AddV2") {
  return R"({"step":)" + std::to_string(step) + R"(,"tensor":")" + tensor + R"(","op":")" + op +
         R"(","dtype":"float16","shape":[2],"hash":")" + hash + "\"}\n";
}

class Traces : public ::testing::Test {
 protected:
  TraceComparison compare(const std::string& a, const std::string& b) {
    write_text(folder_.file("a"), a);
    write_text(folder_.file("b"), b);
    return compare_traces(folder_.file("a"), folder_.file("b"));
  }
  std::string refusal(const std::string& a, const std::string& b) {
    return folder_.without(test::refusal<std::invalid_argument>([&] { compare(a, b); }));
  }
  TemporaryFolder folder_;
};

TEST_F(Traces, HashesAreXxh3Of128Bits) {
  // The published value for no bytes at all.
  EXPECT_EQ(hash_text(nullptr, 0), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(hash_text(kOnes, 4), hash_text(kTwos, 4));
}

TEST_F(Traces, TheWriterWritesJsonLinesAndTheNameComesLast) {
  const std::string file = folder_.file("t.jsonl");
  {
    TraceWriter writer(file, ExecutorOptions{});
    writer.write(0, node_of("scope/y", "AddV2"), 0, kPair, kOnes);
    writer.write(0, node_of("s", "Split", 2), 1, kPair, kTwos);
    EXPECT_FALSE(std::filesystem::exists(file));
    EXPECT_TRUE(std::filesystem::exists(folder_.file(".t.jsonl.part")));
    writer.close();
  }
  EXPECT_EQ(folder_.entries(), 1u);
  const std::string text = read_text(file);
  const size_t first = text.find('\n');
  const auto head = nlohmann::json::parse(text.substr(0, first));
  EXPECT_EQ(head["softamp_trace"], 1);
  EXPECT_EQ(head["arithmetic"], kArithmeticVersion);
  EXPECT_EQ(head["settings"], nlohmann::json::parse(settings_json(ExecutorOptions{})));
  EXPECT_EQ(text.substr(first + 1),
            line(0, "scope/y", hash_text(kOnes, 4).c_str()) + line(0, "s:1", hash_text(kTwos, 4).c_str(), "Split"));
  EXPECT_FALSE(compare_traces(file, file).difference);
  EXPECT_EQ(compare_traces(file, file).tensors, 2u);
}

TEST_F(Traces, AWriterThatIsNeverClosedLeavesNothing) {
  { TraceWriter writer(folder_.file("t"), ExecutorOptions{}); }
  EXPECT_EQ(folder_.entries(), 0u);
}

TEST_F(Traces, AFileThatCannotBeWritten) {
  EXPECT_THROW(TraceWriter(folder_.file("no/such/folder/t"), ExecutorOptions{}), std::runtime_error);
  // A full disk is noticed at the first line that it does not take, and nothing is left over.
  TraceWriter writer(folder_.file("t"), ExecutorOptions{}, "--trace");
  std::string message;
  {
    const test::SmallDisk full(std::filesystem::file_size(folder_.file(".t.part")));
    message = test::refusal<std::runtime_error>([&] { writer.write(0, node_of("y", "AddV2"), 0, kPair, kOnes); });
  }
  EXPECT_EQ(folder_.without(message), "--trace: 't' cannot be written: File too large");
  EXPECT_THROW(writer.close(), std::runtime_error);
  EXPECT_EQ(folder_.entries(), 0u);
}

TEST_F(Traces, TwoRunsDoNotWriteOne) {
  const TraceWriter writer(folder_.file("t"), ExecutorOptions{});
  EXPECT_NE(test::refusal<std::runtime_error>([&] {
              TraceWriter(folder_.file("t"), ExecutorOptions{});
            }).find("is being written by process "),
            std::string::npos);
}

TEST_F(Traces, OfOneTextInEveryLocale) {
  const auto written = [&] {
    TraceWriter writer(folder_.file("t"), ExecutorOptions{});
    writer.write(1234567, node_of("y", "AddV2"), 0, kPair, kOnes);
    writer.close();
    return read_text(folder_.file("t"));
  };
  const std::string usual = written();
  const test::CommaLocale locale;
  EXPECT_EQ(written(), usual);
}

TEST_F(Traces, EqualOnes) {
  const std::string text = kHead + "\n" + line(0, "y", "aa") + line(1, "y", "bb");
  const TraceComparison c = compare(text, text);
  EXPECT_FALSE(c.difference);
  EXPECT_EQ(c.tensors, 2u);
  EXPECT_EQ(c.settings, "");
  EXPECT_FALSE(compare(kHead + "\n", kHead).difference) << "no tensors, no last newline";
}

TEST_F(Traces, TheFirstHashThatDiffersIsNamed) {
  const std::string start = kHead + "\n" + line(0, "x", "aa");
  const TraceComparison c = compare(start + line(7, "scope/y", "bb", "MatMul") + line(7, "z", "cc"),
                                    start + line(7, "scope/y", "bd", "MatMul") + line(7, "z", "dd"));
  ASSERT_TRUE(c.difference);
  EXPECT_EQ(c.tensors, 1u);
  EXPECT_EQ(c.difference->line, 3u);
  EXPECT_EQ(c.difference->step, 7);
  EXPECT_EQ(c.difference->tensor, "scope/y");
  EXPECT_EQ(c.difference->op, "MatMul");
  EXPECT_EQ(c.difference->what, "hash \"bb\" is \"bd\" in " + folder_.file("b"));
}

TEST_F(Traces, EveryFieldCounts) {
  const std::string one = kHead + "\n" + line(0, "x", "aa");
  const auto what = [&](const char* from, const char* to) {
    std::string other = one;
    other.replace(other.find(from), std::string(from).size(), to);
    const TraceComparison c = compare(one, other);
    return c.difference ? c.difference->what.substr(0, c.difference->what.find(" in /")) : "";
  };
  EXPECT_EQ(what("\"step\":0", "\"step\":1"), "step 0 is 1");
  EXPECT_EQ(what("\"x\"", "\"y\""), "tensor \"x\" is \"y\"");
  EXPECT_EQ(what("AddV2", "Sub"), "op \"AddV2\" is \"Sub\"");
  EXPECT_EQ(what("float16", "float32"), "dtype \"float16\" is \"float32\"");
  EXPECT_EQ(what("[2]", "[2,1]"), "shape [2] is [2,1]");
}

TEST_F(Traces, AMissingLineOnEitherSide) {
  const std::string shorter = kHead + "\n" + line(0, "x", "aa"), longer = shorter + line(0, "y", "bb", "Relu");
  TraceComparison c = compare(longer, shorter);
  ASSERT_TRUE(c.difference);
  EXPECT_EQ(c.difference->what, "is missing in " + folder_.file("b"));
  EXPECT_EQ(c.difference->tensor, "y");
  EXPECT_EQ(c.difference->op, "Relu");
  EXPECT_EQ(c.difference->line, 3u);
  c = compare(shorter, longer);
  ASSERT_TRUE(c.difference);
  EXPECT_EQ(c.difference->what, "is missing in " + folder_.file("a"));
  EXPECT_EQ(c.difference->tensor, "y");
}

TEST_F(Traces, SettingsThatDifferAreTold) {
  const std::string other = R"({"softamp_trace":1,"arithmetic":1,"settings":{"seed":1,"esr":true}})";
  const TraceComparison c = compare(kHead + "\n", other + "\n");
  EXPECT_EQ(c.settings, "seed: 0 is 1, esr: null is true");
  EXPECT_FALSE(c.difference) << "settings alone are no difference of tensors";
}

TEST_F(Traces, TwoVersionsOfTheArithmeticAreCompared) {
  const std::string tensor = line(0, "x", "aa");
  const auto of = [&](const char* version) {
    return std::string("{\"softamp_trace\":1,") + version + ",\"settings\":{}}\n" + tensor;
  };
  const TraceComparison c = compare(of("\"arithmetic\":2"), of("\"arithmetic\":1000000"));
  EXPECT_EQ(c.version_a, 2);
  EXPECT_EQ(c.version_b, 1000000);
  EXPECT_EQ(c.tensors, 1u);
  EXPECT_FALSE(c.difference);
  EXPECT_EQ(c.settings, "");
  const TraceComparison old = compare(of("\"spec\":1"), of("\"arithmetic\":1"));
  EXPECT_EQ(old.version_a, 0) << "\"spec\" stayed 1 whatever moved";
  EXPECT_EQ(old.version_b, 1);
  EXPECT_EQ(old.tensors, 1u);
}

TEST_F(Traces, WhatIsNoTrace) {
  const std::string good = kHead + "\n" + line(0, "x", "aa");
  const std::string expected_head = "line 1: expected the first line of a trace, {\"softamp_trace\":1,...}";
  EXPECT_EQ(refusal("", good), "a, line 0: expected the first line of a trace, {\"softamp_trace\":1,...}");
  EXPECT_EQ(refusal("{}\n", good), "a, " + expected_head);
  EXPECT_EQ(refusal(good, "{\"softamp_trace\":0}\n"), "b, " + expected_head);
  EXPECT_EQ(refusal(good, "{\"softamp_trace\":2}\n"),
            "b, line 1: its \"softamp_trace\" is 2: it is of a newer version of softamp than this one, which reads 1");
  EXPECT_NE(refusal(good, "{\"softamp_trace\":18446744073709551615}\n").find("a newer version"), std::string::npos);
  EXPECT_EQ(refusal(good, "{\"softamp_trace\":1e300}\n"), "b, " + expected_head);
  EXPECT_EQ(refusal(good, "{\"softamp_trace\":-1}\n"), "b, " + expected_head);
  const auto version_refusal = [&](const std::string& members) {
    const std::string text = refusal("{\"softamp_trace\":1" + members + ",\"settings\":{}}\n", good);
    const std::string begin = "a, line 1: version of the arithmetic ",
                      end = "; expected \"arithmetic\" to be 1..1000000";
    EXPECT_EQ(text.find(begin), 0u) << text;
    return text.size() < begin.size() + end.size() ? text : text.substr(begin.size(), text.find(end) - begin.size());
  };
  EXPECT_EQ(version_refusal(""), "null");
  EXPECT_EQ(version_refusal(",\"spec\":2"), "null");
  EXPECT_EQ(version_refusal(",\"spec\":1,\"arithmetic\":0"), "0");
  EXPECT_EQ(version_refusal(",\"arithmetic\":-1"), "-1");
  EXPECT_EQ(version_refusal(",\"arithmetic\":18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(version_refusal(",\"arithmetic\":1.5"), "1.5");
  EXPECT_EQ(version_refusal(",\"arithmetic\":1e300"), "1e+300");
  EXPECT_EQ(version_refusal(",\"arithmetic\":\"1\""), "\"1\"");
  EXPECT_EQ(refusal("{\"softamp_trace\":1,\"spec\":1,\"settings\":3}\n", good),
            "a, line 1: expected \"settings\" to be an object");
  EXPECT_EQ(refusal("[1]\n", good), "a, line 1: expected a JSON object");
  EXPECT_NE(refusal("softamp\n", good).find("a: line 1, column "), std::string::npos);
  for (const char* bad : {"{\"step\":0\n", "\n", "{\"step\":1e999}\n", "\xff\n"})
    EXPECT_TRUE(refusal(good, kHead + "\n" + bad).starts_with("b, line 2: ") ||
                refusal(good, kHead + "\n" + bad).starts_with("b: line 2, column "))
        << bad;
  EXPECT_EQ(refusal(good, kHead + "\n{\"step\":0,\"tensor\":\"x\",\"op\":\"AddV2\"}\n"),
            "b, line 2: expected a field \"dtype\"");
  EXPECT_EQ(refusal(kHead + "\n{\"step\":\"0\"}\n", good), "a, line 2: expected a field \"step\"");
  for (const char* step : {"1e300", "1.5", "-1", "9223372036854775808"})
    EXPECT_EQ(refusal(kHead + "\n{\"step\":" + step + ",\"tensor\":\"x\"}\n", good),
              "a, line 2: expected a field \"step\"")
        << step;
  EXPECT_THROW(compare_traces(folder_.file("none"), folder_.file("none")), std::invalid_argument);
  EXPECT_THROW(compare_traces(folder_.path(), folder_.path()), std::invalid_argument);
}

/// Whatever changes results must change the settings that a trace begins with.
// tests: N97
TEST_F(Traces, SettingsTellApartWhateverChangesResults) {
  using Change = void (*)(ExecutorOptions&);
  const Change changes[] = {
      [](ExecutorOptions& o) { o.seed = 1; },
      [](ExecutorOptions& o) { o.replica = 1; },
      [](ExecutorOptions& o) { o.amp_block = 0; },
      [](ExecutorOptions& o) { o.amp_inner = AmpInner::kExactDot4; },
      [](ExecutorOptions& o) { o.accumulator = Accumulator::kFp32Chain; },
      [](ExecutorOptions& o) { o.accumulator = Accumulator::kTensorCoreVolta; },
      [](ExecutorOptions& o) { o.accumulator = Accumulator::kTensorCoreHopper; },
      [](ExecutorOptions& o) { o.f32_flush_inner = true; },
      [](ExecutorOptions& o) { o.random = RandomEngine::kPhilox7; },
      [](ExecutorOptions& o) { o.random = RandomEngine::kXoroshiro128aox; },
      [](ExecutorOptions& o) { o.config.floating_point_behaviour.nanoo = true; },
      [](ExecutorOptions& o) { o.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn; },
      [](ExecutorOptions& o) { o.config.norms.use_stable_statistics = true; },
      [](ExecutorOptions& o) { o.config.matmuls.poplar_options["partialsType"] = "half"; },
      [](ExecutorOptions& o) { o.config.convolutions.poplar_options["partialsType.interTile"] = "half"; },
      [](ExecutorOptions& o) { o.config.matmuls.poplar_options["disableSRForAMPVertices"] = "true"; },
      [](ExecutorOptions& o) { o.switches.pole_flag = PoleFlag::kNone; },
      [](ExecutorOptions& o) { o.switches.half_inf_operand = InfinityOperand::kNan; },
      [](ExecutorOptions& o) { o.switches.f32_daz = false; },
      [](ExecutorOptions& o) { o.switches.f2i_range = IntegerRange::kClamp; },
      [](ExecutorOptions& o) { o.switches.sr_lane_map = LaneMap(1); },
      [](ExecutorOptions& o) { o.switches.sr_tail = TailDraws(1); },
      [](ExecutorOptions& o) { o.switches.work_split = WorkSplit(1); },
      [](ExecutorOptions& o) { o.switches.overflow_rule = OverflowRule(1); },
      [](ExecutorOptions& o) { o.switches.nan_pattern = NanPattern(1); },
      [](ExecutorOptions& o) { o.switches.inf_to_half_flags = InfToHalfFlags(1); },
      [](ExecutorOptions& o) { o.switches.f32_overflow_result = F32OverflowResult(1); },
      [](ExecutorOptions& o) { o.switches.oflo_with_nanoo = OfloWithNanoo(1); },
      [](ExecutorOptions& o) { o.switches.sts_when_disabled = false; },
      [](ExecutorOptions& o) { o.switches.f32_ftz = false; },
      [](ExecutorOptions& o) { o.switches.f32_flush_sign = FlushSign(1); },
      [](ExecutorOptions& o) { o.tensor_core_operands = TensorCoreOperands(1); },
      [](ExecutorOptions& o) {
        o.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
        o.switches.sr_bits = 5;
        o.switches.sr_form = StochasticVariant(1);
      },
      [](ExecutorOptions& o) { o.semantics = Semantics::ieee(); },
      [](ExecutorOptions& o) {
        RoundingPolicy p = RoundingPolicy::stochastic_carry();
        o.semantics = Semantics::ieee(p);
      },
      [](ExecutorOptions& o) {
        RoundingPolicy p = RoundingPolicy::stochastic_carry();
        p.alignment = RandomAlignment::kAsIfNormal;
        o.semantics = Semantics::ieee(p);
      },
  };
  std::string text = settings_json({}) + "\n";
  std::map<std::string, size_t> seen = {{settings_json(ExecutorOptions{}), 0}};
  for (size_t i = 0; i < std::size(changes); ++i) {
    ExecutorOptions o;
    changes[i](o);
    EXPECT_TRUE(seen.emplace(settings_json(o), i + 1).second) << "change " << i;
    text += settings_json(o) + "\n";
  }
  test::expect_kept("graph/kept/settings.txt", text);
  // In hardware order the device's shape and the modifier count too.
  ExecutorOptions order;
  order.random = RandomEngine::kXoroshiro128aox;
  ExecutorOptions tiles = order, modifier = order;
  tiles.device.tiles = 4;
  modifier.seed_modifier = 1;
  EXPECT_NE(settings_json(order), settings_json(tiles));
  EXPECT_NE(settings_json(order), settings_json(modifier));
  // What never changes a result is not there.
  ExecutorOptions same;
  same.threads = 3;
  same.isa = bulk::InstructionSet::kPortable;
  same.reference = true;
  same.config.floating_point_behaviour = {};
  EXPECT_EQ(settings_json(same), settings_json(ExecutorOptions{}));
}

}  // namespace
}  // namespace softamp
