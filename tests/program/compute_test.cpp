// `softamp compute`: lines worked out by hand, options, refusals, exceptions, and the addressing of random bits.
#include "tests/program/process.h"

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

using softamp::test::Outcome;
using softamp::test::run_shell;
using softamp::test::run_softamp;

namespace {

struct Line {
  const char* arguments;  ///< operation and options
  const char* operands;
  const char* expected;  ///< result and flags
};

void expect_lines(std::initializer_list<Line> lines) {
  for (const Line& line : lines) {
    const Outcome o = run_softamp(std::string("compute ") + line.arguments, std::string(line.operands) + "\n");
    EXPECT_EQ(o.code, 0) << line.arguments << ": " << o.err;
    EXPECT_EQ(o.out, std::string(line.operands) + " " + line.expected + "\n") << line.arguments;
    EXPECT_EQ(o.err, "") << line.arguments;
  }
}

}  // namespace

TEST(ComputeGolden, Addition) {
  expect_lines({
      {"f16_add", "3C00 3C01", "4000 01"},  // 2 + 2^-10 lies halfway to 2 + 2^-9: to even
      {"f16_add --rounding up", "3C00 3C01", "4001 01"},
      {"f16_add --rounding nearest-away", "3C00 3C01", "4001 01"},
      {"f16_add", "7BFF 7BFF", "7C00 05"},
      {"f16_add --rounding zero", "7BFF 7BFF", "7BFF 05"},
      {"f16_add --rounding down", "7BFF 7BFF", "7BFF 05"},
      {"f16_add --rounding down", "FBFF FBFF", "FC00 05"},
      {"f16_add", "3C00 BC00", "0000 00"},
      {"f16_add --rounding down", "3C00 BC00", "8000 00"},
      {"f16_sub", "3C00 3C00", "0000 00"},
      {"f16_add", "7C00 FC00", "7E00 10"},
      {"f16_add", "7E01 3C00", "7E00 00"},              // a quiet NaN is no exception
      {"f16_add", "3C00 7C01", "7E00 10"},              // a signalling one is
      {"bf16_add", "3F80 3F81", "4000 01"},             // 2 + 2^-7, halfway to 2 + 2^-6
      {"f32_add", "3F800000 33800000", "3F800000 01"},  // 1 + 2^-24, halfway to 1 + 2^-23
      {"e5m2_add", "7B 7B", "7C 05"},
      {"f143_add", "40 40", "48 00"},  // 1 + 1, bias 8
      {"f143_add", "7F 7F", "80 05"},  // 480: no infinity, so NaN
      {"f152_sub", "40 40", "00 00"},
  });
}

TEST(ComputeGolden, Products) {
  expect_lines({
      {"f16_mul", "0400 3800", "0200 00"},  // 2^-15, an exact subnormal: no underflow
      {"f16_mul", "0001 3800", "0000 03"},  // 2^-25, halfway between 0 and 2^-24
      {"f16_mul --rounding up", "0001 3800", "0001 03"},
      {"f16_mul", "0000 7C00", "7E00 10"},
      {"e4m3_mul", "7E 40", "7F 05"},  // 448 * 2
      {"e4m3_mul --rounding zero", "7E 40", "7E 05"},
      {"f16_mulAdd", "3C01 3C01 BC02", "0010 00"},  // (1+2^-10)^2 - (1+2^-9) = 2^-20
      {"f16_mulAdd", "0000 7C00 7E00", "7E00 10"},  // Inf * 0 + quiet NaN is invalid
      {"f16_mulAdd", "7C00 3C00 FC00", "7E00 10"},
      {"f16_div", "3C00 4200", "3555 01"},  // 1/3
      {"f16_div", "BC00 0000", "FC00 08"},
      {"f16_div", "0000 0000", "7E00 10"},
      {"f16_sqrt", "4000", "3DA8 01"},  // 1.41406 below 1.41421
      {"f16_sqrt", "8000", "8000 00"},
      {"f16_sqrt", "BC00", "7E00 10"},
      {"f16_rem", "4500 4200", "BC00 00"},  // 5 - 2*3
      {"f16_rem", "4600 4400", "C000 00"},  // 6/4 = 1.5, n is the even 2
      {"f16_rem", "3C00 0000", "7E00 10"},
      {"f32_div", "40400000 40000000", "3FC00000 00"},
  });
}

