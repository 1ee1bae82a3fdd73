// Functions that write JSON, for a minimal build: they refuse, since the JSON library is missing.
#include <stdexcept>

#include "src/report/exception_json.h"

namespace softamp::report_detail {

std::string exception_json(uint8_t, uint8_t, const ExceptionSite&) {
  throw std::runtime_error(
      "this build (SOFTAMP_MINIMAL=ON) writes no JSON; expected the layout full or one_line of an exception's report");
}

}  // namespace softamp::report_detail
