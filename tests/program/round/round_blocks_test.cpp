// `softamp round` to formats of blocks, of P3109's and to E8M0: files against the functions for one block, published
// lines, the way back, pieces, and what is refused.
#include "tests/program/process.h"

#include "softamp/data/npy.h"
#include "softamp/names/block_format_names.h"
#include "softamp/numerics/block/block_format.h"
#include "softamp/numerics/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace softamp::test {
namespace {

using nlohmann::json;
using npy::ElementType;
using testing::HasSubstr;

using Bytes = std::vector<uint8_t>;

template <typename T>
void save_array(const std::string& path, ElementType type, const std::vector<T>& data,
                std::vector<uint64_t> shape = {}) {
  if (shape.empty()) shape = {data.size()};
  npy::Writer writer(path, type, shape);
  writer.write(data.data(), data.size());
  writer.commit();
}

template <typename T>
std::vector<T> array_of(const std::string& path, std::vector<uint64_t>* shape = nullptr) {
  npy::Reader reader(path);
  EXPECT_EQ(npy::size_of(reader.header().type), sizeof(T)) << path;
  std::vector<T> data(reader.header().elements);
  EXPECT_EQ(reader.read(data.data(), data.size()), data.size());
  if (shape) *shape = reader.header().shape;
  return data;
}

uint32_t code_of(float x) { return __builtin_bit_cast(uint32_t, x); }
std::vector<uint32_t> words_of(const std::vector<float>& values) {
  std::vector<uint32_t> words;
  for (const float x : values) words.push_back(code_of(x));
  return words;
}

class RoundBlocks : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  Outcome round(const std::string& options) const {
    return run_softamp("round " + path("in.npy") + " " + path("out.npy") + " " + options);
  }
  std::string scales() const { return " --scales " + path("scales.npy"); }
  std::string refusal(const std::string& options) const {
    const Outcome o = round(options);
    EXPECT_EQ(o.code, 2) << options;
    EXPECT_FALSE(std::filesystem::exists(path("out.npy"))) << options;
    return o.err;
  }
  /// rows x length numbers of many magnitudes.
  void save_numbers(uint64_t rows, uint64_t length) {
    in_.clear();
    for (uint64_t i = 0; i < rows * length; ++i)
      in_.push_back(std::ldexp(static_cast<float>(i * 7919 % 2003) - 1001, static_cast<int>(i / 40 % 30) - 20));
    save_array(path("in.npy"), ElementType::kFloat32, in_, {rows, length});
  }
  /// The codes and scales of blocks along rows, by the functions for one block.
  void expect_blocks(const std::string& text, uint64_t rows, uint64_t length, const RandomBits& random, uint32_t step) {
    const block::BlockFormat f = parse_block_format(text);
    const Bytes codes = array_of<uint8_t>(path("out.npy")), bytes = array_of<uint8_t>(path("scales.npy"));
    const uint32_t amax = block::greatest_magnitude(words_of(in_).data(), static_cast<int>(in_.size()));
    const block::Nvfp4Tensor tensor = block::nvfp4_tensor(amax, f.nvfp4);
    size_t scale_at = 0;
    for (uint64_t r = 0; r < rows; ++r)
      for (uint64_t k = 0; k < length; k += static_cast<uint64_t>(f.size), ++scale_at) {
        const uint64_t n = std::min(length - k, static_cast<uint64_t>(f.size));
        const std::vector<uint32_t> x = words_of(
            {in_.begin() + static_cast<long>(r * length + k), in_.begin() + static_cast<long>(r * length + k + n)});
        const block::BlockScale s =
            block::block_scale(f, tensor, block::greatest_magnitude(x.data(), static_cast<int>(n)));
        ASSERT_EQ(bytes[scale_at], s.bits) << text << " row " << r << " block at " << k;
        for (uint64_t j = 0; j < n; ++j) {
          const uint64_t i = r * length + k + j;
          const uint32_t word = f.rounding().stochastic() ? random.bits(step, 0, i, f.rounding().random_bits) : 0;
          ASSERT_EQ(codes[i], block::block_code(f, s, x[j], word).code) << text << " element " << i;
        }
      }
    EXPECT_EQ(scale_at, bytes.size());
  }