TEST(ComputeGolden, Comparisons) {
  expect_lines({
      {"f16_eq", "0000 8000", "1 00"},
      {"f16_eq", "7E00 3C00", "0 00"},
      {"f16_eq", "7D00 3C00", "0 10"},
      {"f16_eq_signaling", "7E00 3C00", "0 10"},
      {"f16_le", "7E00 3C00", "0 10"},
      {"f16_le_quiet", "7E00 3C00", "0 00"},
      {"f16_lt", "BC00 3C00", "1 00"},
      {"f16_lt", "3C00 3C00", "0 00"},
      {"f16_lt_quiet", "3C00 7E00", "0 00"},
      {"f32_le", "3F800000 3F800000", "1 00"},
      {"f16_min", "0000 8000", "8000 00"},
      {"f16_max", "8000 0000", "0000 00"},
      {"f16_min", "7E00 3C00", "7E00 00"},
      {"f16_max", "3C00 7D00", "7E00 10"},
  });
}

TEST(ComputeGolden, Conversions) {
  expect_lines({
      {"f32_to_f16", "477FEFFF", "7BFF 01"},  // just below 65520
      {"f32_to_f16", "477FF000", "7C00 05"},  // 65520 overflows
      {"f32_to_f16", "33000000", "0000 03"},  // 2^-25
      {"f32_to_f16", "33000001", "0001 03"},
      {"f32_to_f16", "387FE000", "0400 03"},  // 2^-14 (1 - 2^-11): tiny, 11 bits would hold it
      {"f32_to_f16", "387FF000", "0400 01"},  // 2^-14 (1 - 2^-12): 11 bits round it to 2^-14, not tiny
      {"f32_to_f16", "7FC00001", "7E00 00"},
      {"f32_to_f16", "7F800001", "7E00 10"},
      {"f32_to_f16", "FF800000", "FC00 00"},
      {"f16_to_f32", "0001", "33800000 00"},
      {"f16_to_f32", "FBFF", "C77FE000 00"},
      {"f64_to_f16", "3FF0020000000000", "3C00 01"},  // 1 + 2^-11
      {"f64_to_f16", "3FF0020000000001", "3C01 01"},
      {"f16_to_f64", "3C01", "3FF0040000000000 00"},
      {"f32_to_bf16", "3F808000", "3F80 01"},
      {"f32_to_e4m3", "43E00000", "7E 00"},  // 448
      {"f32_to_e4m3", "43E80001", "7F 05"},  // beyond 464, the midpoint above 448
      {"f32_to_f143", "80000000", "00 00"},  // no -0
      {"f152_to_e5m2", "40", "3C 00"},       // 1
      {"f16_to_i32", "C500", "FFFFFFFB 00"},
      {"f16_to_i32", "7C00", "80000000 10"},
      {"f16_to_i32", "4100", "00000002 00"},
      {"f16_to_i32 --exact", "4100", "00000002 01"},
      {"f16_to_i32 --rounding up", "4100", "00000003 00"},
      {"f32_to_i32", "4F000000", "80000000 10"},  // 2^31
      {"f32_to_i32", "CF000000", "80000000 00"},  // -2^31
      {"i32_to_f16", "00010000", "7C00 05"},
      {"i32_to_f16", "FFFFFFFF", "BC00 00"},
      {"i32_to_f16", "00000801", "6800 01"},  // 2049, halfway to 2050
      {"f16_roundToInt", "3E00", "4000 00"},  // 1.5
      {"f16_roundToInt --exact", "3E00", "4000 01"},
      {"f16_roundToInt", "4100", "4000 00"},  // 2.5
      {"f16_roundToInt", "B800", "8000 00"},  // -0.5
  });
}

