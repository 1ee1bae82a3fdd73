// What an executor does besides computing is one text for both backends: outfeeds, prints, assignments, statistics,
// times, memory, exceptions, hardware order, traces; and which backend it is.
#include "softamp/graph/executor.h"

#include <nlohmann/json.hpp>

#include "softamp/engine/program.h"
#include "softamp/findings/exception.h"
#include "softamp/findings/tensor_text.h"
#include "softamp/graph/operation.h"
#include "softamp/graph/trace.h"
#include "tests/files.h"
#include "tests/serial_grid/both.h"

namespace softamp {

// cuda/op_kernel.h under the name that it has here.
namespace serial_grid {
class Device;
class OpKernel;
using KernelFactory = std::unique_ptr<OpKernel> (*)(const engine::OpContext&, Device&);
KernelFactory find_kernel(std::string_view op, DType type);
}  // namespace serial_grid

namespace {

using test::BothBackends;
using test::contains;
using test::said;
using test::said_on_both;

using ExecutorOnBoth = BothBackends;
using BackendChoices = BothBackends;

Tensor halves(const Shape& shape, double first, double step) {
  Tensor t(TensorType{DType::kFloat16, shape});
  std::vector<double> values;
  for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(first + step * static_cast<double>(i));
  return Tensor::from_values(DType::kFloat16, shape, values);
}

ExecutorOptions on(const std::string& backend, bool esr = false) {
  ExecutorOptions o;
  o.backend = backend;
  o.seed = 9;
  o.config.set("floating_point_behaviour.esr", esr);
  return o;
}

std::string text_of(const std::vector<Tensor>& tensors) {
  std::string all;
  for (const Tensor& t : tensors) all += hash_text(t.data(), t.bytes()) + "\n";
  return all;
}

/// a and b change places each step; the sum is printed and put out.
Graph busy_graph() {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {70});
  const Attributes variable{{"dtype", DType::kFloat16}, {"shape", Shape{70}}};
  const Port v = b.add("VariableV2", {}, variable, "a"), w = b.add("VariableV2", {}, variable, "b");
  const Port sum = b.add("AddV2", {x, v}, {}, "sum");
  b.add("PrintTensor", {sum}, {{"message", std::string("the sum")}}, "print");
  b.add("OutfeedEnqueue", {sum}, {{"queue", std::string("q")}}, "enqueue");
  b.add("Assign", {w}, {{"ref", std::string("a")}}, "a_is_b");
  b.add("Assign", {v}, {{"ref", std::string("b")}}, "b_is_a");
  b.add("Mul", {sum, w}, {}, "y");
  return b.build();
}

TEST(SerialGrid, HasAKernelForEveryOperationOfTheTable) {
  std::vector<std::string> missing;
  for (const Operation& op : operations()) {
    Node node;
    node.op = op.name;
    if (engine::is_source(node) || engine::is_alias(node) || op.name == "NoOp") continue;
    if (!serial_grid::find_kernel(op.name, DType::kFloat32)) missing.push_back(op.name);
  }
  EXPECT_EQ(missing, std::vector<std::string>{});
}

TEST_F(ExecutorOnBoth, EffectsVariablesStatisticsTimesAndMemory) {
  const std::string text = said_on_both([](const std::string& backend) {
    std::string all;
    ExecutorOptions o = on(backend, true);
    o.statistics = o.timings = o.status = true;
    o.print = [&all](const std::string& printed) { all += printed; };
    o.observe = [&all](uint32_t step, const Node& node, int port, const TensorType& type, const void* data) {
      all += std::to_string(step) + node.name + std::to_string(port) + hash_text(data, type.bytes()) + "\n";
    };
    const auto e = make_executor(busy_graph(), o);
    EXPECT_EQ(e->options().backend, backend);
    const Tensor x = halves({70}, 0.1, 0.01), one = halves({70}, 1, 0.003), two = halves({70}, 2, 0.7);
    e->set_variable("a", one);
    e->set_variable("b", two);
    const std::vector<Feed> feeds = {{"x", &x}};
    const std::vector<std::string> fetches = {"y", "a", "x"};
    for (int step = 0; step < 4; ++step) {
      const RunResult r = e->run(feeds, fetches);
      all += text_of(r.values) + "flags " + std::to_string(r.flags) + "\n";
      for (const NamedStatistics& s : r.statistics) all += s.name + " " + s.statistics.json() + "\n";
      for (const OperationTime& t : r.timings) all += t.name + " " + t.op + "\n";
      all += text_of(e->take_outfeed("q"));
      all += hash_text(e->variable("a").data(), 140) + hash_text(e->variable("b").data(), 140) + "\n";
    }
    EXPECT_TRUE(e->variable("a").same_bits(one)) << "four times changed";
    e->set_step(100);
    all += text_of(e->run(feeds, fetches).values) + std::to_string(e->step());
    return all + e->memory(fetches).text();
  });
  EXPECT_TRUE(contains(text, "the sum: ")) << text;
}

// tests: N301
TEST_F(ExecutorOnBoth, WhatNobodyLooksIntoIsRunAtOnceWithTheSameBitsAndFlags) {
  const std::string text = said_on_both([](const std::string& backend) {
    GraphBuilder b;
    const Port x = b.placeholder("x", DType::kFloat16, {70});
    const Port v = b.add("VariableV2", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{70}}}, "v");
    const Port next = b.add("AddV2", {v, x}, {}, "next");
    b.add("Mul", {next, x}, {}, "product");
    b.add("Assign", {next}, {{"ref", std::string("v")}}, "assign");
    ExecutorOptions o = on(backend, true);
    o.status = true;
    const auto e = make_executor(b.build(), o);
    const Tensor x1 = halves({70}, 0.1, 0.01), x2 = halves({70}, 0.3, 0.001), large = halves({70}, 200, 2);
    std::string all;
    for (int step = 0; step < 6; ++step) {  // other feeds in the places that a recording names
      const std::vector<Feed> feeds = {{"x", step == 1 || step == 3 ? &large : step % 2 ? &x1 : &x2}};
      const RunResult r = e->run(feeds, std::vector<std::string>{"next", "product"});
      all += "step " + std::to_string(step) + " flags " + std::to_string(r.flags) + "\n" + text_of(r.values);
      if (step == 1 || step == 3) e->set_variable("v", x1);
    }
    return all + hash_text(e->variable("v").data(), 140);
  });
  const auto overflow = std::to_string(kOverflow);
  for (const char* step : {"0 flags 0", "2 flags 0", "4 flags 0", "5 flags 0"})
    EXPECT_TRUE(contains(text, std::string("step ") + step + "\n")) << text;
  EXPECT_TRUE(contains(text, "step 1 flags " + overflow) && contains(text, "step 3 flags " + overflow)) << text;
}