  TemporaryFolder folder_;
  std::vector<float> in_;
};

// tests: N470
TEST_F(RoundBlocks, CodesAndScalesAreThoseOfOneBlock) {
  save_numbers(5, 71);
  const struct {
    const char *options, *text;
  } lines[] = {{"--format mxfp4", "mxfp4"},
               {"--format mxfp4 --scale-rule rceil", "mxfp4:scale_rule=rceil"},
               {"--format mxfp8_e5m2 --scale-rule even --rounding zero", "mxfp8_e5m2:scale_rule=even,rounding=zero"},
               {"--format mxint8 --block 8", "mxint8:block=8"},
               {"--format nvfp4", "nvfp4"},
               {"--format mxfp6_e3m2 --rounding stochastic --bits 8 --variant rne --seed 3 --step 9",
                "mxfp6_e3m2:rounding=stochastic,bits=8,variant=rne"},
               {"--format nvfp4:rounding=stochastic --seed 3 --step 9", "nvfp4:rounding=stochastic"}};
  for (const auto& l : lines) {
    const Outcome o = round(l.options + scales());
    ASSERT_EQ(o.code, 0) << o.err;
    expect_blocks(l.text, 5, 71, RandomBits{3}, 9);
  }
}

// TransformerEngine's tensor of greatest magnitude 3; codes two a byte, the even index low.
TEST_F(RoundBlocks, PackedCodesAsPublished) {
  save_array(path("in.npy"), ElementType::kFloat32,
             std::vector<float>{.1F, -.2F, .3F, .4F, -.5F, .6F, .7F, -.8F, .9F, 1, -1.1F, 1.2F, 1.3F, -1.4F, 1.5F, 3});
  const Outcome o = round("--format nvfp4 --packed --json" + scales());
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(array_of<uint8_t>(path("out.npy")), (Bytes{0x90, 0x21, 0x2A, 0xB3, 0x44, 0x4C, 0xD5, 0x75}));
  EXPECT_EQ(array_of<uint8_t>(path("scales.npy")), Bytes{0x7E});
  const json report = json::parse(o.out);
  EXPECT_EQ(report["tensor"]["encode_code"], "0x44600000");
  EXPECT_EQ(report["tensor"]["decode_code"], "0x3a924925");
  EXPECT_EQ(report["amax"], 3.0);
  // ONNX's FLOAT4E2M1 of an odd count.
  save_array(path("in.npy"), ElementType::kFloat32, std::vector<float>{.5F, -6, 3});
  ASSERT_EQ(round("--format mxfp4 --packed" + scales()).code, 0);
  EXPECT_EQ(array_of<uint8_t>(path("out.npy")), (Bytes{0xF1, 0x05}));
}

// tests: N471
TEST_F(RoundBlocks, WhatIsLostIsCounted) {
  std::vector<float> x(64, 1);
  x[0] = 7, x[1] = -7.5F, x[5] = 6, x[2] = .1F, x[3] = -.2F, x[4] = 0;
  x[40] = NAN, x[41] = INFINITY;
  save_array(path("in.npy"), ElementType::kFloat32, x, {2, 32});
  const json report = json::parse(round("--format mxfp4 --json" + scales()).out);
  EXPECT_EQ(report["saturated"], 2);
  EXPECT_EQ(report["zeroed"], 2);
  EXPECT_EQ(report["nan_blocks"], 1);
  EXPECT_EQ(report["first_nan_block"], 1);
  EXPECT_EQ(report["blocks"], 2);
  EXPECT_EQ(report["nan_elements"], 32);
  EXPECT_EQ(report["scales_shape"], (std::vector<int>{2, 1}));
}

