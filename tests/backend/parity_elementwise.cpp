// Element-wise operations on every dtype, with every special value, broadcast or not.
#include "parity.h"
#include "softamp/graph/operation.h"

namespace softamp::parity {

void elementwise(Suite& suite) {
  for (const Setting& setting : settings())
    for (const char* op : {"AddV2", "Sub", "Mul", "RealDiv"})
      for (const DType type : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
        const std::string name = std::string(op) + " " + name_of(type) + " " + setting.name;
        if (!suite.wants(name)) continue;
        Case c;
        c.name = name;
        const Shape shape{suite.elements()};
        GraphBuilder b;
        const Port x = b.placeholder("x", type, shape), y = b.placeholder("y", type, shape);
        b.add(op, {x, y});
        c.graph = b.build();
        c.feeds.emplace("x", floats(type, shape, 1));
        c.feeds.emplace("y", floats(type, shape, 2));
        c.options = setting.options;
        suite.run(c);
      }
}

}  // namespace softamp::parity
