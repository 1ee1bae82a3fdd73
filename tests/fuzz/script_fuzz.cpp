// libFuzzer target: any line of a script is executed, or refused and leaves the unit as it was.
#include <array>
#include <sstream>
#include <stdexcept>
#include <string>

#include "src/program/unit_script.h"
#include "tests/fuzz/require.h"

using namespace softamp;

namespace {

std::array<uint32_t, 6> registers_of(const FpUnit& unit) {
  return {unit.get(Csr::kFpSts),  unit.get(Csr::kFpCtl),  unit.get(Csr::kPrng00),
          unit.get(Csr::kPrng01), unit.get(Csr::kPrng10), unit.get(Csr::kPrng11)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream text(std::string(reinterpret_cast<const char*>(data), size));
  program::UnitScript script;
  for (std::string line; std::getline(text, line);) {
    const auto before = registers_of(script.unit());
    try {
      script.execute(line);
      continue;
    } catch (const program::UsageError& e) {
      require(*e.what() != 0, "a refusal says why");
    } catch (const std::invalid_argument& e) {
      require(*e.what() != 0, "a refusal says why");
    }
    require(registers_of(script.unit()) == before, "a refused line changes nothing");
  }
  return 0;
}
