// STUB
#include "src/reproduce/shelf.h"

namespace softamp::reproduce {

Experiment unit_circle() {
  Experiment e;
  e.name = "unit-circle";
  e.seconds = [](const Request&) { return 0.0; };
  e.run = [](const Request&, Watch&) {
    Outcome o;
    o.skipped = "not written yet";
    return o;
  };
  return e;
}

}  // namespace softamp::reproduce