TEST_F(RoundBlocks, ValuesComeBackFromTheFiles) {
  save_numbers(6, 33);
  for (const char* text : {"mxfp4", "mxfp4 --packed", "mxfp8 --axis 0", "mxint8 --block 5", "nvfp4 --packed",
                           "nvfp4_16x16", "e4m3_row", "e4m3_tensor", "e5m2_1x128 --block 16", "e4m3_128x128"}) {
    const std::string options = std::string("--format ") + text;
    const Outcome o = round(options + " --json" + scales());
    ASSERT_EQ(o.code, 0) << o.err;
    const json report = json::parse(o.out);
    std::filesystem::rename(path("out.npy"), path("codes.npy"));
    std::string back =
        "round " + path("codes.npy") + " " + path("back.npy") + " " + options + scales() + " --dequantize";
    if (report.contains("tensor")) back += " --amax " + report["tensor"]["amax_code"].get<std::string>();
    if (options.find("packed") != std::string::npos) back += " --shape 6,33";
    const Outcome b = run_softamp(back);
    ASSERT_EQ(b.code, 0) << b.err;
    const size_t packed = options.find(" --packed");
    ASSERT_EQ(round(options.substr(0, packed) + " --values").code, 0);
    std::vector<uint64_t> shape;
    EXPECT_EQ(words_of(array_of<float>(path("back.npy"), &shape)), words_of(array_of<float>(path("out.npy")))) << text;
    EXPECT_EQ(shape, (std::vector<uint64_t>{6, 33}));
    std::filesystem::remove(path("out.npy"));
  }
}

// A row longer than a piece of 2^22 elements, and many rows of an odd length: random addresses and halves of bytes go
// on.
// tests: N460
TEST_F(RoundBlocks, PiecesAreSeamless) {
  constexpr uint64_t kCount = (uint64_t{1} << 22) + 77;
  std::vector<float> x(kCount);
  for (uint64_t i = 0; i < kCount; ++i) x[i] = std::ldexp(static_cast<float>(i * 7919 % 1999) - 999, -10);
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{kCount}, {kCount / 3, 3}}) {
    std::vector<float> part(x.begin(), x.begin() + static_cast<long>(shape.size() == 1 ? kCount : kCount / 3 * 3));
    save_array(path("in.npy"), ElementType::kFloat32, part, shape);
    const Outcome o = round("--format mxfp4:rounding=stochastic,bits=8 --packed" + scales());
    ASSERT_EQ(o.code, 0) << o.err;
    const Bytes packed = array_of<uint8_t>(path("out.npy"));
    EXPECT_EQ(packed.size(), (part.size() + 1) / 2);
    const block::BlockFormat f = parse_block_format("mxfp4:rounding=stochastic,bits=8");
    const uint64_t length = shape.back();
    // Pieces end at 2^22, or, of rows of 3, in the middle of a byte before it.
    constexpr uint64_t kEnd = uint64_t{1} << 22;
    for (const uint64_t i : {kEnd - 3, kEnd - 2, kEnd - 1, kEnd, kEnd + 40, part.size() - 1}) {
      const uint64_t row = i / length * length, first = row + (i - row) / 32 * 32;
      const uint64_t last = std::min(row + length, first + 32);
      const std::vector<uint32_t> w =
          words_of({part.begin() + static_cast<long>(first), part.begin() + static_cast<long>(last)});
      const block::BlockScale s =
          block::block_scale(f, {}, block::greatest_magnitude(w.data(), static_cast<int>(w.size())));
      EXPECT_EQ(packed[i / 2] >> i % 2 * 4 & 0xF,
                block::block_code(f, s, code_of(part[i]), RandomBits{}.bits(0, 0, i, 8)).code)
          << i;
    }
  }
}

TEST_F(RoundBlocks, ArraysWithoutElements) {
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{0, 32}, {4, 0}})
    for (const char* format :
         {"mxfp4", "mxfp4 --packed", "nvfp4", "nvfp4_16x16", "e4m3_tensor", "e4m3_row", "mxfp8 --axis 0"}) {
      save_array(path("in.npy"), ElementType::kFloat32, std::vector<float>{}, shape);
      const Outcome o = round(std::string("--format ") + format + scales());
      EXPECT_EQ(o.code, 0) << format << ": " << o.err;
      EXPECT_EQ(array_of<uint8_t>(path("out.npy")), Bytes{}) << format;
    }
}

