#include "src/graph/ops/rows.h"

namespace softamp::operations_of {

Shape broadcast_of(InferenceContext& c, const Shape& a, const Shape& b) {
  try {
    return broadcast(a, b);
  } catch (const std::invalid_argument& e) {
    c.fail(e.what());
  }
}

void broadcast_two(InferenceContext& c) { c.output(0, broadcast_of(c, c.shape(0), c.shape(1))); }
void equal_two(InferenceContext& c) {
  if (!(c.shape(0) == c.shape(1)))
    c.fail("shapes differ: " + c.shape(0).text() + " and " + c.shape(1).text() + "; expected equal ones");
  c.output(0, c.shape(0));
}

}  // namespace softamp::operations_of
