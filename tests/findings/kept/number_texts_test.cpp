// What is told of numbers, whole: each rounding of many numbers in many formats, and where JSON is at fault.
#include <sstream>

#include "softamp/names/names.h"
#include "src/inspection/inspection.h"
#include "src/numbers/decimal_text.h"
#include "src/text/read_json.h"
#include "tests/kept_text.h"
#include "tests/outcomes.h"

namespace softamp::test::number_texts {
namespace {

TEST(Inspections, AreTheseTexts) {
  Outcomes outcomes;
  std::string text;
  const std::vector<std::string> numbers = {"0",
                                            "-0",
                                            "1",
                                            "0.1",
                                            "-0.1",
                                            "1e-3",
                                            "65504",
                                            "65519",
                                            "65520",
                                            "65536",
                                            "-1e9",
                                            "1e39",
                                            "1e400",
                                            "1e-400",
                                            "6e-8",
                                            "2.98e-8",
                                            "5.96e-8",
                                            "448",
                                            "449",
                                            "464",
                                            "465",
                                            "57344",
                                            "61440",
                                            "0.015625",
                                            "2.5",
                                            "0x1p3",
                                            "0X1.8p-3",
                                            "0x1.00000001p0",
                                            "0x1.fffffffffffff8p-2",
                                            "0.3333333333333333333333333333333333333",
                                            "inf",
                                            "-inf",
                                            "nan",
                                            "0x3c00",
                                            "0X3C00",
                                            "0x3c01",
                                            "0xfc00",
                                            "0x7e01",
                                            "0x0",
                                            "0x",
                                            "0xg",
                                            "0x1p",
                                            "0x7f",
                                            "0xff",
                                            "0x100",
                                            "0xffff",
                                            "0x10000",
                                            "0x3f800001",
                                            "0x100000000",
                                            "x",
                                            "",
                                            "1x",
                                            "0x3c00 "};
  for (const char* name : {"fp16", "bf16", "tf32", "fp32", "fp64", "e4m3", "e5m2", "f143", "e2m1", "e3m2", "e5p11"}) {
    for (const Overflow overflow : {Overflow::kInfinity, Overflow::kSaturate})
      for (const int bits : {1, 5, 13, 32})
        for (const std::string& number : numbers)
          outcomes.add(std::string(name) + " " + number + " " + std::to_string(bits), [&] {
            RoundingPolicy base;
            base.overflow = overflow;
            base.random_bits = bits;
            const detail::Inspection s = detail::inspection_of(number, format_from_name(name), base);
            std::ostringstream out;
            detail::print_inspection(s, out);
            return out.str() + detail::inspection_json(s).dump();
          });
    text += std::string(name) + ": " + outcomes.digest();
  }
  std::ostringstream whole;
  detail::print_inspection(detail::inspection_of("0.1", format_from_name("fp16"), {}), whole);
  expect_kept("findings/kept/inspections.txt", text + outcomes.refusals() + whole.str(), outcomes.all());
}

/// The parser's own sentence is cut off: each version has another.
TEST(ReadJson, FaultsAreTheseTexts) {
  Outcomes outcomes;
  const std::string quote = "\xe2\x80\x9c", other = "\xc2\xab",
                    document = " \"a\": [1, -2.5e3, \"t\\n\", null]\n{\"a\": {\"b\": [true, 1]},\n \"" + quote +
                               "\": " + other + "}";
  for (size_t from = 0; from <= document.size(); ++from)
    for (size_t length : {0, 1, 2, 5, 32, 33, 34, 60, 1000})
      for (const char* put : {"", "\"", "{", "]", ":", "1e999", "\"a\": 1, "}) {
        std::string changed = document;
        changed.replace(from, length, put);
        outcomes.add(std::to_string(from) + " " + std::to_string(length) + " " + put, [&] {
          try {
            return read_json(changed, "f.json", {100, 3}, 2).dump();
          } catch (const JsonError& error) {
            const std::string what = error.what();
            throw std::invalid_argument(what.substr(0, what.find("syntax error")));
          }
        });
      }
  expect_kept("findings/kept/json_faults.txt", outcomes.text(), outcomes.all());
}

}  // namespace
}  // namespace softamp::test::number_texts