TEST_F(RoundBlocks, BadInputIsNamed) {
  save_numbers(4, 40);
  EXPECT_THAT(refusal("--format mxfp4"), HasSubstr("--scales: expected a file"));
  EXPECT_THAT(refusal("--format mxfp4 --axis 2" + scales()),
              HasSubstr("--axis: '2': expected -2..1 for shape (4, 40)"));
  EXPECT_THAT(refusal("--format nvfp4_16x16 --axis 0" + scales()), HasSubstr("expected the last axis"));
  EXPECT_THAT(refusal("--format mxfp4 --block 0" + scales()), HasSubstr("'0'; expected a whole number from 1"));
  EXPECT_THAT(refusal("--format mxfp4 --scale-rule rciel" + scales()),
              HasSubstr("unknown scale rule 'rciel'; nearest: rceil"));
  EXPECT_THAT(refusal("--format mxfp4:scale_rule=ceil --scale-rule rceil" + scales()), HasSubstr("given twice"));
  EXPECT_THAT(refusal("--format mxfp8 --packed" + scales()), HasSubstr("--packed: mxfp8 has codes of 8 bits"));
  EXPECT_THAT(refusal("--format mxfp4 --overflow nan" + scales()), HasSubstr("--overflow: expected none"));
  EXPECT_THAT(refusal("--format mxfp4 --amax 3" + scales()), HasSubstr("--amax: expected nvfp4"));
  EXPECT_THAT(refusal("--format fp16 --block 32"), HasSubstr("--block: expected a format of blocks"));
  EXPECT_THAT(refusal("--format mxfp5" + scales()), HasSubstr("unknown format 'mxfp5'; nearest: mxfp"));
  EXPECT_THAT(refusal("--format mxfp4 --scales " + path("out.npy")), HasSubstr("is the file of"));
  save_array(path("in.npy"), ElementType::kFloat64, std::vector<double>{1, 2});
  EXPECT_THAT(refusal("--format mxfp4" + scales()), HasSubstr("type '<f8'; expected '<f4', of which blocks are made"));
}

TEST_F(RoundBlocks, FilesThatDoNotFitAreNamed) {
  save_array(path("in.npy"), ElementType::kUint8, Bytes(64, 3), {2, 32});
  const std::string back = "--format mxfp4 --dequantize" + scales();
  save_array(path("scales.npy"), ElementType::kUint8, Bytes(3, 127), {3});
  EXPECT_THAT(refusal(back), HasSubstr("scales.npy: shape (3,); expected (2, 1), one for 32 of axis 1"));
  save_array(path("scales.npy"), ElementType::kFloat32, std::vector<float>(2, 1), {2, 1});
  EXPECT_THAT(refusal(back), HasSubstr("scales.npy: type '<f4'; expected scales of mxfp4, '|u1'"));
  save_array(path("scales.npy"), ElementType::kUint8, Bytes(2, 127), {2, 1});
  EXPECT_THAT(refusal(back + " --packed --shape 2,33"),
              HasSubstr("in.npy: shape (2, 32); expected (33,), two codes a byte"));
  save_array(path("in.npy"), ElementType::kUint8, Bytes{1, 2, 0x1F, 3}, {1, 4});
  save_array(path("scales.npy"), ElementType::kUint8, Bytes(1, 127), {1, 1});
  EXPECT_THAT(refusal(back), HasSubstr("in.npy: element 2: 0x1f: expected a code of e2m1, 0x00..0x0f"));
  save_array(path("in.npy"), ElementType::kUint8, Bytes{0x11, 0x11}, {2});
  save_array(path("scales.npy"), ElementType::kUint8, Bytes(1, 127), {1});
  EXPECT_THAT(refusal(back + " --packed --shape 3"), HasSubstr("expected 0 in its high half"));
  save_array(path("in.npy"), ElementType::kUint8, Bytes{1, 2}, {2});
  const std::string nvfp4 = "--format nvfp4 --dequantize" + scales();
  EXPECT_THAT(refusal(nvfp4), HasSubstr("--amax: expected the greatest magnitude of the array"));
  save_array(path("scales.npy"), ElementType::kUint8, Bytes{0x85}, {1});
  EXPECT_THAT(refusal(nvfp4 + " --amax 1"), HasSubstr("scale 0: 0x85: expected an e4m3 without a sign"));
  const float below = -1;
  npy::Writer scalar(path("scales.npy"), ElementType::kFloat32, std::vector<uint64_t>{});
  scalar.write(&below, 1);
  scalar.commit();
  EXPECT_THAT(refusal("--format e4m3_tensor --dequantize" + scales()),
              HasSubstr("scale 0: -1: expected a number above 0"));
}

