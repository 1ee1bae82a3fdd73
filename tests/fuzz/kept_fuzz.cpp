// libFuzzer target: any bytes in the place of a kept result of `softamp reproduce` are refused with
// std::invalid_argument, or give a result that reads back equal after it is written.
#include <stdexcept>
#include <string>

#include "src/reproduce/outcome_json.h"
#include "src/text/read_json.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/require.h"

using namespace softamp;
using namespace softamp::reproduce;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string written;
  try {
    written = json_text(result_json(result_from_json(read_json({reinterpret_cast<const char*>(data), size}, "input"))));
  } catch (const std::invalid_argument& e) {
    require(!std::string(e.what()).starts_with("[json.exception"), "an error is in our words");
    return 0;
  }
  require(json_text(result_json(result_from_json(read_json(written)))) == written, "a result reads back equal");
  return 0;
}