TEST(ComputeGolden, Ipu) {
  expect_lines({
      {"f16_mul --preset ipu", "7B53 7B53", "7BFF 04"},  // 60000 * 60000
      {"f16_mul --preset ipu", "7B53 FB53", "FBFF 04"},
      {"f16_mul --preset ipu --behaviour nanoo", "7B53 7B53", "7E00 14"},
      {"f16_add --preset ipu", "3C00 3C01", "4000 00"},  // no inexact flag
      {"f16_mul --preset ipu", "0001 3800", "0000 00"},  // no underflow flag
      {"f16_add --preset ipu", "7E00 3C00", "7E00 10"},  // a quiet NaN is invalid
      {"f16_eq --preset ipu", "7E00 7E00", "0 10"},
      {"f16_div --preset ipu", "3C00 0000", "7E00 08"},
      {"f16_div --preset ipu --behaviour nanoo", "3C00 0000", "7E00 18"},
      {"f32_div --preset ipu", "3F800000 00000001", "7F800000 08"},  // a subnormal divisor counts as zero
      {"f32_add --preset ipu", "00000001 00000000", "00000000 00"},
      {"f32_mul --preset ipu", "7149F2CA 7149F2CA", "7F800000 04"},  // 1e30^2
      {"f32_to_f16 --preset ipu", "7F800000", "7E00 00"},
      {"f32_to_f16 --preset ipu --behaviour nanoo", "7F800000", "7E00 10"},
      {"f32_to_f143 --preset ipu", "43800000", "7F 04"},
      {"f32_to_f143 --preset ipu --behaviour nanoo", "43800000", "80 14"},
      {"f16_to_i32 --preset ipu", "7E00", "80000000 10"},
  });
}

TEST(Compute, ReadsShortFieldsLowerCaseAndALastLineWithoutNewline) {
  const Outcome o = run_softamp("compute f16_add", "3c00 1\n0 0\r\n7bff 3c00");
  EXPECT_EQ(o.out, "3C00 0001 3C00 01\n0000 0000 0000 00\n7BFF 3C00 7BFF 01\n");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(run_softamp("compute f16_add").out, "");
}

TEST(Compute, LinesMayArriveInPieces) {
  const Outcome o =
      run_shell("(printf '3C00 3'; sleep 0.2; printf 'C01\\n3C00'; sleep 0.2; printf ' 3C00\\n') | '" SOFTAMP_PROGRAM
                "' compute f16_add");
  EXPECT_EQ(o.out, "3C00 3C01 4000 01\n3C00 3C00 4000 00\n");
}

// What has been computed is written at once, so that a partner in a dialogue never waits for the end of the input.
TEST(Compute, AnswersEachPieceOfInputAtOnce) {
  const softamp::test::TemporaryFolder folder;
  const std::string answer = folder.file("answer");
  const Outcome o = run_shell(
      "(printf '3C00 3C00\\n'; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; "
      "if [ -s " +
      answer + " ]; then echo answered >&2; break; fi; done) | '" SOFTAMP_PROGRAM "' compute f16_add > " + answer);
  EXPECT_EQ(o.err, "answered\n");
}

TEST(Compute, RefusesBadLinesAfterWritingTheGoodOnes) {
  const struct {
    const char *input, *message;
  } rows[] = {
      {"3C00",
       "line 2: operand 2 is missing; expected 2 hexadecimal operands separated by one blank, of at most 4, 4 digits"},
      {"", "line 2: operand 1 is missing"},
      {"3C00 ", "line 2: operand 2 is missing"},
      {"3C000 3C00", "line 2: operand 1 '3C000' is too wide"},
      {"3C00 03C00", "line 2: operand 2 '03C00' is too wide"},
      {"3C00 3G00", "line 2: operand 2 '3G00' is not hexadecimal"},
      {"0x3C 3C00", "line 2: operand 1 '0x3C' is not hexadecimal"},
      {"3C00  3C00", "line 2: operand 2 '' is not hexadecimal"},
      {"3C00\t3C00", "line 2: operand 1 '3C00\\t3C00' is not hexadecimal"},
      {"3C00 3C00 4000 00", "line 2: extra field '4000 00'"},
      {"3C00 3C00 ", "line 2: extra field ''"},
      {"-3C0 3C00", "line 2: operand 1 '-3C0' is not hexadecimal"},
  };
  for (const auto& row : rows) {
    const Outcome o = run_softamp("compute f16_add", std::string("3C00 3C00\n") + row.input + "\n3C00 3C00\n");
    EXPECT_EQ(o.code, 2) << row.input;
    EXPECT_EQ(o.out, "3C00 3C00 4000 00\n") << row.input;
    EXPECT_NE(o.err.find(std::string("softamp compute: standard input, ") + row.message), std::string::npos) << o.err;
  }
}

