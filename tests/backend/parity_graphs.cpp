// Random graphs over the whole table of operations.
#include "parity.h"
#include "tests/graph/random_graph.h"

namespace softamp::parity {

void graphs(Suite& suite) {
  const uint64_t count = suite.elements() > 100000 ? 300 : 12;
  for (uint64_t seed = 0; seed < count; ++seed)
    for (const Setting& setting : settings()) {
      const std::string name = "random graph " + std::to_string(seed) + " " + setting.name;
      if (!suite.wants(name)) continue;
      test::RandomGraphMaker maker(seed);
      maker.specials_ = seed % 2 == 1;
      test::RandomGraph g = maker.make(30);
      Case c{name, std::move(g.graph), std::move(g.feeds), std::move(g.fetches), setting.options, 3};
      const PoplarOptions half{{"partialsType", "half"}};
      if (seed % 3 == 1) c.options.config.matmuls.poplar_options = c.options.config.convolutions.poplar_options = half;
      c.options.amp_block = seed % 3 == 2 ? 1 : seed % 2 ? 4 : 16;
      suite.run(c);
    }
}

}  // namespace softamp::parity
