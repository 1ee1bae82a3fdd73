// `softamp round` with tensors of .safetensors files: what it reads, what it writes beside what it writes into .npy
// files, and what it refuses.
#include "tests/program/process.h"

#include "softamp/data/npy.h"
#include "softamp/data/safetensors.h"
#include "softamp/numerics/block/e8m0.h"
#include "softamp/numerics/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <vector>

namespace softamp::test {
namespace {

namespace fs = std::filesystem;
namespace st = softamp::safetensors;
using nlohmann::json;
using ::testing::HasSubstr;
using Type = st::ElementType;

class RoundTensors : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  std::string with_folder(std::string text) const {
    for (size_t at; (at = text.find('@')) != std::string::npos;) text.replace(at, 1, folder_.path().string() + "/");
    return text;
  }
  Outcome round(const std::string& arguments) const { return run_softamp("round " + with_folder(arguments)); }
  void good(const std::string& arguments) const {
    const Outcome o = round(arguments);
    EXPECT_EQ(o.code, 0) << arguments << ": " << o.err;
  }
  std::string refusal(const std::string& arguments) const {
    const size_t before = folder_.entries();
    const std::string words = complaint_of("round", round(arguments), folder_, arguments);
    EXPECT_EQ(folder_.entries(), before) << arguments;
    return words;
  }
  /// Numbers of many magnitudes, as in.npy.
  void save_numbers(const std::vector<uint64_t>& shape) {
    uint64_t count = 1;
    for (const uint64_t extent : shape) count *= extent;
    std::vector<float> x;
    for (uint64_t i = 0; i < count; ++i)
      x.push_back(std::ldexp(static_cast<float>(i * 7919 % 2003) - 1001, static_cast<int>(i / 40 % 30) - 20));
    npy::Writer writer(path("in.npy"), npy::ElementType::kFloat32, shape);
    writer.write(x.data(), x.size());
    writer.commit();
  }
  void save_tensors(const std::string& name, const std::vector<std::pair<st::Entry, std::string>>& tensors) const {
    std::vector<st::Entry> entries;
    for (const auto& t : tensors) entries.push_back(t.first);
    st::Writer writer(path(name), entries);
    for (const auto& t : tensors)
      writer.write(t.first.name, {reinterpret_cast<const std::byte*>(t.second.data()), t.second.size()});
    writer.commit();
  }
  /// The bytes behind a .npy header.
  std::string array_bytes(const std::string& name) const {
    npy::Reader reader(path(name));
    std::string bytes(reader.header().elements * npy::size_of(reader.header().type), '?');
    reader.read(bytes.data(), reader.header().elements);
    return bytes;
  }
  std::string tensor_bytes(const st::Reader& file, const std::string& name) const {
    std::string bytes(file.entry(name).bytes(), '?');
    file.read(name, 0, {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()});
    return bytes;
  }

  TemporaryFolder folder_;
};

// Codes and scales are the bytes of the .npy files, under the type that the format has.
// tests: N470
TEST_F(RoundTensors, CodesAndScalesInOneFile) {
  save_numbers({4, 66});
  const struct {
    const char *format, *codes, *scales;
    std::vector<uint64_t> shape, scales_shape;
  } rows[] = {{"mxfp8_e4m3", "F8_E4M3", "F8_E8M0", {4, 66}, {4, 3}},
              {"mxfp8_e5m2 --axis 0", "F8_E5M2", "F8_E8M0", {4, 66}, {1, 66}},
              {"mxfp6_e2m3", "U8", "F8_E8M0", {4, 66}, {4, 3}},
              {"mxfp6_e3m2", "U8", "F8_E8M0", {4, 66}, {4, 3}},
              {"mxfp4 --packed", "U8", "F8_E8M0", {4, 33}, {4, 3}},
              {"mxint8", "I8", "F8_E8M0", {4, 66}, {4, 3}},
              {"nvfp4 --packed", "U8", "F8_E4M3", {4, 33}, {4, 5}},
              {"nvfp4_16x16 --packed", "U8", "F8_E4M3", {4, 33}, {1, 5}},
              {"e4m3_128x128", "F8_E4M3", "F32", {4, 66}, {1, 1}},
              {"e5m2_tensor", "F8_E5M2", "F32", {4, 66}, {}}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.format);
    const std::string format = std::string(" --format ") + row.format;
    good("@in.npy @codes.npy --scales @scales.npy" + format);
    good("@in.npy @out.safetensors:w" + format);
    const st::Reader file(path("out.safetensors"));
    EXPECT_EQ(st::name_of(file.entry("w").type), std::string(row.codes));
    EXPECT_EQ(st::name_of(file.entry("w_scale").type), std::string(row.scales));
    EXPECT_EQ(file.entry("w").shape, row.shape);
    EXPECT_EQ(file.entry("w_scale").shape, row.scales_shape);
    EXPECT_EQ(tensor_bytes(file, "w"), array_bytes("codes.npy"));
    EXPECT_EQ(tensor_bytes(file, "w_scale"), array_bytes("scales.npy"));
    EXPECT_EQ(file.has("w_amax"), std::string(row.format).starts_with("nvfp4"));
  }
}

