// Loops that load several groups before they work on the first (cuda/element_group.h: each_group_at_once), and tiles of
// updates: tensors of many turns of the grid, with rare elements in any of a thread's groups, flags on and off.
// Parity's cases are too small for a thread to have more than a few groups.
#include <random>

#include "softamp/graph/executor.h"
#include "softamp/graph/operation.h"
#include "softamp/graph/trace.h"
#include "tests/serial_grid/both.h"

namespace softamp {
namespace {

using test::BothBackends;
using test::said_on_both;

using AtOnceOnBoth = BothBackends;
using enum DType;

// The grid of tests/serial_grid/device.cpp has at most 64 blocks; of 128 threads with 8 elements each.
constexpr int64_t kTurn = 64 * 128 * 8;

/// Any values; NaNs, infinities and values that overflow are `apart` elements apart, which is odd, so that they come to
/// any place of a group and any turn.
Tensor values(DType type, const Shape& shape, int64_t apart) {
  Tensor t(TensorType{type, shape});
  std::mt19937 random(12345);
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const auto state = static_cast<uint32_t>(random());
    const uint32_t usual = (state & 0x80FFFFFFu) | 0x3F000000u;  // fp32: 0.5 .. 2
    const bool rare = i % apart == apart / 2;
    const uint32_t odd[] = {0x7FC00001u, 0xFF800000u, 0x7F7FFFFFu, 0x7FA00000u, 0x00000001u};
    const uint32_t code = rare ? odd[i / apart % 5] : usual;
    if (type == kFloat32)
      static_cast<uint32_t*>(t.data())[i] = code;
    else
      static_cast<uint16_t*>(t.data())[i] = static_cast<uint16_t>(type == kBFloat16 ? code >> 16
                                                                  : rare            ? 0x7C00u + state % 3
                                                                                    : state & 0xBBFFu);
  }
  return t;
}

/// What a step gives on one backend: hashes of the fetches, flags and their first places.
std::string step(const Graph& graph, const std::map<std::string, Tensor>& tensors,
                 const std::vector<std::string>& fetches, const std::string& backend, bool stochastic, bool status) {
  ExecutorOptions o;
  o.backend = backend;
  o.seed = 3;
  o.config.set("floating_point_behaviour.esr", stochastic);
  o.config.set("floating_point_behaviour.nanoo", true);
  o.status = status;
  std::vector<Feed> feeds;
  for (const auto& [name, tensor] : tensors) feeds.push_back({name, &tensor});
  const RunResult r = make_executor(graph, o)->run(feeds, fetches);
  std::string text = "flags " + std::to_string(r.flags);
  for (const Tensor& t : r.values) text += " " + hash_text(t.data(), t.bytes());
  for (const OperationStatus& s : r.operations)
    for (const uint64_t place : s.status.first_index) text += " " + std::to_string(place);
  return text;
}

void expect_equal_steps(const Graph& graph, const std::map<std::string, Tensor>& tensors,
                        const std::vector<std::string>& fetches, bool stochastic, bool status) {
  const std::string text = said_on_both(
      [&](const std::string& backend) { return step(graph, tensors, fetches, backend, stochastic, status); });
  EXPECT_TRUE(text.starts_with("flags ")) << text;
}

// tests: G11
TEST_F(AtOnceOnBoth, CastsOfManyTurnsWithRareElementsAnywhere) {
  // TUTORIAL G11: by several threads of a block
  const std::pair<DType, DType> casts[] = {{kFloat32, kFloat16},  {kFloat32, kBFloat16}, {kFloat16, kBFloat16},
                                           {kBFloat16, kFloat16}, {kFloat16, kFloat32},  {kBFloat16, kFloat32}};
  // Some groups at once and some alone; a tail; more turns than a thread has, so that there are more threads.
  for (const int64_t n : {8 * kTurn, 11 * kTurn + 8 * 77 + 5, 33 * kTurn + 3})
    for (const auto& [from, to] : casts) {
      if (n > 12 * kTurn && from != kFloat32) continue;
      std::map<std::string, Tensor> feeds;
      feeds.emplace("x", values(from, Shape{n}, n > 12 * kTurn ? 999983 : 10007));
      GraphBuilder b;
      b.add("Cast", {b.placeholder("x", from, Shape{n})}, {{"DstT", to}}, "y");
      const Graph graph = b.build();
      for (const bool stochastic : {false, true})
        for (const bool status : {false, true}) expect_equal_steps(graph, feeds, {"y"}, stochastic, status);
    }
}

/// x cast to float16, rounded stochastically, on the CUDA engine.
Tensor rounded(const Tensor& x, uint64_t seed, int threads = 0) {
  GraphBuilder b;
  b.add("Cast", {b.placeholder("x", kFloat32, x.shape())}, {{"DstT", kFloat16}}, "y");
  ExecutorOptions o;
  o.backend = "cuda";
  o.seed = seed;
  o.threads = threads;
  o.config.set("floating_point_behaviour.esr", true);
  const std::vector<Feed> feeds{{"x", &x}};
  const std::vector<std::string> fetches{"y"};
  return std::move(make_executor(b.build(), o)->run(feeds, fetches).values[0]);
}

// TUTORIAL G11, by the kernels' own code on the host: an eighth of the way from 1 to the next half goes up in one of
// eight cases, to within five standard deviations; numbers of the format stay; the seed decides every bit.
// tests: G11
TEST_F(AtOnceOnBoth, StochasticRoundingHasNoBiasAndLeavesExactNumbersAlone) {
  constexpr int64_t n = 65536;
  const Tensor between = Tensor::full(kFloat32, {n}, 1 + 0x1p-13), exactly = Tensor::full(kFloat32, {n}, 1 + 0x1p-10);
  const Tensor y = rounded(between, 7);
  int64_t up = 0;
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_TRUE(y.code(i) == 0x3C00 || y.code(i) == 0x3C01) << i;
    up += y.code(i) == 0x3C01;
  }
  EXPECT_NEAR(static_cast<double>(up), n / 8.0, 5 * 84.7);  // sqrt(65536 (1/8) (7/8)) = 84.66
  EXPECT_TRUE(rounded(between, 7, 3).same_bits(y));
  EXPECT_FALSE(rounded(between, 8).same_bits(y));
  EXPECT_TRUE(rounded(exactly, 7).same_bits(Tensor::full(kFloat16, {n}, 1 + 0x1p-10)));
}

