// Enabled exceptions stop a program with a report that says where; status without them is there on request.
#include "tests/graph/executor_check.h"

#include "softamp/findings/exception.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace softamp::test {
namespace {

/// "layer/y" = x * x in halves.
Graph square_graph(int64_t elements, DType dtype = DType::kFloat16) {
  GraphBuilder b;
  const Port x = b.placeholder("x", dtype, {elements});
  b.add("Mul", {x, x}, {}, "layer/y");
  return b.build();
}

std::string stop(const Graph& graph, const ExecutorOptions& o, const Tensors& feeds, const Names& fetches) {
  return refusal<FloatingPointError>([&] { run(*make_executor(graph, o), feeds, fetches); });
}

TEST(ExecutorExceptions, TheReportNamesEverything) {
  Tensor x = Tensor::full(DType::kFloat16, {200}, 1);
  x.as<uint16_t>()[131] = 0x70E2;  // 10000
  x.as<uint16_t>()[140] = 0x7BFF;
  EXPECT_EQ(stop(square_graph(200), stopping_on(false, false, true), {{"x", &x}}, {"layer/y"}),
            "floating-point exception: overflow\n"
            "  $FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x0\n"
            "  operation: Mul 'layer/y', element 131\n"
            "  operands: 0x70e2 (10000), 0x70e2 (10000)\n"
            "  tile 2, worker 0");
  ExecutorOptions one_line = stopping_on(false, false, true);
  one_line.switches.dump_format = DumpFormat::kOneLine;
  one_line.device.tiles = 1;
  EXPECT_EQ(stop(square_graph(200), one_line, {{"x", &x}}, {"layer/y"}),
            "floating-point exception: overflow; $FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x0; Mul 'layer/y', element 131; "
            "operands: 0x70e2 (10000), 0x70e2 (10000); tile 0, worker 2");
}

// One infinity meets one zero, in every step of the sums of two batches' products.
TEST(ExecutorExceptions, TheOperandsOfAProductAreThoseOfTheStep) {
  constexpr int64_t kRows = 2, kColumns = 3, kSteps = 5;
  for (const DType t : {DType::kFloat16, DType::kFloat32, DType::kFloat64})
    for (const bool adj_a : {false, true})
      for (const bool adj_b : {false, true}) {
        GraphBuilder g;
        const Shape a_shape = adj_a ? Shape{2, kSteps, kRows} : Shape{2, kRows, kSteps};
        const Shape b_shape = adj_b ? Shape{2, kColumns, kSteps} : Shape{2, kSteps, kColumns};
        g.add("BatchMatMulV2", {g.placeholder("a", t, a_shape), g.placeholder("b", t, b_shape)},
              {{"adj_x", adj_a}, {"adj_y", adj_b}}, "y");
        ExecutorOptions o = stopping_on(true, false, false);
        o.semantics = Semantics::ieee();
        const auto e = make_executor(g.build(), o);
        for (int64_t index = 0; index < 2 * kRows * kColumns; ++index)
          for (int64_t i = 0; i < kSteps; ++i) {
            const int64_t batch = index / (kRows * kColumns), row = index / kColumns % kRows, column = index % kColumns;
            std::vector<double> a(2 * kRows * kSteps, 1), b(2 * kColumns * kSteps, 1);
            const int64_t a_place = adj_a ? i * kRows + row : row * kSteps + i;
            const int64_t b_place = adj_b ? column * kSteps + i : i * kColumns + column;
            a[static_cast<size_t>(batch * kRows * kSteps + a_place)] = INFINITY;
            b[static_cast<size_t>(batch * kColumns * kSteps + b_place)] = 0;
            const Tensor x = tensor(t, a_shape, a), y = tensor(t, b_shape, b);
            const std::string said = refusal<FloatingPointError>([&] { run(*e, {{"a", &x}, {"b", &y}}, {"y"}); });
            EXPECT_NE(said.find("'y', element " + std::to_string(index) + "\n"), std::string::npos) << said;
            EXPECT_NE(said.find("(inf), 0x0"), std::string::npos) << said;
          }
      }
}

/// An infinity in one operand, zeros in the other: the operands are given in the order of the equation, and the element
/// is the first of the result that the infinity goes into.
TEST(ExecutorExceptions, TheOperandsOfAnEinsumAreThoseOfTheEquation) {
  const std::map<char, int64_t> extents = {{'b', 2}, {'c', 2}, {'h', 3}, {'i', 2}, {'j', 4}, {'k', 3}};
  const auto places = [&](const std::string& letters, const std::map<char, int64_t>& at) {
    int64_t place = 0;
    for (const char l : letters) place = place * extents.at(l) + at.at(l);
    return place;
  };
  const auto shape = [&](const std::string& letters) {
    std::vector<int64_t> all;
    for (const char l : letters) all.push_back(extents.at(l));
    return Shape{std::span<const int64_t>(all)};
  };
  for (const std::string equation : {"ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ik,kj->ji", "bik,bkj->bij", "bik,bkj->jib",
                                     "bihk,bjhk->bhij", "bci,cij->jb", "ijk,k->ij", "k,kij->ij"})
    for (const DType t : {DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
      const size_t comma = equation.find(','), arrow = equation.find("->");
      const std::string parts[] = {equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1)};
      const std::string result = equation.substr(arrow + 2);
      GraphBuilder g;
      g.add("Einsum", {g.placeholder("a", t, shape(parts[0])), g.placeholder("b", t, shape(parts[1]))},
            {{"equation", equation}}, "y");
      ExecutorOptions o = stopping_on(true, false, false);
      o.semantics = Semantics::ieee();
      const auto e = make_executor(g.build(), o);
      for (const int infinite : {0, 1}) {
        const int64_t count = shape(parts[infinite]).elements();
        for (int64_t place = 0; place < count; ++place) {
          std::vector<double> values[2] = {std::vector<double>(static_cast<size_t>(shape(parts[0]).elements())),
                                           std::vector<double>(static_cast<size_t>(shape(parts[1]).elements()))};
          values[infinite][static_cast<size_t>(place)] = INFINITY;
          std::map<char, int64_t> at;
          for (const char l : result) at[l] = 0;  // where the infinity says nothing, the first
          int64_t rest = place;
          for (size_t l = parts[infinite].size(); l-- > 0; rest /= extents.at(parts[infinite][l]))
            at[parts[infinite][l]] = rest % extents.at(parts[infinite][l]);
          const Tensor x = tensor(t, shape(parts[0]), values[0]), y = tensor(t, shape(parts[1]), values[1]);
          try {
            run(*e, {{"a", &x}, {"b", &y}}, {"y"});
            ADD_FAILURE() << equation << " did not stop";
          } catch (const FloatingPointError& error) {
            EXPECT_EQ(error.site().index, static_cast<uint64_t>(places(result, at))) << equation;
            std::vector<uint64_t> wanted(2);
            wanted[static_cast<size_t>(infinite)] = format_of(t).infinity_code();
            EXPECT_EQ(error.site().operands, wanted) << equation << " " << infinite << " " << place;
          }
        }
      }
    }
}

// tests: G33, N93, N96
TEST(ExecutorExceptions, TheLowestIndexAmongTheEnabledFlags) {
  // TUTORIAL G33
  // A NaN at 3 and at 9, an overflow at 7 and 8; $FP_STS shows both whatever is enabled.
  Tensor x = Tensor::full(DType::kFloat16, {16}, 1);
  for (const size_t i : {size_t{3}, size_t{9}}) x.as<uint16_t>()[i] = 0x7E00;
  for (const size_t i : {size_t{7}, size_t{8}}) x.as<uint16_t>()[i] = 0x7BFF;
  struct Case {
    bool inv, oflo;
    uint64_t index;
    uint8_t kinds;
  };
  for (const Case& c : {Case{false, true, 7, kOverflow}, Case{true, false, 3, kInvalid}, Case{true, true, 3, kInvalid}})
    for (const bool reference : {false, true}) {
      ExecutorOptions o = stopping_on(c.inv, false, c.oflo);
      o.reference = reference;
      const auto e = make_executor(square_graph(16), o);
      try {
        run(*e, {{"x", &x}}, {"layer/y"});
        FAIL() << "not stopped";
      } catch (const FloatingPointError& error) {
        EXPECT_EQ(error.index(), c.index);
        EXPECT_EQ(error.kinds(), c.kinds);
        EXPECT_EQ(error.status(), kInvalid | kOverflow);
        EXPECT_EQ(error.operation(), "Mul 'layer/y'");
        ASSERT_EQ(error.operands().size(), 2u);
        EXPECT_EQ(error.operands()[0], x.as<uint16_t>()[c.index]);
        EXPECT_EQ(error.site().worker, c.index / 4);
      }
    }
  // What is not enabled does not stop, and is not hidden either.
  ExecutorOptions o = stopping_on(false, true, false);
  const RunResult r = run(*make_executor(square_graph(16), o), {{"x", &x}}, {"layer/y"});
  EXPECT_EQ(r.flags, kInvalid | kOverflow);
  ASSERT_EQ(r.operations.size(), 1u);
  EXPECT_EQ(r.operations[0].status.lowest_index(kOverflow), 7u);
  EXPECT_EQ(r.operations[0].status.lowest_index(kInvalid), 3u);
  o.switches.sts_when_disabled = false;
  EXPECT_EQ(run(*make_executor(square_graph(16), o), {{"x", &x}}, {"layer/y"}).flags, 0);
  o = stopping_on(false, false, true);
  o.switches.sts_when_disabled = false;
  EXPECT_NE(stop(square_graph(16), o, {{"x", &x}}, {"layer/y"}).find("$FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x0"),
            std::string::npos)
      << "only what is enabled is recorded";
}

// tests: G33
TEST(ExecutorExceptions, TheFirstOperationOfTheGraphStops) {
  // TUTORIAL G33: the first of them ends the run
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {2}), zero = b.constant(halves({0, 0}));
  b.add("AddV2", {x, x}, {}, "fine");
  b.add("RealDiv", {x, zero}, {}, "first");
  b.add("Mul", {x, x}, {}, "second");
  const Graph g = b.build();
  const Tensor value = halves({1e4, 1e4});
  EXPECT_NE(stop(g, stopping_on(true, true, true), {{"x", &value}}, {"second", "first", "fine"})
                .find("operation: RealDiv 'first', element 0\n  operands: 0x70e2 (10000), 0x0000 (0)"),
            std::string::npos);
  EXPECT_NE(stop(g, stopping_on(true, true, true), {{"x", &value}}, {"second"}).find("Mul 'second'"), std::string::npos)
      << "what is not needed does not run";
  ExecutorOptions o;
  o.status = true;
  const RunResult r = run(*make_executor(g, o), {{"x", &value}}, {"fine", "first", "second"});
  EXPECT_EQ(r.flags, kDivideByZero | kOverflow);
  ASSERT_EQ(r.operations.size(), 2u);
  EXPECT_EQ(r.operations[0].name, "first");
  EXPECT_EQ(r.operations[0].op, "RealDiv");
  EXPECT_EQ(r.operations[0].status.flags, kDivideByZero);
  EXPECT_EQ(r.operations[1].status.flags, kOverflow);
  o.status = false;
  EXPECT_EQ(run(*make_executor(g, o), {{"x", &value}}, {"first"}).flags, 0) << "none is asked for, none is computed";
}

