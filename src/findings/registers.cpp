#include "softamp/findings/registers.h"

#include "src/text/hexadecimal.h"

namespace softamp {
namespace {

std::string field(const char* name, uint32_t value) { return std::string(" ") + name + ": 0x" + hexadecimal(value, 1); }
std::string word(uint32_t value) { return "0x" + hexadecimal(value, 8); }

uint32_t bit(uint32_t word, uint32_t mask) { return (word & mask) != 0 ? 1 : 0; }

}  // namespace

std::string status_line(uint8_t flags) {
  const uint32_t word = StatusRegister::encode(flags);
  return "$FP_STS:" + field("OFLO", bit(word, StatusRegister::kOflo)) +
         field("DIV0", bit(word, StatusRegister::kDiv0)) + field("INV", bit(word, StatusRegister::kInv));
}

std::string control_line(uint32_t control) {
  using C = ControlRegister;
  return "$FP_CTL: " + word(control) + field("INV", bit(control, C::kInv)) + field("DIV0", bit(control, C::kDiv0)) +
         field("OFLO", bit(control, C::kOflo)) + field("RND", (control & C::kRnd) >> 16) +
         field("ESR", bit(control, C::kEsr)) + field("NANOO", bit(control, C::kNanoo));
}

std::string prng_lines(const PrngRegisters& registers) {
  static constexpr const char* kNames[4] = {"$PRNG_0_0: ", "$PRNG_0_1: ", "$PRNG_1_0: ", "$PRNG_1_1: "};
  std::string text;
  for (int i = 0; i < 4; ++i) text += kNames[i] + word(registers.word[i]) + "\n";
  return text;
}

}  // namespace softamp