TEST_F(AtOnceOnBoth, ElementwiseOperationsOfManyTurnsWithRareElementsAnywhere) {
  constexpr int64_t kElements = 5 * kTurn + 8 * 77 + 5;
  for (const DType type : {kFloat16, kBFloat16, kFloat32}) {
    std::map<std::string, Tensor> feeds;
    feeds.emplace("x", values(type, Shape{kElements}, 4099));
    feeds.emplace("y", values(type, Shape{kElements}, 3001));
    GraphBuilder b;
    const Port x = b.placeholder("x", type, Shape{kElements}), y = b.placeholder("y", type, Shape{kElements});
    std::vector<std::string> fetches;
    const auto add = [&](const char* op, std::vector<Port> in) {
      fetches.push_back(std::string(op) + std::to_string(in.size()));
      b.add(op, std::move(in), {}, fetches.back());
    };
    for (const char* op : {"AddV2", "Mul", "TanhGrad", "ReluGrad", "Maximum", "Less"}) add(op, {x, y});
    for (const char* op : {"Sqrt", "Relu"}) add(op, {x});
    add("AddN", {x, y});
    add("AddN", {y, x, y, x, x});
    const Graph graph = b.build();
    for (const bool stochastic : {false, true})
      for (const bool status : {false, true}) expect_equal_steps(graph, feeds, fetches, stochastic, status);
  }
}

// tests: N424
TEST_F(AtOnceOnBoth, RowsColumnsAndScalarsAreReadInGroups) {
  // 40 is a number of whole groups, 44 is none.
  for (const int64_t columns : {40, 44})
    for (const DType type : {kFloat16, kBFloat16, kFloat32}) {
      const Shape shape{900, columns};
      std::map<std::string, Tensor> feeds;
      feeds.emplace("x", values(type, shape, 3001));
      feeds.emplace("row", values(type, Shape{columns}, 31));
      feeds.emplace("column", values(type, Shape{shape[0], 1}, 301));
      feeds.emplace("one", Tensor::full(type, Shape{}, -0.3));
      GraphBuilder b;
      std::map<std::string, Port> ports;
      std::vector<std::string> fetches;
      const auto add = [&](const char* op, const char* first, const char* second) {
        fetches.push_back(std::string(op) + "_" + first + "_" + second);
        b.add(op, {ports.at(first), ports.at(second)}, {}, fetches.back());
      };
      for (const auto& [name, tensor] : feeds) ports[name] = b.placeholder(name, type, tensor.type().shape);
      for (const char* other : {"row", "column", "one"}) {
        add("AddV2", "x", other);
        add("Sub", other, "x");
        add("Minimum", other, "x");
        add("GreaterEqual", "x", other);
      }
      add("Mul", "row", "column");
      add("Less", "column", "row");
      const Graph graph = b.build();
      for (const bool stochastic : {false, true})
        for (const bool status : {false, true}) expect_equal_steps(graph, feeds, fetches, stochastic, status);
    }
}

TEST_F(AtOnceOnBoth, UpdatesOfManyTilesWithRareElementsAnywhere) {
  constexpr int64_t kElements = 150 * 2048 + 1029;
  std::map<std::string, Tensor> feeds;
  for (const char* name : {"var", "slot", "grad"})
    feeds.emplace(name, values(kFloat16, Shape{kElements}, name[0] == 'v' ? 3001 : name[0] == 's' ? 4099 : 513));
  feeds.emplace("rate", Tensor::full(kFloat32, Shape{}, 0.25));
  Tensor apply(TensorType{kBool, Shape{}});
  feeds.emplace("apply", apply.clone());
  GraphBuilder b;
  const auto fed = [&](const char* name) {
    const TensorType& t = feeds.at(name).type();
    return b.placeholder(name, t.dtype, t.shape);
  };
  b.add("ApplyMomentum", {fed("var"), fed("slot"), fed("rate"), fed("grad"), fed("apply")}, {{"momentum", 0.9}}, "y");
  const Graph graph = b.build();
  for (const bool applied : {true, false}) {
    *static_cast<uint8_t*>(apply.data()) = applied;
    feeds.insert_or_assign("apply", apply.clone());
    for (const bool stochastic : {false, true})
      for (const bool status : {false, true}) expect_equal_steps(graph, feeds, {"y", "y:1"}, stochastic, status);
  }
}

}  // namespace
}  // namespace softamp