/// A result that takes its operand's buffer would hide what the report must show.
// tests: N96
TEST(ExecutorExceptions, OperandsAreThoseFromBeforeTheOperation) {
  GraphBuilder b;
  Port p = b.placeholder("x", DType::kFloat16, {200});
  for (int i = 0; i < 3; ++i) p = b.add("Neg", {p});
  p = b.add("Mul", {p, b.constant(halves({2}))}, {}, "double");
  for (int i = 0; i < 3; ++i) p = b.add("Neg", {p});
  b.add("Neg", {p}, {}, "end");
  const Graph g = b.build();
  Tensor x = Tensor::full(DType::kFloat16, {200}, 1);
  x.as<uint16_t>()[150] = 0x7BFE;  // 65472
  EXPECT_NE(stop(g, stopping_on(true, true, true), {{"x", &x}}, {"end"})
                .find("Mul 'double', element 150\n  operands: 0xfbfe (-65472), 0x4000 (2)\n"),
            std::string::npos)
      << stop(g, stopping_on(true, true, true), {{"x", &x}}, {"end"});
  // On the device it is one buffer all the same.
  EXPECT_EQ(make_executor(g, stopping_on(true, true, true))->memory(Names{"end"}).peak,
            make_executor(g)->memory(Names{"end"}).peak);
}