// F4 counts elements, and has two in a byte, the even index low: the bytes of --packed.
TEST_F(RoundTensors, FourBitsArePacked) {
  save_numbers({6, 33});
  good("@in.npy @packed.npy --packed --format mxfp4 --scales @s.npy");
  good("@in.npy @out.safetensors:w --format mxfp4");
  const st::Reader file(path("out.safetensors"));
  EXPECT_EQ(file.entry("w").type, Type::kF4);
  EXPECT_EQ(file.entry("w").shape, (std::vector<uint64_t>{6, 33}));
  EXPECT_EQ(tensor_bytes(file, "w"), array_bytes("packed.npy"));
  EXPECT_EQ(file.header().metadata, (st::Metadata{{"softamp", "mxfp4 along axis -1, rounding nearest"}}));
  save_numbers({3, 33});
  fs::remove(path("out.safetensors"));
  EXPECT_EQ(
      refusal("@in.npy @out.safetensors:w --format mxfp4"),
      "@out.safetensors:w: 99 codes of 4 bits; expected an even number for a tensor of F4, or --packed beside it, "
      "which makes one of U8\n");
  good("@in.npy @out.safetensors:w --format mxfp4 --packed");
}

TEST_F(RoundTensors, CodesOfNumbers) {
  save_numbers({5, 7});
  const struct {
    const char *format, *type;
  } rows[] = {{"fp16", "F16"}, {"bf16", "BF16"},        {"e4m3", "F8_E4M3"},     {"e5m2", "F8_E5M2"},
              {"e2m1", "U8"},  {"f143", "F8_E4M3FNUZ"}, {"f152", "F8_E5M2FNUZ"}, {"Binary8p4se", "U8"},
              {"fp32", "F32"}, {"Binary12p5ue", "U16"}, {"e8p11", "U32"},        {"e8m0 --rounding up", "F8_E8M0"},
              {"e3m2", "U8"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.format);
    const std::string format = std::string(" --format ") + row.format;
    good("@in.npy @out.npy" + format);
    good("@in.npy @out.safetensors" + format);
    const st::Reader file(path("out.safetensors"));
    EXPECT_EQ(st::name_of(file.entry("in").type), std::string(row.type));
    EXPECT_EQ(file.entry("in").shape, (std::vector<uint64_t>{5, 7}));
    EXPECT_EQ(tensor_bytes(file, "in"), array_bytes("out.npy"));
    // And back, whatever codes lie in.
    const std::string back = format.substr(0, format.find(" --r")) + " --dequantize";
    good("@out.npy @values.npy" + back);
    good("@out.safetensors:in @values.safetensors" + back);
    const st::Reader values(path("values.safetensors"));
    EXPECT_EQ(values.entry("in").type, Type::kF32);
    EXPECT_EQ(tensor_bytes(values, "in"), array_bytes("values.npy"));
  }
}

// A tensor of every type of numbers, each of its codes: as float32 of the same values in a .npy file.
TEST_F(RoundTensors, NarrowTensorsAreReadAsTheirValues) {
  const struct {
    Type type;
    FloatFormat format;
  } rows[] = {{Type::kF16, kFp16},        {Type::kBf16, kBf16},       {Type::kF8E4M3, kE4m3}, {Type::kF8E5M2, kE5m2},
              {Type::kF8E4M3Fnuz, kF143}, {Type::kF8E5M2Fnuz, kF152}, {Type::kF8E8M0, kFp16}};
  for (const auto& row : rows) {
    SCOPED_TRACE(st::name_of(row.type));
    const uint64_t bits = static_cast<uint64_t>(st::bits_of(row.type)), count = uint64_t{1} << bits;
    std::string codes;
    std::vector<uint32_t> values;
    for (uint64_t c = 0; c < count; ++c) {
      for (uint64_t b = 0; b < bits; b += 8) codes += static_cast<char>(c >> b & 0xFF);
      values.push_back(row.type == Type::kF8E8M0
                           ? e8m0::fp32_code(static_cast<uint32_t>(c))
                           : static_cast<uint32_t>(fp::convert(row.format, kFp32, c, Semantics::ieee(), 0).code));
    }
    save_tensors("in.safetensors", {{{"x", row.type, {count}}, codes}});
    npy::Writer writer(path("in.npy"), npy::ElementType::kFloat32, std::vector<uint64_t>{count});
    writer.write(values.data(), values.size());
    writer.commit();
    for (const char* format : {"fp32", "e5m2 --rounding zero", "mxfp8 --scales @s.npy"}) {
      good(std::string("@in.safetensors:x @a.npy --format ") + format);
      good(std::string("@in.npy @b.npy --format ") + format);
      EXPECT_EQ(array_bytes("a.npy"), array_bytes("b.npy")) << format;
    }
  }
}

