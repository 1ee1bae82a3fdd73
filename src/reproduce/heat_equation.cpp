// STUB
#include "src/reproduce/shelf.h"

namespace softamp::reproduce {

Experiment heat_equation() {
  Experiment e;
  e.name = "heat-equation";
  e.seconds = [](const Request&) { return 0.0; };
  e.run = [](const Request&, Watch&) {
    Outcome o;
    o.skipped = "not written yet";
    return o;
  };
  return e;
}

}  // namespace softamp::reproduce
