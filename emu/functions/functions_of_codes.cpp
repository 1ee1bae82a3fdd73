#include "emu/functions/functions_of_codes.h"

#include <algorithm>

#include "emu/bulk/plan.h"

namespace softamp::emu {
namespace {

constexpr uint32_t kOfASign = 0x8000;

void fill(uint16_t* codes, size_t first) {
  for (size_t i = 0; i < kGroup; ++i) codes[i] = static_cast<uint16_t>(first + i);
}

}  // namespace

const uint16_t* FunctionOfCodes::results(const Maker& maker) const {
  std::call_once(results_made_, [&] {
    // One more entry: vectors read 32 bits for each code.
    auto made = std::make_unique<uint16_t[]>(kCodes + 1);
    alignas(64) uint16_t codes[kGroup], out[kGroup];
    for (size_t first = 0; first < kCodes; first += kGroup) {
      fill(codes, first);
      maker.results(codes, out);
      std::copy_n(out, kGroup, made.get() + first);
    }
    results_ = std::move(made);
  });
  return results_.get();
}

bool FunctionOfCodes::quiet(const Maker& maker, uint8_t possible, uint8_t wanted, QuietCodes& codes) const {
  if (wanted == 0) {
    codes = {};
    return true;
  }
  std::call_once(quiet_made_, [&] {
    alignas(64) uint16_t group[kGroup];
    for (int bit = 0; bit < 8; ++bit)
      for (uint32_t sign = 0; sign < 2; ++sign) {
        const uint8_t flag = static_cast<uint8_t>(1 << bit);
        Range run{0, 0}, longest{0, 0};
        for (uint32_t at = 0; at < kOfASign && (possible & flag); at += kGroup) {
          fill(group, sign * kOfASign + at);
          if (maker.may_raise(group, flag)) {
            run = {at + static_cast<uint32_t>(kGroup), 0};
            continue;
          }
          run.end = at + static_cast<uint32_t>(kGroup);
          if (run.end - run.begin > longest.end - longest.begin) longest = run;
        }
        quiet_[bit][sign] = longest;
      }
  });
  Range of_sign[2] = {{0, kOfASign}, {0, kOfASign}};
  for (int bit = 0; bit < 8; ++bit)
    for (int sign = 0; sign < 2 && (wanted >> bit & 1); ++sign) {
      of_sign[sign].begin = std::max(of_sign[sign].begin, quiet_[bit][sign].begin);
      of_sign[sign].end = std::min(of_sign[sign].end, quiet_[bit][sign].end);
    }
  bool some = false;
  for (int sign = 1; sign >= 0; --sign) {
    const Range r = of_sign[sign];
    if (r.begin >= r.end) continue;
    const uint16_t first = static_cast<uint16_t>(static_cast<uint32_t>(sign) * kOfASign + r.begin);
    const uint16_t more = static_cast<uint16_t>(r.end - r.begin - 1);
    codes.first[sign] = first, codes.more[sign] = more;
    // A sign without quiet codes takes the other's.
    if (!some) codes.first[1 - sign] = first, codes.more[1 - sign] = more;
    some = true;
  }
  return some;
}

}  // namespace softamp::emu
