// Swamping: what is left of a small number after a large one was added to it and taken away again, in fp16.
//
// The tutorial on half precision that this follows prints its results cut off after seven decimals, and two of them
// misprinted (0.0200205 and 0.0004833); here every result has its true digits (TUTORIAL G09, G10, X1).
// tests: G09, G10, X1
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/half.h"
#include "softamp/sums/running_sum.h"

#include <cstdio>
#include <string>

using namespace softamp;
using namespace softamp::literals;

namespace {

struct Line {
  const char* text;
  Half x;
};

void add_and_take_away() {
  constexpr Line kLines[] = {{"0.0004", 0.0004_h}, {"0.2", 0.2_h},       {"0.02", 0.02_h},
                             {"0.002", 0.002_h},   {"0.0002", 0.0002_h}, {"0.0001", 0.0001_h}};
  std::printf("x       x in fp16                  (x + 0.25) - 0.25\n");
  for (const Line& line : kLines) {
    const Half result = (line.x + 0.25_h) - 0.25_h;
    std::printf("%-6s  %-25s  %s\n", line.text, exact_decimal(kFp16, line.x.bits()).c_str(),
                exact_decimal(kFp16, result.bits()).c_str());
  }
}

void add_ten_thousand_times() {
  RunningSumSetup setup;  // fp16, rounded to nearest even
  setup.addend = (0.0001_h).bits();
  setup.count = 10000;
  const RunningSum sum = running_sum(setup);
  std::printf("\n0.0001 added %llu times to 0:\n", static_cast<unsigned long long>(setup.count));
  std::printf("  exact     %s\n", sum.exact_text.c_str());
  std::printf("  in fp16   %s, reached at addition %llu; no later one moves it\n",
              exact_decimal(kFp16, sum.codes[0]).c_str(), static_cast<unsigned long long>(sum.last_change[0]));
}

void show_why() {
  // At 0.25 neighbouring fp16 numbers lie 2^-12 apart; 0.0001 is less than half of that, so nearest gives 0.25 back.
  const Half quarter = 0.25_h, next = Half::from_bits(static_cast<uint16_t>(quarter.bits() + 1));
  std::printf("\nfrom 0.25 to the next fp16 number: %s\n", exact_decimal(kFp16, (next - quarter).bits()).c_str());
  std::printf("half of that:                      %s\n",
              exact_decimal(kFp16, ((next - quarter) / 2.0_h).bits()).c_str());
  std::printf("0.0001 in fp16:                    %s\n", exact_decimal(kFp16, (0.0001_h).bits()).c_str());
  std::printf("0.25 + 0.0001 == 0.25:             %s\n", quarter + 0.0001_h == quarter ? "yes" : "no");
}

}  // namespace

int main() {
  add_and_take_away();
  add_ten_thousand_times();
  show_why();
}
