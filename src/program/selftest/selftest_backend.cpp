#include "src/program/selftest/selftest_backend.h"

#include "softamp/graph/executor.h"
#include "softamp/graph/trace.h"
#include "softamp/numerics/convert.h"
#include "softamp/train/trainer.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstring>
#include <iterator>
#include <random>
#include <utility>

namespace softamp::program {
namespace {

using Feeds = std::vector<std::pair<std::string, Tensor>>;

/// Random bits, or numbers in (-2, 2).
Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, bool any) {
  Tensor t(TensorType{dtype, shape});
  const FloatFormat f = format_of(dtype);
  const size_t bytes = size_of(dtype);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < t.elements(); ++i) {
    const uint64_t word = random();
    const uint64_t code = any ? word : fp::from_double(f, (static_cast<double>(word >> 11) * 0x1p-53 - 0.5) * 4);
    std::memcpy(static_cast<char*>(t.data()) + static_cast<size_t>(i) * bytes, &code, bytes);
  }
  return t;
}

/// Compares the results of two backends.
class Comparison {
 public:
  explicit Comparison(std::string backend) : backend_(std::move(backend)) {}

  /// Three steps of the graph on both; on a GPU the third replays a recorded step.
  void run(const std::string& what, const Graph& graph, const Feeds& feeds, const std::vector<std::string>& fetches,
           ExecutorOptions options) {
    if (!finding_.problem.empty()) return;
    options.status = true;
    options.seed = 20;
    options.backend = "emu";
    const auto emu = make_executor(graph, options);
    options.backend = backend_;
    const auto other = make_executor(graph, options);
    std::vector<Feed> fed;
    for (const auto& [name, tensor] : feeds) fed.push_back({name, &tensor});
    for (int step = 0; step < 3; ++step) {
      const RunResult expected = emu->run(fed, fetches), found = other->run(fed, fetches);
      const std::string place = what + ", step " + std::to_string(step) + ", ";
      for (size_t f = 0; f < fetches.size(); ++f) same(place + fetches[f], expected.values[f], found.values[f]);
      same_status(place, expected, found);
    }
  }

  void same(const std::string& what, const Tensor& expected, const Tensor& found) {
    finding_.values += static_cast<uint64_t>(expected.elements());
    hashes_ += hash_text(expected.data(), expected.bytes());
    if (!finding_.problem.empty() || expected.same_bits(found)) return;
    int64_t first = 0;
    while (first + 1 < expected.elements() && expected.code(first) == found.code(first)) ++first;
    char codes[64];
    std::snprintf(codes, sizeof codes, ": found 0x%llx, expected 0x%llx",
                  static_cast<unsigned long long>(found.code(first)),
                  static_cast<unsigned long long>(expected.code(first)));
    finding_.problem = what + ", element " + std::to_string(first) + codes;
  }
  void same(const std::string& what, const std::string& expected, const std::string& found) {
    ++finding_.values;
    hashes_ += expected;
    if (finding_.problem.empty() && expected != found)
      finding_.problem = what + ": found " + found + ", expected " + expected;
  }

  const std::string& backend() const { return backend_; }
  BackendFinding finding() {
    finding_.digest = hash_text(hashes_.data(), hashes_.size());
    return std::move(finding_);
  }

 private:
  void same_status(const std::string& place, const RunResult& expected, const RunResult& found) {
    const auto text = [](const RunResult& r) {
      std::string all = "flags " + std::to_string(r.flags);
      for (const OperationStatus& o : r.operations) {
        all += "; " + o.name + " " + std::to_string(o.status.flags);
        for (const uint64_t index : o.status.first_index) all += " " + std::to_string(index);
      }
      return all;
    };
    same(place + "status", text(expected), text(found));
  }

  std::string backend_, hashes_;
  BackendFinding finding_;
};

struct BackendSetting {
  const char* name;
  bool esr, nanoo;
};
constexpr BackendSetting kSettings[] = {{"nearest", false, false}, {"stochastic", true, false}, {"nanoo", true, true}};

ExecutorOptions options_of(const BackendSetting& s) {
  ExecutorOptions o;
  o.config.set("floating_point_behaviour.esr", s.esr);
  o.config.set("floating_point_behaviour.nanoo", s.nanoo);
  return o;
}

constexpr DType kFloats[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};

BackendFinding check_casts(const std::string& backend) {
  Comparison c(backend);
  for (const DType from : kFloats)
    for (const DType to : kFloats) {
      if (from == to) continue;
      GraphBuilder b;
      const Shape shape{65536 + 13};
      b.add("Cast", {b.placeholder("x", from, shape)}, {{"DstT", to}}, "y");
      const Graph graph = b.build();
      Feeds feeds;
      feeds.emplace_back("x", random_tensor(from, shape, 1, true));
      for (const BackendSetting& s : kSettings)
        c.run(std::string(name_of(from)) + " to " + name_of(to) + " " + s.name, graph, feeds, {"y"}, options_of(s));
    }
  return c.finding();
}