/// R in the line: 1 + 2^-11 goes up where 2^12 + R >= 2^13. The answer repeats it.
// tests: N311
TEST(ComputeGolden, RandomFields) {
  expect_lines({
      {"f16_add --rounding stochastic --random-field", "3C00 1000 0FFF", "3C00 01"},
      {"f16_add --rounding stochastic --random-field", "3C00 1000 1000", "3C01 01"},
      {"f16_add --rounding stochastic --random-field --bits 1", "3C00 1000 0", "3C00 01"},
      {"f16_add --rounding stochastic --random-field --bits 1", "3C00 1000 1", "3C01 01"},
      {"f16_add --preset ipu --behaviour esr --random-field", "3C00 1000 1000", "3C01 00"},
      {"e4m3_add --rounding stochastic --random-field --bits 8", "38 10 00", "38 01"},  // 1 + 2^-5: a quarter
      {"e4m3_add --rounding stochastic --random-field --bits 8", "38 10 BF", "38 01"},
      {"e4m3_add --rounding stochastic --random-field --bits 8", "38 10 C0", "39 01"},
      // A chip's word: AMD reads the top 13 bits, NVIDIA the low 13 of a half, byte 0, or byte 1.
      {"f32_to_f16 --chip amd_cdna4 --random-field", "3F801000 7FFFFFFF", "3C00 01"},
      {"f32_to_f16 --chip cdna4 --random-field", "3F801000 80000000", "3C01 01"},
      {"f32_to_f16 --chip b200 --random-field", "3F801000 FFFF0FFF", "3C00 01"},
      {"f32_to_f16 --chip nvidia_sm100 --random-field", "3F801000 00001000", "3C01 01"},
      {"f32_to_e4m3 --chip nvidia_sm100 --random-field", "3F880000 FFFFFF7F", "38 01"},  // 1 + a half
      {"f32_to_e4m3 --chip nvidia_sm100 --random-field", "3F880000 00000080", "39 01"},
      {"f32_to_e4m3 --chip nvidia_sm103 --random-field", "3F880000 FFFF7FFF", "38 01"},
      {"f32_to_e4m3 --chip nvidia_sm103 --random-field", "3F880000 00008000", "39 01"},
      {"f32_to_bf16 --chip tenstorrent_wh --random-field", "80000001 00000000", "0000 00"},  // a denormal, flushed
      {"f32_to_f16 --chip p3109_fast --bits 2 --random-field", "3F801000 1", "3C00 01"},
      {"f32_to_f16 --chip p3109_fast --bits 2 --random-field", "3F801000 2", "3C01 01"},
  });
}

TEST(ComputeGolden, OddOverflowAndTininess) {
  expect_lines({
      {"f16_add --rounding odd", "3C00 0001", "3C01 01"},
      {"f16_add --rounding odd", "3C01 0001", "3C01 01"},
      {"f16_add --rounding to-odd", "7BFF 7BFF", "7BFF 05"},
      {"f32_to_e4m3 --rounding odd", "43E00001", "7E 05"},  // just above 448, the largest, which is even
      {"f16_add --overflow saturate", "7BFF 7BFF", "7BFF 05"},
      {"f16_add --overflow nan", "7BFF 7BFF", "7E00 05"},
      {"f16_mul --preset ipu --overflow nan", "7B53 7B53", "7E00 14"},
      {"f16_mul --preset ipu --overflow saturate", "7B53 7B53", "7BFF 04"},
      {"f32_to_e4m3 --chip amd_cdna4 --overflow saturate", "7F000000", "7E 05"},
      {"f32_to_e4m3 --chip amd_cdna4 --overflow nan", "7F000000", "7F 05"},
      {"f32_to_f16 --tininess after", "387FF000", "0400 01"},  // 2^-14 (1 - 2^-12) rounds to 2^-14
      {"f32_to_f16 --tininess before", "387FF000", "0400 03"},
      {"f32_to_f16 --tininess before", "387FE000", "0400 03"},
      {"f16_mul --tininess before", "0400 3800", "0200 00"},  // exact
  });
}

