// libFuzzer target: any lines given to `softamp compute` are computed, or refused with their number. The first byte
// chooses the operation, and whether lines are judged or have a random field.
#include <memory>
#include <string>

#include "src/program/compute/compute_operations.h"
#include "src/program/program.h"
#include "tests/fuzz/require.h"

using namespace softamp;
using namespace softamp::program;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const std::vector<std::string> names = compute_operation_names();
  ComputeOperation operation = find_compute_operation(names[data[0] * names.size() / 256]);
  operation.shape.judged = data[0] % 3 == 1;
  operation.shape.field_bits = data[0] % 3 == 2 ? 13 : 0;
  std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  static const auto block = std::make_unique<CaseBlock>();
  uint64_t line = 1;
  try {
    for (;;) {
      const size_t read = read_cases(text, operation.shape, line, *block);
      require(read <= text.size() && (read == 0) == (block->count == 0), "a case takes a line");
      if (block->count == 0) return 0;
      for (size_t i = 0; i < block->count; ++i) block->random[i] = 0;
      operation.run(operation, {Semantics::ieee(), false}, *block);
      std::string out;
      write_cases(*block, block->count, operation.shape, out);
      require(out.size() % block->count == 0, "all lines of an operation are as long");
      text.remove_prefix(read);
      line += block->count;
    }
  } catch (const UsageError& e) {
    require(std::string(e.what()).rfind("standard input, line ", 0) == 0, "an error names the line");
  }
  return 0;
}