/// The second operation divides by 0 at element 5 and overflows at element 3.
Graph stopping_graph() {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {8});
  const Port v = b.add("VariableV2", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{8}}}, "v");
  const Port sum = b.add("AddV2", {x, x}, {}, "sum");
  const Port quotient = b.add("RealDiv", {sum, v}, {}, "quotient");
  b.add("Assign", {sum}, {{"ref", std::string("v")}}, "assign");
  b.add("Sub", {quotient, x}, {}, "end");
  return b.build();
}

// tests: N302
TEST_F(ExecutorOnBoth, AnEnabledExceptionStopsAtTheSameNodeWithTheSameMessage) {
  for (const char* enabled : {"div0", "oflo", "inv"}) {
    const std::string text = said_on_both([&](const std::string& backend) {
      ExecutorOptions o = on(backend);
      o.config.set(std::string("floating_point_behaviour.") + enabled, true);
      const auto e = make_executor(stopping_graph(), o);
      const Tensor x = halves({8}, 1000, 1);
      const Tensor good = halves({8}, 1, 1);
      std::string all;
      const std::vector<Feed> feeds = {{"x", &x}};
      const std::vector<std::string> fetches = {"end"};
      for (int step = 0; step < 4; ++step) {  // the third would be a recording played again
        e->set_variable("v", good);
        if (step == 2) {
          Tensor bad = good.clone();
          bad.as<uint16_t>()[5] = 0;
          bad.as<uint16_t>()[3] = 0x0001;  // 2^-24
          e->set_variable("v", bad);
        }
        all += said([&](const std::string&) { return text_of(e->run(feeds, fetches).values); }, "");
        all += "step " + std::to_string(e->step()) + " v " + hash_text(e->variable("v").data(), 16) + "\n";
      }
      return all;
    });
    EXPECT_EQ(contains(text, "RealDiv 'quotient'"), std::string(enabled) != "inv") << text;
  }
}

TEST_F(ExecutorOnBoth, XoroshiroInTheOrderOfTheHardware) {
  said_on_both([](const std::string& backend) {
    ExecutorOptions o = on(backend, true);
    o.random = RandomEngine::kXoroshiro128aox;
    o.device.tiles = 3;
    o.status = true;
    GraphBuilder b;
    const Port x = b.placeholder("x", DType::kFloat16, {301}), y = b.placeholder("y", DType::kFloat16, {301});
    b.add("Sub", {b.add("Mul", {b.add("AddV2", {x, y}), x}), b.add("RealDiv", {x, y})}, {}, "end");
    const auto e = make_executor(b.build(), o);
    const Tensor x1 = halves({301}, 0.1, 0.01), y1 = halves({301}, 3, -0.02);
    const std::vector<Feed> feeds = {{"x", &x1}, {"y", &y1}};
    std::string all;
    for (int step = 0; step < 3; ++step) all += text_of(e->run(feeds, std::vector<std::string>{"end"}).values);
    e->set_step(0);
    return all + text_of(e->run(feeds, std::vector<std::string>{"end"}).values);
  });
}