/// Formats by any name, also such as the suite has none of.
TEST(ComputeGolden, FormatsByAnyName) {
  expect_lines({
      {"float16_add", "3C00 3C01", "4000 01"},
      {"half_add", "3C00 3C01", "4000 01"},
      {"e5p11_add", "3C00 3C01", "4000 01"},
      {"bfloat16_add", "3F80 3F81", "4000 01"},
      {"float8_e4m3fn_mul", "7E 40", "7F 05"},
      {"fp32_to_float8_e4m3fn", "43E00000", "7E 00"},
      {"float8_e4m3fnuz_to_fp16", "40", "3C00 00"},
      {"tf32_add", "1FC00 1FC01", "20000 01"},  // 2 + 2^-10, of 19 bits
      {"e3p4_add", "18 19", "20 01"},           // 1 + 1.125 in 6 bits: bias 3, quantum 2^-3
      {"i32_to_binary16", "00000801", "6800 01"},
  });
  EXPECT_NE(run_softamp("compute tf32_add", "80000 0\n").err.find("operand 1 '80000' has more than 19 bits"),
            std::string::npos);
  EXPECT_NE(run_softamp("compute e3p4_add", "0 FF\n").err.find("operand 2 'FF' has more than 7 bits"),
            std::string::npos);
}

TEST(Compute, RefusesRandomFieldsByLine) {
  const auto refusal = [](const char* arguments, const char* line) {
    const Outcome o = run_softamp(std::string("compute ") + arguments, std::string(line) + "\n");
    EXPECT_EQ(o.code, 2) << arguments;
    return o.err;
  };
  const char* const field = "f16_add --rounding stochastic --random-field";
  EXPECT_EQ(
      refusal(field, "3C00 3C00 2000"),
      "softamp compute: standard input, line 1: random field '2000' has more than 13 bits; expected 2 hexadecimal "
      "operands, a random field of 13 bits separated by one blank, of at most 4, 4, 4 digits\n");
  EXPECT_NE(refusal(field, "3C00 3C00 02000").find("random field '02000' is too wide"), std::string::npos);
  EXPECT_NE(refusal(field, "3C00 3C00").find("random field is missing"), std::string::npos);
  EXPECT_NE(refusal(field, "3C00 3C00 R").find("random field 'R' is not hexadecimal"), std::string::npos);
  EXPECT_NE(refusal(field, "3C00 3C00 1 1").find("extra field '1'"), std::string::npos);
  EXPECT_NE(refusal("f32_to_f16 --chip b200 --random-field", "0 100000000").find("'100000000' is too wide"),
            std::string::npos);
  for (const char* arguments :
       {"f16_add --random-field", "f16_eq --random-field", "f32_add --preset ipu --behaviour esr --random-field"})
    EXPECT_NE(refusal(arguments, "0 0 0").find("--random-field: no rounding is stochastic"), std::string::npos)
        << arguments;
}

/// --random-words: one number a line, as `softamp round` takes them.
TEST(Compute, RandomBitsFromAFile) {
  const softamp::test::TemporaryFolder folder;
  const std::string words = folder.file("r.npy"), bytes = folder.file("b.npy");
  const auto write = [](const std::string& file, const std::string& descr, size_t n, const std::string& data) {
    std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + std::to_string(n) + ",), }";
    header.resize(117, ' ');
    header += '\n';
    softamp::test::write_text(file, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + data);
  };
  write(words, "<u2", 3, std::string("\xFF\x0F\x00\x10\xFF\xEF", 6));  // 0FFF, 1000, EFFF
  write(bytes, "|u1", 3, "abc");
  const std::string input = "3C00 1000\n3C00 1000\n3C00 1000\n", options = "compute f16_add --rounding stochastic ";
  const Outcome o = run_softamp(options + "--random-words " + words, input);
  EXPECT_EQ(o.out, "3C00 1000 3C00 01\n3C00 1000 3C01 01\n3C00 1000 3C00 01\n") << o.err;
  const Outcome four = run_softamp(options + "--random-words " + words, input + "3C00 1000\n");
  EXPECT_EQ(four.code, 2);
  EXPECT_EQ(four.out, o.out);
  EXPECT_NE(four.err.find("3 numbers; expected one for each line, and standard input has a line 4"), std::string::npos)
      << four.err;
  const Outcome narrow = run_softamp(options + "--random-words " + bytes, input);
  EXPECT_EQ(narrow.code, 2);
  EXPECT_NE(narrow.err.find("type '|u1'; expected unsigned numbers of at least 13 bits: '<u2' or '<u4'"),
            std::string::npos)
      << narrow.err;
  EXPECT_EQ(run_softamp(options + "--bits 8 --random-words " + bytes, "3C00 1000\n").code, 0);
  EXPECT_EQ(run_softamp(options + "--random-field --random-words " + bytes, "").code, 2);
}

