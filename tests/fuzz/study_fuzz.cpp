// libFuzzer target: any bytes given to the reader of study files are refused with an error that names the file, or give
// a plan whose rows have values for every key.
#include <stdexcept>
#include <string>

#include "src/program/study/study_grid.h"
#include "src/program/usage.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/require.h"

using namespace softamp;
using program::StudyPlan;
using program::UsageError;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A mechanism may name a recipe's file: no devices, which may wait for ever.
  if (text.find('/') != std::string_view::npos) return 0;
  StudyPlan plan;
  try {
    plan = program::parse_study(text, "input");
  } catch (const std::invalid_argument& e) {
    require_named(e);
    return 0;
  } catch (const UsageError& e) {
    require_named(e);
    return 0;
  }
  require(plan.seeds >= 1 && plan.seeds <= 1000000, "the seeds are within their limits");
  if (plan.rows() > 50 || plan.seeds > 20) return 0;
  try {
    const auto runs = plan.runs();  // checks the settings of all rows
    require(runs.size() == plan.rows() * static_cast<size_t>(plan.seeds), "each row has its seeds");
    for (size_t row = 0; row < plan.rows(); ++row)
      require(plan.values(row).size() == plan.keys().size(), "a row has a value for each key");
  } catch (const UsageError& e) {
    require(*e.what() != 0, "a refusal says why");
  }
  return 0;
}