// tests: N472
TEST_F(RoundBlocks, P3109AndE8m0) {
  save_array(path("in.npy"), ElementType::kFloat64,
             std::vector<double>{2, 232, 240, INFINITY, 0x1p-11, -0.0, -1e300, NAN});
  ASSERT_EQ(round("--format Binary8p4se").code, 0);
  EXPECT_EQ(array_of<uint8_t>(path("out.npy")), (Bytes{0x48, 0x7E, 0x7F, 0x7F, 0, 0, 0xFF, 0x80}));
  ASSERT_EQ(round("--format p3109_k8p4se --saturation finite").code, 0);
  EXPECT_EQ(array_of<uint8_t>(path("out.npy")), (Bytes{0x48, 0x7E, 0x7E, 0x7E, 0, 0, 0xFE, 0x80}));
  ASSERT_EQ(round("--format Binary12p5ue").code, 0);
  EXPECT_EQ(array_of<uint16_t>(path("out.npy"))[7], 0xFFF);
  std::filesystem::remove(path("out.npy"));
  EXPECT_THAT(refusal("--format Binary8p9se"), HasSubstr("--format: 'Binary8p9se': expected Binary<K>p<P><s|u><e|f>"));
  EXPECT_THAT(refusal("--format Binary8p4se --overflow nan"), HasSubstr("expected --saturation"));
  EXPECT_THAT(refusal("--format Binary16p2ue --values"), HasSubstr("expected a format whose values float32 holds"));
  EXPECT_THAT(refusal("--format fp16 --saturation none"), HasSubstr("--saturation: expected one of P3109's"));
  save_array(path("in.npy"), ElementType::kFloat32,
             std::vector<float>{1, 1.25F, 1.5F, 0, -3, 0x1.8p127F, INFINITY, NAN});
  ASSERT_EQ(round("--format e8m0 --rounding nearest-away").code, 0);
  EXPECT_EQ(array_of<uint8_t>(path("out.npy")), (Bytes{127, 127, 128, 0, 129, 255, 255, 255}));
  ASSERT_EQ(round("--format e8m0 --rounding up --overflow saturate").code, 0);
  EXPECT_EQ(array_of<uint8_t>(path("out.npy")), (Bytes{127, 128, 128, 0, 129, 254, 254, 255}));
  // An overflow rule acts in every rounding: 1.5 2^127 and infinity saturate, a NaN does not.
  ASSERT_EQ(round("--format e8m0 --rounding nearest-away --overflow saturate").code, 0);
  EXPECT_EQ(array_of<uint8_t>(path("out.npy")), (Bytes{127, 127, 128, 0, 129, 254, 254, 255}));
  for (const std::string mode : {"down", "zero"}) {
    ASSERT_EQ(round("--format e8m0 --overflow saturate --rounding " + mode).code, 0);
    EXPECT_EQ(array_of<uint8_t>(path("out.npy")), (Bytes{127, 127, 127, 0, 128, 254, 254, 255}));
    ASSERT_EQ(round("--format e8m0 --overflow nan --rounding " + mode).code, 0);
    EXPECT_EQ(array_of<uint8_t>(path("out.npy")), (Bytes{127, 127, 127, 0, 128, 254, 255, 255}));
  }
  ASSERT_EQ(round("--format e8m0 --rounding up --overflow saturate").code, 0);
  std::filesystem::rename(path("out.npy"), path("codes.npy"));
  ASSERT_EQ(run_softamp("round " + path("codes.npy") + " " + path("out.npy") + " --format e8m0 --dequantize").code, 0);
  EXPECT_EQ(array_of<float>(path("out.npy"))[5], 0x1p127F);
  std::filesystem::remove(path("out.npy"));
  EXPECT_THAT(refusal("--format e8m0"), HasSubstr("expected down, up or nearest-away"));
}

}  // namespace
}  // namespace softamp::test
