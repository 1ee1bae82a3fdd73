// The digest of a suite of graphs: one line per setting, the same from every compiler, instruction set, number of
// threads and backend. arithmetic.json pins it.
//
// The first line is a digest of the suite itself, graphs and feeds: a suite that asks something else, for example since
// there is a new operation, may answer something else without any bit of the arithmetic having moved.
//
//   graph_digest [ISA [THREADS]]      ISA (auto, portable, ..., reference) [=auto], THREADS [=0: all]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "softamp/graph/trace.h"
#include "tests/graph/random_graph.h"

namespace {

using namespace softamp;

constexpr uint64_t kGraphs = 24;

ExecutorOptions options_of(int argc, char** argv) {
  ExecutorOptions o;
  const std::string isa = argc > 1 ? argv[1] : "auto";
  o.reference = isa == "reference";
  for (const auto set : bulk::instruction_sets())
    if (isa == bulk::name(set)) o.isa = set;
  o.threads = argc > 2 ? std::atoi(argv[2]) : 0;
  o.seed = 20;
  return o;
}

/// Appends names, numbers and bits of all that a run of the graph depends on.
class SuiteText {
 public:
  void add(const test::RandomGraph& g) {
    for (const Node& node : g.graph.nodes()) {
      text += node.op + ' ' + node.name;
      for (const Port& p : node.inputs) text += ' ' + g.graph.port_name(p);
      for (const auto& [name, value] : node.attributes) {
        text += ' ' + name + '=';
        std::visit([this](const auto& v) { add_value(v); }, value);
      }
      for (const TensorType& type : node.outputs) add_type(type.dtype, type.shape);
      text += '\n';
    }
    for (const auto& [name, tensor] : g.feeds) {
      text += name;
      add_tensor(tensor);
    }
  }
  std::string text;

 private:
  void add_value(bool b) { text += b ? "true" : "false"; }
  void add_value(int64_t i) { text += std::to_string(i); }
  void add_value(double d) { text += std::to_string(__builtin_bit_cast(uint64_t, d)); }
  void add_value(const std::string& s) { text += s; }
  void add_value(DType t) { text += name_of(t); }
  void add_value(const Shape& s) { text += s.text(); }
  void add_value(const std::vector<int64_t>& numbers) {
    for (const int64_t i : numbers) text += std::to_string(i) + ',';
  }
  void add_value(const std::shared_ptr<const Tensor>& t) {
    if (t) add_tensor(*t);
  }
  void add_type(DType dtype, const Shape& shape) { text += ' ' + std::string(name_of(dtype)) + shape.text(); }
  void add_tensor(const Tensor& t) {
    add_type(t.dtype(), t.shape());
    text += ' ' + hash_text(t.data(), t.bytes()) + '\n';
  }
};

test::RandomGraph graph_of(uint64_t seed) {
  test::RandomGraphMaker maker(seed);
  maker.specials_ = seed % 2 == 1;
  return maker.make(30);
}

void print(const char* title, const std::string& text) {
  std::printf("%-32s %s\n", title, hash_text(text.data(), text.size()).c_str());
}

void digest_suite() {
  SuiteText suite;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) suite.add(graph_of(seed));
  print("graphs and feeds", suite.text);
}

void digest(const char* title, const ExecutorOptions& options) {
  std::string hashes;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const test::RandomGraph g = graph_of(seed);
    const auto executor = make_executor(g.graph, options);
    for (int step = 0; step < 2; ++step) {
      const RunResult result = executor->run(g.feed_list(), g.fetches);
      for (const Tensor& t : result.values) hashes += hash_text(t.data(), t.bytes());
    }
  }
  print(title, hashes);
}

}  // namespace

int main(int argc, char** argv) {
  ExecutorOptions o = options_of(argc, argv);
  digest_suite();
  digest("nearest, float partials", o);
  o.config.matmuls.poplar_options = o.config.convolutions.poplar_options = {{"partialsType", "half"}};
  digest("nearest, half partials", o);
  o.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  digest("stochastic, half partials", o);
  o.amp_block = 1;
  o.config.floating_point_behaviour.nanoo = true;
  digest("stochastic, nanoo, block 1", o);
  o.semantics = Semantics::ieee();
  digest("ieee, block 1", o);
}