BackendFinding check_products(const std::string& backend) {
  Comparison c(backend);
  for (const DType type : kFloats) {
    GraphBuilder b;
    const Port x = b.placeholder("x", type, {37, 70}), w = b.placeholder("w", type, {70, 45});
    b.add("MatMul", {x, w}, {}, "product");
    const Port image = b.placeholder("image", type, {2, 9, 9, 5}), kernel = b.placeholder("kernel", type, {3, 3, 5, 7});
    b.add("Conv2D", {image, kernel}, {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", std::string("SAME")}},
          "convolution");
    const Graph graph = b.build();
    Feeds feeds;
    for (const char* name : {"x", "w", "image", "kernel"})
      feeds.emplace_back(name, random_tensor(type, graph.type(graph.port(name)).shape, feeds.size(), false));
    for (const BackendSetting& s : kSettings)
      for (const int block : {0, 1, 16}) {  // 0: partials of float
        ExecutorOptions o = options_of(s);
        if (block) o.config.matmuls.poplar_options["partialsType"] = "half";
        if (block) o.config.convolutions.poplar_options["partialsType"] = "half";
        if (block) o.amp_block = block;
        c.run(std::string(name_of(type)) + " " + s.name + " block " + std::to_string(block), graph, feeds,
              {"product", "convolution"}, o);
      }
  }
  return c.finding();
}

/// A graph of operations on [rows, columns], each reading results of earlier ones.
Graph random_graph(DType type, uint64_t seed, const Shape& shape) {
  static const char* const kTwo[] = {"AddV2", "Sub", "Mul", "RealDiv", "Maximum"};
  static const char* const kOne[] = {"Neg", "Relu", "Tanh", "Sigmoid", "Exp", "Sqrt", "Softmax"};
  std::mt19937_64 random(seed);
  GraphBuilder b;
  std::vector<Port> values = {b.placeholder("x", type, shape), b.placeholder("z", type, shape)};
  const auto any = [&] { return values[random() % values.size()]; };
  const Port w = b.constant(random_tensor(type, {shape[1], shape[1]}, seed + 1, false), "w");
  for (int n = 0; n < 14; ++n) {
    const Port x = any();
    const uint64_t kind = random() % 10;
    if (kind < 4) {
      const char* const op =
          kTwo[random() % std::size(kTwo)];  // drawn first, so that the order of evaluation does not matter
      values.push_back(b.add(op, {x, any()}));
    } else if (kind < 7) {
      values.push_back(b.add(kOne[random() % std::size(kOne)], {x}));
    } else if (kind == 7) {
      values.push_back(b.add("MatMul", {x, w}));
    } else if (kind == 8) {
      values.push_back(b.add("Sub", {x, b.add("Sum", {x}, {{"axes", std::vector<int64_t>{1}}, {"keep_dims", true}})}));
    } else {
      const DType by_way_of = type == DType::kFloat32 ? DType::kFloat16 : DType::kFloat32;
      values.push_back(b.add("Cast", {b.add("Cast", {x}, {{"DstT", by_way_of}})}, {{"DstT", type}}));
    }
  }
  return b.build();
}

BackendFinding check_graphs(const std::string& backend) {
  Comparison c(backend);
  const Shape shape{33, 21};
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const DType type = kFloats[seed % 3];
    const Graph graph = random_graph(type, seed, shape);
    std::vector<std::string> fetches;
    for (const Node& node : graph.nodes()) fetches.push_back(node.name);
    Feeds feeds;
    feeds.emplace_back("x", random_tensor(type, shape, 2 * seed, seed % 2 == 1));
    feeds.emplace_back("z", random_tensor(type, shape, 2 * seed + 1, false));
    for (const BackendSetting& s : kSettings)
      c.run("graph " + std::to_string(seed) + " " + s.name, graph, feeds, fetches, options_of(s));
  }
  return c.finding();
}

/// Three steps of the smallest network with every kind of layer.
void train(Comparison& c, const char* precision, bool esr, OptimizerKind optimizer) {
  const NetworkInfo network = find_network("small_resnet");
  ModelOptions m;
  m.batch_size = 4;
  m.image = network.image;
  m.precision = Precision::parse(precision);
  TrainerOptions o;
  o.executor = options_of({"", esr, true});
  o.executor.status = true;
  o.optimizer = OptimizerOptions::of(optimizer);
  o.loss_scale = LossScaleOptions::tensorflow();
  o.hash_weights = true;
  Trainer emu(build_model(network.build, m), o);
  o.executor.backend = c.backend();
  Trainer other(build_model(network.build, m), o);
  for (uint64_t step = 0; step < 3; ++step) {
    const Batch batch{
        random_tensor(m.precision.compute, emu.model().graph.type(emu.model().graph.port("images")).shape, step, false),
        Tensor::full(DType::kInt32, {m.batch_size}, static_cast<double>(step))};
    const StepResult expected = emu.step({&batch, 1}), found = other.step({&batch, 1});
    c.same(std::string(precision) + ", step " + std::to_string(step), expected.json(), found.json());
  }
}

BackendFinding check_training(const std::string& backend) {
  Comparison c(backend);
  train(c, "float32", false, OptimizerKind::kMomentum);
  train(c, "mixed", false, OptimizerKind::kAdam);
  train(c, "float16", true, OptimizerKind::kMomentum);
  train(c, "bfloat16", true, OptimizerKind::kMomentum);
  return c.finding();
}

}  // namespace

std::vector<BackendCheck> backend_checks() {
  return {{"casts in bulk, nearest and stochastic, with flags", check_casts},
          {"MatMul and Conv2D, partials of float, of half in blocks and each", check_products},
          {"twelve random graphs, three steps each", check_graphs},
          {"steps of training in four precisions: losses, scales, weights", check_training}};
}

}  // namespace softamp::program
