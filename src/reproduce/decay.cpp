// STUB
#include "src/reproduce/shelf.h"

namespace softamp::reproduce {

Experiment decay() {
  Experiment e;
  e.name = "decay";
  e.seconds = [](const Request&) { return 0.0; };
  e.run = [](const Request&, Watch&) {
    Outcome o;
    o.skipped = "not written yet";
    return o;
  };
  return e;
}

}  // namespace softamp::reproduce
