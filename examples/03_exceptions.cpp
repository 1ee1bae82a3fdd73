// What a tile does on an invalid operation, a division by zero and an overflow: it records the condition in $FP_STS,
// and stops there if the program asked for that exception (TUTORIAL G32, G34).
// tests: G32, G34
#include "softamp/findings/exception.h"
#include "softamp/findings/registers.h"
#include "softamp/numerics/unit.h"

#include <cstdio>
#include <vector>

using namespace softamp;
using namespace softamp::literals;

namespace {

void print_registers(const FpUnit& unit) {
  std::printf("  %s\n  %s\n", control_line(unit.get(Csr::kFpCtl)).c_str(),
              status_line(StatusRegister::decode(unit.get(Csr::kFpSts))).c_str());
}

/// Runs one operation on a fresh unit and shows the outcome.
void show(const char* title, const FloatingPointBehaviour& behaviour, UnitOp op, Half a, Half b) {
  FpUnit unit(behaviour);
  const Half result = unit.execute(op, a, b);
  std::printf("%s\n  result 0x%04x = %g\n", title, static_cast<unsigned>(result.bits()), static_cast<double>(result));
  print_registers(unit);
  try {
    throw_if_excepted(unit);
    std::printf("  no exception\n");
  } catch (const FloatingPointError& e) {
    std::printf("%s\n", e.what());
  }
}

}  // namespace

int main() {
  const FloatingPointBehaviour off = FloatingPointBehaviour::all_off();
  FloatingPointBehaviour inv = off, div0 = off, oflo = off, nanoo = off;
  inv.inv = true;
  div0.div0 = true;
  oflo.oflo = true;
  nanoo.nanoo = true;
  const Half infinity = Half::from_bits(0x7c00);

  std::printf("The machine's own default: nothing stops, overflow saturates.\n");
  show("60000 * 60000, all flags off", off, UnitOp::kMul, 60000.0_h, 60000.0_h);
  show("60000 * 60000, nanoo on", nanoo, UnitOp::kMul, 60000.0_h, 60000.0_h);

  std::printf("\nOne exception each.\n");
  show("inf - inf, inv on", inv, UnitOp::kSub, infinity, infinity);
  show("10000 / 0, div0 on", div0, UnitOp::kDiv, 10000.0_h, 0.0_h);
  show("60000 * 60000, oflo on", oflo, UnitOp::kMul, 60000.0_h, 60000.0_h);

  std::printf("\nOf a whole array, the lowest element that raised an enabled flag is reported.\n");
  const Semantics semantics = Semantics::ipu(inv);
  const uint64_t a[] = {0x3c00, 0x7b53, 0x7e00, 0x7c00}, b[] = {0x3c00, 0x7b53, 0x3c00, 0x0000};
  FpStatus status;
  for (uint64_t i = 0; i < 4; ++i) status.raise(fp::mul(kFp16, a[i], b[i], semantics).flags, i);
  try {
    throw_if_enabled(status, inv, {"mul", 0, kFp16, {}, false, 3, 1}, [&](uint64_t i) {
      return std::vector<uint64_t>{a[i], b[i]};
    });
  } catch (const FloatingPointError& e) {
    std::printf("%s\n%s\n%s\n", e.what(), e.report(DumpFormat::kOneLine).c_str(), e.report(DumpFormat::kJson).c_str());
  }
}