TEST(Compute, ChecksLinesWithResults) {
  const Outcome good = run_softamp("compute f16_add --check", "3C00 3C01 4000 01\n7BFF 7bff 7c00 5\n");
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out, "2 lines agree\n");
  const Outcome bad =
      run_softamp("compute f16_add --check", "3C00 3C01 4001 01\n3C00 3C00 4000 00\n7BFF 7BFF 7C00 01\n");
  EXPECT_EQ(bad.code, 1);
  EXPECT_EQ(bad.out,
            "line 1: 3C00 3C01: found 4001 01, expected 4000 01\n"
            "line 3: 7BFF 7BFF: found 7C00 01, expected 7C00 05\n"
            "2 of 3 lines differ\n");
  const Outcome drawn =
      run_softamp("compute f16_add --rounding stochastic --random-field --check", "3C00 1000 1000 3C00 01\n");
  EXPECT_EQ(drawn.out, "line 1: 3C00 1000 1000: found 3C00 01, expected 3C01 01\n1 of 1 line differs\n");
  const Outcome cut = run_softamp("compute f16_add --check", "3C00 3C00\n");
  EXPECT_EQ(cut.code, 2);
  EXPECT_NE(
      cut.err.find("line 1: result is missing; expected 2 hexadecimal operands, result and flags separated by one "
                   "blank, of at most 4, 4, 4, 2 digits"),
      std::string::npos)
      << cut.err;
}

/// Casts by name, and what a chip gives: NaN, infinity and overflow of either sign, as the vendor's headers have them.
TEST(ComputeGolden, Casts) {
  expect_lines({
      {"f32_to_e4m3 --cast onnx_saturate", "FFC00000", "FF 00"},
      {"f32_to_e4m3 --cast onnx_saturate", "FF800000", "FE 00"},
      {"f32_to_e5m2 --cast onnx_saturate", "7F800000", "7B 00"},
      {"f32_to_f143 --cast onnx_saturate", "7F800000", "7F 00"},
      {"f32_to_e4m3 --cast onnx", "CE6E6B28", "FF 05"},
      {"f32_to_e4m3 --cast ocp_saturate", "FFC00000", "7F 00"},
      {"f32_to_e5m2 --cast nvidia_satfinite", "FFC00000", "7F 00"},
      {"f32_to_bf16 --cast ml_dtypes", "FF800001", "FFC0 10"},
      {"f32_to_e4m3 --cast amd", "FF800000", "FF 00"},
      {"f32_to_e5m2 --cast amd_saturate", "FF800000", "FB 00"},
  });
  const std::string given = "FFC00000 00000000 FF 00\nFF800000 00000000 FF 00\nCE6E6B28 00000000 FF 05\n";
  const Outcome nan = run_softamp("compute f32_to_e4m3 --chip amd_cdna4 --overflow nan --random-field --check", given);
  EXPECT_EQ(nan.out, "3 lines agree\n") << nan.err;
  const Outcome saturated =
      run_softamp("compute f32_to_e4m3 --chip amd_cdna4 --overflow saturate --random-field --check",
                  "FFC00000 00000000 FF 00\nFF800000 00000000 FE 00\nCE6E6B28 00000000 FE 05\n");
  EXPECT_EQ(saturated.out, "3 lines agree\n") << saturated.err;
}

