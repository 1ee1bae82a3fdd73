// Every test row by itself, and random graphs over the whole table of operations.
#include <cstdlib>

#include "parity.h"
#include "tests/graph/random_graph.h"
#include "tests/ops/node_rows.h"

namespace softamp::parity {
namespace {

/// Partials and blocks, so that all are met.
void vary(ExecutorOptions& options, uint64_t seed) {
  const PoplarOptions half{{"partialsType", "half"}};
  if (seed % 3 == 1) options.config.matmuls.poplar_options = options.config.convolutions.poplar_options = half;
  options.amp_block = seed % 3 == 2 ? 1 : seed % 2 ? 4 : 16;
}

/// From another seed on, other numbers.
void all_rows(Suite& suite, uint64_t seed) {
  for (const test::NodeRow& row : test::node_rows())
    for (const Setting& setting : settings()) {
      const std::vector<DType> types = row.types();
      const DType type = types[++seed % types.size()];
      Case c;
      c.name = row.op + " row " + std::to_string(seed) + " " + name_of(type) + " " + setting.name;
      if (!suite.wants(c.name)) continue;
      GraphBuilder b;
      const Port node = test::add_node(row, test::placeholders_of(row, type, b), b);
      for (size_t i = 0; i < row.inputs.size(); ++i) {
        const test::NodeRow::Input& in = row.inputs[i];
        const TensorType t{row.dtype(i, type), Shape(in.shape)};
        c.feeds.emplace("x" + std::to_string(i), in.numbers.empty()
                                                     ? any_tensor(t, seed * 10 + i, seed % 2 == 0)
                                                     : Tensor::from_values(t.dtype, t.shape, in.numbers));
      }
      if (row.op == "Placeholder") c.feeds.emplace(b.graph().node(node.node).name, Tensor(b.type(node)));
      c.graph = b.build();
      c.options = setting.options;
      c.options.print = [](const std::string&) {};
      vary(c.options, seed);
      suite.run(c);
    }
}

}  // namespace

void rows(Suite& suite) {
  // SOFTAMP_ROWS [=1]: how often the rows are tried.
  const char* const times = std::getenv("SOFTAMP_ROWS");
  for (uint64_t round = 0; round < (times ? static_cast<uint64_t>(std::atoll(times)) : 1); ++round)
    all_rows(suite, round * 1000003);
}

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
      vary(c.options, seed);
      suite.run(c);
    }
}

}  // namespace softamp::parity