TEST_F(RoundTensors, Float64AndRandomWords) {
  save_tensors("in.safetensors",
               {{{"x", Type::kF64, {2}}, std::string("\0\0\0\0\0\0\xF0\x3F\x9A\x99\x99\x99\x99\x99\xB9\x3F", 16)},
                {{"r", Type::kU16, {2}}, std::string("\xFF\x1F\0\0", 4)}});
  good("@in.safetensors:x @out.safetensors --format fp16 --rounding stochastic --random-words @in.safetensors:r");
  const st::Reader file(path("out.safetensors"));
  EXPECT_EQ(tensor_bytes(file, "x"), std::string("\0\x3C\x66\x2E", 4));
}

TEST_F(RoundTensors, ValuesComeBackFromOneFile) {
  save_numbers({6, 33});
  for (const char* text : {"mxfp4", "mxfp4 --packed", "mxfp8 --axis 0", "mxint8 --block 5", "mxfp6_e3m2", "nvfp4",
                           "nvfp4 --packed", "nvfp4_16x16", "nvfp4:scale_rule=one_level", "nvfp4 --amax 1e6",
                           "e4m3_row", "e4m3_tensor", "e5m2_1x128 --block 16"}) {
    SCOPED_TRACE(text);
    const std::string options = std::string(" --format ") + text;
    good("@in.npy @codes.safetensors:w" + options);
    std::string back = options.substr(0, options.find(" --amax")) + " --dequantize";
    if (options.find("--packed") != std::string::npos) back += " --shape 6,33";
    good("@codes.safetensors:w @back.safetensors" + back);
    good("@in.npy @values.npy --values" + options.substr(0, options.find(" --packed")));
    const st::Reader values(path("back.safetensors"));
    EXPECT_EQ(values.entry("w").shape, (std::vector<uint64_t>{6, 33}));
    EXPECT_EQ(tensor_bytes(values, "w"), array_bytes("values.npy"));
  }
}

// Codes that begin in the middle of a byte, and scales that come before the codes in the file.
// tests: N507
TEST_F(RoundTensors, PiecesAreSeamless) {
  const uint64_t rows = ((uint64_t{1} << 22) / 35 + 9) / 2 * 2;
  save_numbers({rows, 35});
  good("@in.npy @codes.safetensors:w --format mxfp4");
  good("@codes.safetensors:w @back.npy --format mxfp4 --dequantize");
  good("@in.npy @values.npy --format mxfp4 --values");
  EXPECT_EQ(array_bytes("back.npy"), array_bytes("values.npy"));
}

TEST_F(RoundTensors, NamesOfTensors) {
  save_numbers({2, 32});
  good("@in.npy @a.safetensors --format fp16");
  EXPECT_TRUE(st::Reader(path("a.safetensors")).has("in"));
  good("@a.safetensors:in @b.safetensors --format bf16");
  EXPECT_TRUE(st::Reader(path("b.safetensors")).has("in"));
  const json report = json_of(round("@a.safetensors:in @c.safetensors:layer:0.w --format mxfp8 --json"));
  EXPECT_TRUE(st::Reader(path("c.safetensors")).has("layer:0.w_scale"));
  EXPECT_EQ(report["input_type"], "F16");
  EXPECT_EQ(report["output"], path("c.safetensors") + ":layer:0.w");
  EXPECT_EQ(report["output_type"], "F8_E4M3");
  EXPECT_EQ(report["scales"], path("c.safetensors") + ":layer:0.w_scale");
  EXPECT_EQ(report["scales_type"], "F8_E8M0");
  good("@c.safetensors:layer:0.w @d.npy --format mxfp8 --dequantize --scales @c.safetensors:layer:0.w_scale");
}