TEST(Compute, RefusesBadOptions) {
  const struct {
    const char *arguments, *message;
  } rows[] = {
      {"f16_ad", "unknown operation 'f16_ad'; nearest: f16_add; known: T_add"},
      {"f64_add", "unknown operation 'f64_add'"},
      {"f16_add --rounding upward", "unknown rounding 'upward'; nearest: up"},
      {"f16_add --bits 0", "--bits: '0': expected a whole number in 1..32"},
      {"f16_add --bits 33", "--bits: '33'"},
      {"f16_add --seed -1", "--seed: '-1'"},
      {"f16_add --preset gpu", "unknown preset 'gpu'"},
      {"f16_add --preset ipu --rounding up", "expected nearest or stochastic with --preset ipu"},
      {"f16_add --behaviour oflo", "--behaviour: expected --preset ipu beside it"},
      {"f16_add --preset ipu --behaviour ofl", "unknown flag 'ofl'; nearest: oflo"},
      {"f16_add --preset ipu --behaviour inv,,oflo", "unknown flag ''"},
      {"f16_add --preset ipu --behaviour esr --rounding nearest", "--behaviour esr rounds stochastically"},
      {"f16_add --preset ipu --behaviour nanoo --overflow saturate", "--behaviour nanoo makes NaN of an overflow"},
      {"f16_add --preset ipu --rounding odd", "expected nearest or stochastic with --preset ipu"},
      {"f16_mul --preset ipu --tininess before", "--tininess: expected --preset ieee beside it"},
      {"f16_add --tininess befor", "unknown tininess 'befor'; nearest: before; known: after, before"},
      {"f16_add --overflow satur", "unknown overflow rule 'satur'"},
      {"f32_to_e4m3 --cast onnx_satur", "unknown cast 'onnx_satur'; nearest: onnx_saturate"},
      {"f32_to_f16 --cast onnx", "--cast: 'onnx': has no conversion to fp16; expected e4m3, e5m2, f143 or f152"},
      {"f32_to_f143 --cast amd", "--cast: 'amd': has no conversion to f143; expected e4m3 or e5m2"},
      {"e4m3_add --cast ocp", "--cast: 'ocp': expected a conversion between formats, as f32_to_e4m3, not e4m3_add"},
      {"f32_to_e4m3 --cast ocp --overflow nan", "--overflow excludes --cast"},
      {"f16_add --chip b20", "unknown chip 'b20'; nearest: b200"},
      {"f16_add --chip amd_cdna3", "chip amd_cdna3 does not round to fp16: expected f143 or f152"},
      {"f16_add --chip amd_cdna4 --bits 7", "rounds to fp16 by 13 random bits"},
      {"f16_add --chip b200 --overflow nan",
       "--overflow: 'nan': expected infinity or saturate with --chip nvidia_sm100"},
      {"f16_to_i32 --chip b200", "expected an operation that rounds to a format, as f16_add, not f16_to_i32"},
      {"f16_add --chip b200 --behaviour oflo", "--behaviour: expected --preset ipu beside it; a chip's rounding"},
      {"f16_add --preset ipu --behaviour oflo --check", "--check: expected no inv, div0 or oflo"},
      {"e9p4_add", "unknown operation 'e9p4_add'"},
      {"f16_to_f16", "unknown operation 'f16_to_f16'"},
  };
  for (const auto& row : rows) {
    const Outcome o = run_softamp(std::string("compute ") + row.arguments, "3C00 3C00\n");
    EXPECT_EQ(o.code, 2) << row.arguments;
    EXPECT_EQ(o.out, "") << row.arguments;
    EXPECT_NE(o.err.find(row.message), std::string::npos) << row.arguments << ": " << o.err;
  }
}

TEST(Compute, NothingIsNotJudged) {
  const Outcome o = run_softamp("compute f16_add --check", "");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(o.err, "softamp compute: --check: standard input has no line; expected operands, result and flags\n");
}

TEST(Compute, AnEnabledExceptionEndsTheRunAfterItsLine) {
  const Outcome o =
      run_softamp("compute f16_div --preset ipu --behaviour inv,div0", "7BFF 0001\n3C00 3C00\nBC00 0000\n3C00 3C00\n");
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(o.out, "7BFF 0001 7BFF 04\n3C00 3C00 3C00 00\nBC00 0000 7E00 08\n");
  EXPECT_EQ(o.err,
            "floating-point exception: divide-by-zero\n"
            "  $FP_STS: OFLO: 0x1 DIV0: 0x1 INV: 0x0\n"  // the overflow of line 0 is recorded, but does not stop
            "  operation: f16_div, element 2\n"
            "  operands: 0xbc00 (-1), 0x0000 (0)\n"
            "  tile 0, worker 0\n");
}

TEST(Compute, EachFlagStopsAlone) {
  const struct {
    const char *flag, *operation, *operands, *result;
  } rows[] = {{"inv", "f16_sub", "7C00 7C00", "7E00 10"},
              {"div0", "f16_div", "3C00 0000", "7E00 08"},
              {"oflo", "f16_mul", "7B53 7B53", "7BFF 04"},
              {"oflo", "i32_to_f16", "00020000", "7BFF 04"}};
  for (const auto& row : rows)
    for (const char* enabled : {"none", "inv", "div0", "oflo"}) {
      const Outcome o = run_softamp(std::string("compute ") + row.operation + " --preset ipu --behaviour " + enabled,
                                    std::string(row.operands) + "\n");
      EXPECT_EQ(o.out, std::string(row.operands) + " " + row.result + "\n");
      EXPECT_EQ(o.code, std::string(enabled) == row.flag ? 3 : 0) << row.operation << " under " << enabled;
      EXPECT_EQ(o.err.empty(), o.code == 0);
    }
}