TEST(ExecutorExceptions, OtherOperandTypes) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {2});
  b.add("Cast", {x}, {{"DstT", DType::kInt32}}, "whole");
  b.add("Cast", {x}, {{"DstT", DType::kFloat16}}, "half");
  const Graph g = b.build();
  const Tensor nan = floats({1, NAN}), big = floats({1, 1e9});
  EXPECT_NE(stop(g, stopping_on(true, false, false), {{"x", &nan}}, {"whole"})
                .find("operation: Cast 'whole', element 1\n  operands: 0x7fc00000 (nan)"),
            std::string::npos);
  EXPECT_NE(stop(g, stopping_on(false, false, true), {{"x", &big}}, {"half"})
                .find("operation: Cast 'half', element 1\n  operands: 0x4e6e6b28 (1000000000)"),
            std::string::npos);
}

// tests: N96
TEST(ExecutorExceptions, ProductsAndReductionsNameTheirElement) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {3, 2});
  b.add("MatMul", {x, x}, {{"transpose_b", true}}, "product");
  b.add("Sum", {x}, {{"axes", std::vector<int64_t>{1}}}, "sum");
  const Graph g = b.build();
  const Tensor value = tensor(DType::kFloat16, {3, 2}, {1, 1, 60000, 60000, 1, 1});
  // Row 1 by row 1 overflows at [1, 1], rows 0 and 1 at [0, 1]: 120000.
  EXPECT_NE(
      stop(g, stopping_on(false, false, true), {{"x", &value}}, {"product"}).find("MatMul 'product', element 1\n"),
      std::string::npos);
  EXPECT_NE(stop(g, stopping_on(false, false, true), {{"x", &value}}, {"sum"}).find("Sum 'sum', element 1\n"),
            std::string::npos);
}