TEST_F(ExecutorOnBoth, WhatIsRefusedIsRefusedInTheSameWords) {
  const std::string text = said_on_both([](const std::string& backend) {
    const auto e = make_executor(busy_graph(), on(backend));
    const Tensor wrong = halves({69}, 1, 1), x = halves({70}, 1, 1);
    const auto refused = [&](std::vector<Feed> feeds, std::vector<std::string> fetches) {
      return said([&](const std::string&) { return text_of(e->run(feeds, fetches).values); }, "") + "\n";
    };
    std::string all = refused({}, {"y"}) + refused({{"x", &wrong}}, {"y"}) + refused({{"z", &x}}, {"y"}) +
                      refused({{"x", &x}}, {"why"});
    all += said([&](const std::string&) { return e->set_variable("c", x), ""; }, "");
    all += said([&](const std::string&) { return e->take_outfeed("p"), ""; }, "");
    ExecutorOptions small = on(backend);
    small.device.tiles = 1;
    small.device.memory_per_tile = 256;
    all += said(
        [&](const std::string&) {
          return make_executor(busy_graph(), small)->run(std::vector<Feed>{{"x", &x}}, std::vector<std::string>{"y"}),
                 "";
        },
        "");
    EXPECT_EQ(e->step(), 0u);
    return all;
  });
  EXPECT_TRUE(contains(text, "error: ")) << text;
}

TEST_F(ExecutorOnBoth, TracesAreEqualAndSayTheirBackends) {
  const test::TemporaryFolder folder;
  for (const char* backend : {"emu", "cuda"}) {
    ExecutorOptions o = on(backend, true);
    o.print = [](const std::string&) {};
    TraceWriter trace(folder.file(backend), o);
    o.observe = [&](uint32_t step, const Node& node, int port, const TensorType& type, const void* data) {
      trace.write(step, node, port, type, data);
    };
    const auto e = make_executor(busy_graph(), o);
    const Tensor x = halves({70}, 0.1, 0.01);
    e->set_variable("a", x);
    for (int step = 0; step < 3; ++step) e->run(std::vector<Feed>{{"x", &x}}, std::vector<std::string>{"y"});
    trace.close();
  }
  const TraceComparison c = compare_traces(folder.file("emu"), folder.file("cuda"));
  EXPECT_FALSE(c.difference) << c.difference->tensor << c.difference->what;
  EXPECT_EQ(c.settings, "");
  EXPECT_GE(c.tensors, 6u);
  EXPECT_EQ(c.backend_a, "emu");
  EXPECT_EQ(c.backend_b, "cuda");
}

// tests: N305
TEST_F(BackendChoices, AutoTakesTheDeviceButForWhatIsTheCpusAlone) {
  ExecutorOptions o;
  EXPECT_EQ(choose_backend(o).backend, "emu");
  EXPECT_EQ(choose_backend(o).about, "");
  o.backend = "cuda";
  EXPECT_EQ(choose_backend(o).backend, "cuda");
  EXPECT_NE(choose_backend(o).about, "");
  o.backend = "auto";
  EXPECT_EQ(choose_backend(o).backend, "cuda");
  EXPECT_EQ(make_executor(busy_graph(), o)->options().backend, "cuda");
  o.reference = true;
  EXPECT_EQ(choose_backend(o).backend, "emu");
  EXPECT_EQ(choose_backend(o).about, "the reference runs only on the CPU");
  EXPECT_EQ(make_executor(busy_graph(), o)->options().backend, "emu");
  o.reference = false;
  o.isa = bulk::InstructionSet::kPortable;
  EXPECT_EQ(choose_backend(o).about, "portable is an instruction set of the CPU");
  o.backend = "cuda";
  EXPECT_TRUE(contains(said([&](const std::string&) { return make_executor(busy_graph(), o), ""; }, ""),
                       "error: isa: the backend cuda has no instruction sets"));
  o.isa = bulk::InstructionSet::kAuto;
  o.reference = true;
  EXPECT_TRUE(contains(said([&](const std::string&) { return make_executor(busy_graph(), o), ""; }, ""),
                       "error: reference: the backend cuda has no reference"));
  o.backend = "tpu";
  EXPECT_TRUE(contains(said([&](const std::string&) { return choose_backend(o).backend; }, ""),
                       "error: unknown backend 'tpu'; known: "));
}

}  // namespace
}  // namespace softamp