// An exception on a line before a refused one comes first, as in the machine.
TEST(Compute, ExceptionBeforeABadLine) {
  const Outcome o = run_softamp("compute f16_add --preset ipu --behaviour inv", "7E00 0\nxyz\n");
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(o.out, "7E00 0000 7E00 10\n");
}

// Line n of a stochastic run takes the random bits of index n, whatever the blocks in which lines are read.
TEST(Compute, StochasticRoundingIsAddressedByTheLineNumber) {
  using namespace softamp;
  constexpr int kLines = 2500;  // more than two of the program's blocks
  for (const int bits : {1, 13, 16, 24})
    for (const bool ipu : {false, true}) {
      RoundingPolicy policy = RoundingPolicy::stochastic_carry(bits);
      policy.variant = StochasticVariant::kHalf;
      IpuSwitches switches;
      switches.sr_bits = bits;
      switches.sr_form = StochasticVariant::kHalf;
      const FloatingPointBehaviour esr{false, false, false, true, false};
      const Semantics semantics = ipu ? Semantics::ipu(esr, switches) : Semantics::ieee(policy);
      const RandomBits random{0x123456789abcdef0u};
      std::string input, expected;
      for (uint32_t i = 0; i < kLines; ++i) {
        const uint64_t a = 0x3C00 + i % 1024, b = 0x1000 + i * 7 % 4096;
        const Rounded r = fp::add(kFp16, a, b, semantics, random.bits(0, 0, i, bits));
        char line[64];
        std::snprintf(line, sizeof line, "%04X %04X", unsigned(a), unsigned(b));
        input += std::string(line) + "\n";
        std::snprintf(line + 9, sizeof line - 9, " %04X %02X\n", unsigned(r.code), unsigned(r.flags));
        expected += line;
      }
      const Outcome o =
          run_softamp("compute f16_add --seed 0x123456789abcdef0 --variant half --bits " + std::to_string(bits) +
                          (ipu ? " --preset ipu --behaviour esr" : " --rounding stochastic"),
                      input);
      EXPECT_EQ(o.code, 0) << o.err;
      EXPECT_TRUE(o.out == expected) << bits << (ipu ? " ipu" : " ieee");
    }
}

// Every operation of the help text exists for every type, and its lines have the widths that the suite expects.
TEST(Compute, EveryOperationOfEveryType) {
  const struct {
    const char* name;
    size_t digits;
  } types[] = {{"f16", 4}, {"bf16", 4}, {"f32", 8}, {"e4m3", 2}, {"e5m2", 2}, {"f143", 2}, {"f152", 2}};
  std::string commands, expected;
  const auto add = [&](const std::string& operation, const std::string& operands, size_t result_digits) {
    commands +=
        "printf '" + operands + "\\n' | '" SOFTAMP_PROGRAM "' compute " + operation + " || echo " + operation + "\n";
    expected += operands + " " + std::string(result_digits, '0') + " 00\n";
  };
  for (const auto& t : types) {
    const std::string name = t.name, zero(t.digits, '0');
    for (const char* suffix : {"_add", "_sub", "_mul", "_min", "_max"}) add(name + suffix, zero + " " + zero, t.digits);
    for (const char* suffix : {"_sqrt", "_roundToInt"}) add(name + suffix, zero, t.digits);
    for (const char* suffix : {"_lt", "_lt_quiet"}) add(name + suffix, zero + " " + zero, 1);
    add(name + "_mulAdd", zero + " " + zero + " " + zero, t.digits);
    add(name + "_to_i32", zero, 8);
    add("i32_to_" + name, "00000000", t.digits);
    add(name + "_to_f64", zero, 16);
    add("f64_to_" + name, "0000000000000000", t.digits);
    for (const auto& to : types)
      if (&t != &to) add(name + "_to_" + to.name, zero, to.digits);
  }
  const Outcome o = run_shell(commands);
  EXPECT_EQ(o.out, expected);
  EXPECT_EQ(o.err, "");
}