TEST_F(RoundTensors, BadInputIsNamed) {
  save_numbers({2, 32});
  save_tensors("in.safetensors", {{{"w", Type::kBf16, {2}}, "abcd"},
                                  {{"n", Type::kI32, {1}}, "abcd"},
                                  {{"f6", Type::kF6E2M3, {4}}, "abc"},
                                  {{"codes", Type::kF8E5M2, {2}}, "ab"},
                                  {{"q", Type::kF4, {2}}, "a"},
                                  {{"d", Type::kF64, {1}}, "01234567"}});
  EXPECT_EQ(
      refusal("@in.safetensors:v @out.npy --format fp16"),
      "@in.safetensors: there is no tensor \"v\"; the file has \"d\", \"n\", \"w\", \"codes\", \"f6\" and \"q\"\n");
  EXPECT_EQ(
      refusal("@in.safetensors @out.npy --format fp16"),
      "@in.safetensors: expected the name of a tensor behind it, as in @in.safetensors:NAME; it has d, n, w, codes, "
      "f6, q\n");
  EXPECT_EQ(refusal("@none.safetensors:w @out.npy --format fp16"),
            "@none.safetensors: cannot open: No such file or directory\n");
  EXPECT_EQ(refusal("@in.safetensors:n @out.npy --format fp16"),
            "@in.safetensors:n: type I32; expected one of F64, F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E4M3FNUZ, "
            "F8_E5M2FNUZ, F8_E8M0\n");
  EXPECT_THAT(refusal("@in.safetensors:f6 @out.npy --format fp16"), HasSubstr("type F6_E2M3; expected one of F64"));
  EXPECT_EQ(refusal("@in.safetensors:d @out.safetensors --format mxfp8"),
            "@in.safetensors:d: type 'F64'; expected 'F32' or a narrower float, of which blocks are made\n");
  EXPECT_EQ(refusal("@in.safetensors:codes @out.npy --format e4m3 --dequantize"),
            "@in.safetensors:codes: type F8_E5M2; expected one of F8_E4M3, U8, U16, U32\n");
  EXPECT_EQ(refusal("@in.safetensors:q @out.npy --format mxfp4 --packed --dequantize"),
            "@in.safetensors:q: type F4; expected U8\n");
  EXPECT_THAT(refusal("@in.safetensors:q @out.npy --format mxfp4 --dequantize"),
              HasSubstr("@in.safetensors: there is no tensor \"q_scale\""));
  EXPECT_EQ(
      refusal("@in.npy @out.safetensors --format mxfp8 --scales @s.npy"),
      "--scales: '@s.npy': expected a .npy file beside a .npy file OUT; in a .safetensors file OUT scales lie beside "
      "codes\n");
  EXPECT_THAT(refusal("@in.npy @out.npy --format mxfp8 --scales @s.safetensors"), HasSubstr("expected a .npy file"));
  // The other tensors of the file would be lost.
  EXPECT_EQ(refusal("@in.safetensors:w @in.safetensors --format e4m3"),
            "OUT: '@in.safetensors' is the array that is read; expected another file\n");
  write_text(path("bad.safetensors"), "no tensors here");
  EXPECT_THAT(refusal("@bad.safetensors:w @out.npy --format fp16"),
              HasSubstr("@bad.safetensors: byte 0: not a .safetensors file: a header of"));
  save_tensors("amax.safetensors", {{{"q", Type::kF4, {16}}, "01234567"},
                                    {{"q_scale", Type::kF8E4M3, {1}}, "7"},
                                    {{"q_amax", Type::kF32, {}}, std::string("\0\0\x80\xBF", 4)}});
  EXPECT_EQ(refusal("@amax.safetensors:q @out.npy --format nvfp4 --dequantize"),
            "@amax.safetensors:q_amax: expected one number, the greatest magnitude of the array\n");
  save_tensors("none.safetensors", {{{"q", Type::kF4, {16}}, "01234567"}, {{"q_scale", Type::kF8E4M3, {1}}, "7"}});
  EXPECT_EQ(
      refusal("@none.safetensors:q @out.npy --format nvfp4 --dequantize"),
      "--amax: expected the greatest magnitude of the array, which the scales of nvfp4 refer to; @none.safetensors "
      "has no tensor q_amax\n");
  good("@none.safetensors:q @out.npy --format nvfp4 --dequantize --amax 1");
}

}  // namespace
}  // namespace softamp::test
