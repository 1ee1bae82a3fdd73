// The GraphDefs of examples/graphs run before and after a rewrite. Before: the same numbers by a graph built by hand,
// or by loops of binary64. After: what is rewritten and then made into a graph computes the bits of what is made into a
// graph and then rewritten.
#include "tests/precision/graph_def_import_rig.h"

#include "softamp/precision/graph_rewrite.h"

namespace softamp::test {
namespace {

const std::string kExampleGraphs = SOFTAMP_SOURCE_DIR "/examples/graphs/";

GraphDefFile rewritten_file(const GraphDefFile& file, const std::vector<std::string>& fetches) {
  const OpGraph picture = file.op_graph(fetches);
  return file.apply(plan_casts(picture, colour_tensorflow(picture, OpLists::tf_2_3())));
}

/// Fetches of an example, with the values that it is fed.
struct Example {
  GraphDefFile file;
  Values feeds;
  std::vector<std::string> fetches;

  Tensor before() const { return run_graph_def(file, feeds, fetches); }
  Tensor after() const { return run_graph_def(rewritten_file(file, fetches), feeds, fetches); }
  /// Rewritten as a graph of ours.
  Tensor after_otherwise() const {
    GraphDefImportOptions options;
    options.fetches = fetches;
    for (const auto& [name, value] : feeds) options.shapes.emplace(name, value.shape());
    const ImportedGraph imported = import_graph(file, options);
    const std::vector<std::string> ports = {imported.ports.at(fetches[0])};
    const GraphRewrite r = rewrite(imported.graph, OpLists::tf_2_3(), ports);
    EXPECT_GT(r.report.converted_nodes(), 0);
    return std::move(run_graph(r.graph, feeds, ports)[0]);
  }
};

/// The largest difference, in units of the largest magnitude.
double distance(const Tensor& a, const std::vector<double>& b) {
  double most = 0, scale = 0;
  EXPECT_EQ(static_cast<size_t>(a.elements()), b.size());
  for (size_t i = 0; i < b.size(); ++i) {
    most = std::max(most, std::fabs(a.value(static_cast<int64_t>(i)) - b[i]));
    scale = std::max(scale, std::fabs(b[i]));
  }
  return most / scale;
}

void expect_rewritten(const Example& e, double least, double most) {
  const Tensor before = e.before(), after = e.after();
  expect_bits(after, e.after_otherwise(), "after the rewrite");
  const double error = distance(after, before.values());
  EXPECT_GT(error, least);  // something is in low precision
  EXPECT_LT(error, most);
}

TEST(GraphDefExamples, Chain) {
  const Example e{GraphDefFile::load(kExampleGraphs + "chain.pbtxt"), {}, {"fetch"}};
  GraphBuilder b;
  const Port x = b.constant(Tensor::full(DType::kFloat32, {32, 32}, 1.0 / 32));
  const auto one = [&](const char* op, Port from) { return b.add(op, {from}); };
  const Port clear1 = one("Relu", one("Exp", x)), infer1 = one("Sqrt", clear1), clear2 = one("Relu", infer1);
  const Port clear4 = one("Relu", one("Log", one("Relu", b.add("MatMul", {clear2, clear2}))));
  const Port clear5 = one("Relu", b.add("MatMul", {clear4, clear1}, {{"transpose_b", true}}));
  b.add("AddV2", {b.add("Mul", {clear5, infer1}), clear4}, {}, "y");
  expect_bits(e.before(), run_graph(b.build(), {}, {"y"})[0], "chain");
  // All elements are equal: a number by hand.
  const double c = std::exp(1.0 / 32), m = std::log(32 * c), y = 32 * m * c * std::sqrt(c) + m;
  EXPECT_LT(distance(e.before(), std::vector<double>(1024, y)), 1e-6);
  expect_rewritten(e, 1e-5, 2e-3);
}

TEST(GraphDefExamples, ConvolutionsAndNorms) {
  Example e{GraphDefFile::load(kExampleGraphs + "conv_norm.pbtxt"), {}, {"logits"}};
  e.feeds.emplace("x", drawn_tensor(DType::kFloat32, {2, 2, 6, 6}, 1));
  const auto value = [&](const char* name) { return run_graph_def(e.file, {}, {name}).values(); };
  const std::vector<double> x = e.feeds.at("x").values(), f = value("filter"), bias = value("bias"),
                            scale = value("scale"), offset = value("offset"), mean = value("mean"),
                            variance = value("variance"), w = value("weights");
  std::vector<double> logits;
  for (int n = 0; n < 2; ++n) {
    std::vector<double> pooled;  // [4 channels, 3, 3]
    for (int o = 0; o < 4; ++o)
      for (int ph = 0; ph < 3; ++ph)
        for (int pw = 0; pw < 3; ++pw) {
          double most = 0;  // relu
          for (int h = 2 * ph; h < 2 * ph + 2; ++h)
            for (int v = 2 * pw; v < 2 * pw + 2; ++v) {
              double sum = bias[static_cast<size_t>(o)];
              for (int kh = 0; kh < 3; ++kh)
                for (int kw = 0; kw < 3; ++kw)
                  for (int c = 0; c < 2; ++c) {
                    const int at_h = h + kh - 1, at_w = v + kw - 1;
                    if (at_h >= 0 && at_h < 6 && at_w >= 0 && at_w < 6)
                      sum += x[static_cast<size_t>(((n * 2 + c) * 6 + at_h) * 6 + at_w)] *
                             f[static_cast<size_t>(((kh * 3 + kw) * 2 + c) * 4 + o)];
                  }
              const auto k = static_cast<size_t>(o);
              most = std::max(most, (sum - mean[k]) / std::sqrt(variance[k] + 0.001) * scale[k] + offset[k]);
            }
          pooled.push_back(most);
        }
    for (int j = 0; j < 3; ++j) {
      double sum = 0;
      for (int i = 0; i < 36; ++i) sum += pooled[static_cast<size_t>(i)] * w[static_cast<size_t>(i * 3 + j)];
      logits.push_back(sum);
    }
  }
  EXPECT_LT(distance(e.before(), logits), 1e-6);
  expect_rewritten(e, 1e-5, 5e-3);
}

TEST(GraphDefExamples, ARecurrentCellInALoop) {
  Example e{GraphDefFile::load(kExampleGraphs + "recurrent.pbtxt"), {}, {"out/Sigmoid"}};
  e.feeds.emplace("sequence", drawn_tensor(DType::kFloat32, {4, 2, 3}, 5));
  const auto value = [&](const char* name) { return run_graph_def(e.file, {}, {name}).values(); };
  const std::vector<double> x = e.feeds.at("sequence").values(), w = value("kernel"), u = value("recurrent"),
                            b = value("bias"), o = value("out/kernel");
  std::vector<double> result;
  for (size_t n = 0; n < 2; ++n) {
    std::vector<double> h(5, 0);
    for (size_t t = 0; t < 4; ++t) {
      std::vector<double> next = b;
      for (size_t j = 0; j < 5; ++j) {
        for (size_t i = 0; i < 3; ++i) next[j] += x[(t * 2 + n) * 3 + i] * w[i * 5 + j];
        for (size_t i = 0; i < 5; ++i) next[j] += h[i] * u[i * 5 + j];
      }
      for (size_t j = 0; j < 5; ++j) h[j] = std::tanh(next[j]);
    }
    for (size_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (size_t i = 0; i < 5; ++i) sum += h[i] * o[i * 2 + j];
      result.push_back(1 / (1 + std::exp(-sum)));
    }
  }
  EXPECT_LT(distance(e.before(), result), 1e-6);
  // The rewrite leaves functions as they are, as TensorFlow's does: it is the product behind the loop that it converts.
  const Tensor before = e.before(), after = e.after();
  const double error = distance(after, before.values());
  EXPECT_GT(error, 1e-6);
  EXPECT_LT(error, 2e-3);
}

TEST(GraphDefExamples, EachChangedByteIsRefusedOrAGraph) {
  for (const char* name : {"chain.pbtxt", "recurrent.pbtxt"}) {
    const std::string bytes = GraphDefFile::load(kExampleGraphs + name).binary();
    GraphDefImportOptions options;
    if (std::string(name) == "recurrent.pbtxt") options.shapes.emplace("sequence", Shape{4, 2, 3});
    int graphs = 0, refused = 0;
    for (size_t at = 0; at < bytes.size(); ++at)
      for (const int change : {1, 0x40, 0xff}) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ change);
        try {
          const GraphDefFile file = GraphDefFile::parse_binary(changed, "changed");
          const ImportedGraph imported = import_graph(file, options);
          verify(imported.graph);
          ++graphs;
        } catch (const GraphDefError& e) {
          EXPECT_EQ(std::string(e.what()).substr(0, 8), "changed:");
          ++refused;
        }
      }
    EXPECT_GT(graphs, 100);
    EXPECT_GT(refused, 500);
  }
}

}  // namespace
}  // namespace softamp::test