TEST(ExecutorExceptions, GivenSemanticsStopToo) {
  ExecutorOptions o = stopping_on(false, false, true);
  o.semantics = Semantics::ieee();
  const Tensor x = halves({1e4});
  EXPECT_NE(stop(square_graph(1), o, {{"x", &x}}, {"layer/y"}).find("overflow"), std::string::npos);
  o.config = {};
  o.status = true;
  const RunResult r = run(*make_executor(square_graph(1), o), {{"x", &x}}, {"layer/y"});
  EXPECT_TRUE(std::isinf(r.values[0].value(0)));
  EXPECT_EQ(r.flags, kOverflow | kInexact);
}

TEST(ExecutorExceptions, AllOnIsPoplarsDefault) {
  ExecutorOptions o;
  o.config.floating_point_behaviour.set_all = true;
  const Tensor wide = floats({1e30}), half = halves({60000});
  EXPECT_NE(stop(square_graph(1, DType::kFloat32), o, {{"x", &wide}}, {"layer/y"}), "");
  EXPECT_NE(stop(square_graph(1), o, {{"x", &half}}, {"layer/y"}).find("OFLO: 0x1 DIV0: 0x0 INV: 0x1"),
            std::string::npos)
      << "nanoo is on: the result is NaN and invalid too";
}

TEST(ExecutorExceptions, HardwareOrderNamesTheWorkerThatRounds) {
  ExecutorOptions o = stochastic(RandomEngine::kXoroshiro128aox);
  o.config.floating_point_behaviour.oflo = true;
  o.device.tiles = 2;
  o.switches.work_split = WorkSplit::kContiguous;
  Tensor x = Tensor::full(DType::kFloat16, {200}, 1);
  x.as<uint16_t>()[150] = 0x7BFF;
  // 100 elements to a tile; on tile 1 element 50 is in group 12 of 25, and worker 0 has groups 0..4, worker 1 5..8, ...
  EXPECT_NE(stop(square_graph(200), o, {{"x", &x}}, {"layer/y"}).find("element 150"), std::string::npos);
  EXPECT_NE(stop(square_graph(200), o, {{"x", &x}}, {"layer/y"}).find("tile 1, worker 2"), std::string::npos);
}

}  // namespace
}  // namespace softamp::test
