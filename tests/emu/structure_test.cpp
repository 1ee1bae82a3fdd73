// Operations that move elements: against loops of their own written with coordinates, the fast formulation against the
// body in kernel/, and the one sum among them against binary64.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>

#include "emu/op_kernel.h"
#include "emu/structure/line_writer.h"
#include "emu/structure/transpose_tile.h"
#include "softamp/graph/operation.h"
#include "tests/emu/bulk_check.h"
#include "tests/graph/structure_cases.h"
#include "tests/refusal.h"

using namespace softamp;
using namespace softamp::emu;

namespace {

using Ints = std::vector<int64_t>;

Tensor random_tensor(const TensorType& type, std::mt19937& random) {
  Tensor t(type);
  for (size_t i = 0; i < t.bytes(); ++i)
    static_cast<uint8_t*>(t.data())[i] = type.dtype == DType::kBool ? random() & 1 : static_cast<uint8_t>(random());
  return t;
}

struct Result {
  std::vector<Tensor> outputs;
  FpStatus status;
};

Result run(const Graph& graph, int number, const std::vector<const Tensor*>& inputs, EngineSettings settings,
           bool with_status = true) {
  const Node& node = graph.node(number);
  std::vector<TensorType> types;
  std::vector<test::BareBytes> operands, results;
  for (const Tensor* t : inputs) types.push_back(t->type()), operands.emplace_back(*t);
  std::vector<const void*> in;
  for (test::BareBytes& operand : operands) in.push_back(operand.data());
  std::vector<std::string> warnings;
  const KernelFactory make = find_kernel(node.op);
  if (!make) throw std::logic_error("no kernel for " + node.op);
  const auto kernel = make({node, types, settings, warnings});
  Result result;
  std::vector<void*> out;
  for (const TensorType& type : node.outputs) {
    result.outputs.emplace_back(type);
    if (type.bytes() > 0) std::memset(result.outputs.back().data(), 0xAA, type.bytes());
  }
  for (const Tensor& t : result.outputs) results.emplace_back(t);
  for (test::BareBytes& r : results) out.push_back(r.data());
  const Tensor scratch(DType::kBool, {static_cast<int64_t>(kernel->scratch_bytes())});
  kernel::Environment environment = settings.environment;
  environment.operation = node.operation_id;
  kernel->run(
      {in.data(), out.data(), const_cast<void*>(scratch.data()), environment, with_status ? &result.status : nullptr});
  for (const test::BareBytes& r : results) r.copy_back();
  return result;
}

std::vector<Tensor> feed(const Graph& graph, int number, std::mt19937& random) {
  std::vector<Tensor> tensors;
  for (const Port p : graph.node(number).inputs) tensors.push_back(random_tensor(graph.type(p), random));
  return tensors;
}

std::vector<const Tensor*> pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> all;
  for (const Tensor& t : tensors) all.push_back(&t);
  return all;
}

/// Nodes of a graph by the kernels, on so many threads, give what the bodies give.
void expect_bodies(const Graph& graph, const std::vector<int>& nodes, const std::vector<int>& thread_counts,
                   std::mt19937& random) {
  for (const int number : nodes) {
    const std::vector<Tensor> in = feed(graph, number, random);
    EngineSettings settings;
    settings.reference = true;
    const Result body = run(graph, number, pointers(in), settings);
    settings.reference = false;
    for (const int threads : thread_counts) {
      settings.threads = threads;
      ASSERT_TRUE(run(graph, number, pointers(in), settings).outputs[0].same_bits(body.outputs[0]))
          << graph.node(number).name << ' ' << threads;
    }
  }
}

Ints coordinates(const Shape& shape, int64_t index) {
  Ints c(static_cast<size_t>(shape.rank()));
  for (int a = shape.rank(); a-- > 0;) {
    c[static_cast<size_t>(a)] = index % shape[a];
    index /= shape[a];
  }
  return c;
}

/// The element at these coordinates; nothing where they are outside.
std::optional<uint64_t> at(const Tensor& t, const Ints& c) {
  int64_t index = 0;
  for (int a = 0; a < t.shape().rank(); ++a) {
    const int64_t place = c[static_cast<size_t>(a)];
    if (place < 0 || place >= t.shape()[a]) return std::nullopt;
    index = index * t.shape()[a] + place;
  }
  return t.code(index);
}

/// Python's range of a slice, element by element, from the language reference's definition of slice.indices.
Ints python_slice(int64_t n, int64_t begin, int64_t end, int64_t stride, bool no_begin, bool no_end) {
  int64_t first = begin < 0 ? begin + n : begin, last = end < 0 ? end + n : end;
  if (stride > 0) {
    first = no_begin ? 0 : std::clamp<int64_t>(first, 0, n);
    last = no_end ? n : std::clamp<int64_t>(last, 0, n);
  } else {
    first = no_begin ? n - 1 : std::clamp<int64_t>(first, -1, n - 1);
    last = no_end ? -1 : std::clamp<int64_t>(last, -1, n - 1);
  }
  Ints places;
  for (int64_t i = first; stride > 0 ? i < last : i > last; i += stride) places.push_back(i);
  return places;
}

/// The definition of each operation, with coordinates: element `c` of output `port`.
uint64_t expected(const Node& node, const std::vector<Tensor>& in, size_t port, Ints c) {
  const Shape& shape = in[0].shape();
  const auto axis_from = [&](int rank) {
    const int64_t axis = attribute<int64_t>(node, "axis");
    return static_cast<size_t>(axis < 0 ? axis + rank : axis);
  };
  if (node.op == "Transpose") {
    const Ints& perm = attribute<Ints>(node, "perm");
    Ints from(c.size());
    for (size_t a = 0; a < c.size(); ++a) from[static_cast<size_t>(perm[a])] = c[a];
    return *at(in[0], from);
  }
  if (node.op == "ConcatV2") {
    const size_t axis = axis_from(shape.rank());
    size_t i = 0;
    while (c[axis] >= in[i].shape()[static_cast<int>(axis)]) c[axis] -= in[i++].shape()[static_cast<int>(axis)];
    return *at(in[i], c);
  }
  if (node.op == "Pack") {
    const size_t axis = axis_from(shape.rank() + 1);
    const size_t i = static_cast<size_t>(c[axis]);
    c.erase(c.begin() + static_cast<std::ptrdiff_t>(axis));
    return *at(in[i], c);
  }
  if (node.op == "Unpack") {
    c.insert(c.begin() + static_cast<std::ptrdiff_t>(axis_from(shape.rank())), static_cast<int64_t>(port));
    return *at(in[0], c);
  }
  if (node.op == "Split" || node.op == "SplitV") {
    const size_t axis = axis_from(shape.rank());
    for (size_t i = 0; i < port; ++i) c[axis] += node.outputs[i].shape[static_cast<int>(axis)];
    return *at(in[0], c);
  }
  if (node.op == "Pad") {
    for (size_t a = 0; a < c.size(); ++a) c[a] -= attribute<Ints>(node, "paddings")[2 * a];
    return at(in[0], c).value_or(Tensor::full(in[0].dtype(), {}, attribute<double>(node, "constant_value")).code(0));
  }
  if (node.op == "Slice") {
    for (size_t a = 0; a < c.size(); ++a) c[a] += attribute<Ints>(node, "begin")[a];
    return *at(in[0], c);
  }
  if (node.op == "StridedSlice") {
    const Ints &begin = attribute<Ints>(node, "begin"), &end = attribute<Ints>(node, "end");
    if (attribute<int64_t>(node, "shrink_axis_mask") & 1) c.insert(c.begin(), -1);
    for (size_t a = 0; a < begin.size(); ++a) {
      const int64_t n = shape[static_cast<int>(a)];
      if (c[a] == -1) {
        c[a] = begin[a] < 0 ? begin[a] + n : begin[a];
        continue;
      }
      c[a] = python_slice(n, begin[a], end[a], attribute<Ints>(node, "strides")[a],
                          attribute<int64_t>(node, "begin_mask") >> a & 1,
                          attribute<int64_t>(node, "end_mask") >> a & 1)[static_cast<size_t>(c[a])];
    }
    return *at(in[0], c);
  }
  for (size_t a = 0; a < c.size(); ++a) c[a] %= shape[static_cast<int>(a)];  // Tile
  return *at(in[0], c);
}

const char* const kMoving[] = {"Transpose", "ConcatV2", "Pack",  "Unpack",       "Split",
                               "SplitV",    "Pad",      "Slice", "StridedSlice", "Tile"};
constexpr DType kDtypes[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                             DType::kFloat64, DType::kInt32,    DType::kBool};

}  // namespace

TEST(Structure, EveryElementComesFromWhereTheDefinitionSays) {
  std::mt19937 random(1);
  for (const char* op : kMoving)
    for (int round = 0; round < 200; ++round) {
      GraphBuilder b;
      const DType dtype = kDtypes[round % 6];
      const int number = test::add_random(b, random, op, dtype).node;
      const Graph graph = b.build();
      const Node& node = graph.node(number);
      const std::vector<Tensor> in = feed(graph, number, random);
      for (const bool reference : {true, false}) {
        EngineSettings settings;
        settings.reference = reference;
        settings.threads = 1 + round % 3;
        const Result result = run(graph, number, pointers(in), settings);
        ASSERT_EQ(result.status, FpStatus{});
        for (size_t port = 0; port < node.outputs.size(); ++port)
          for (int64_t i = 0; i < node.outputs[port].shape.elements(); ++i)
            ASSERT_EQ(result.outputs[port].code(i), expected(node, in, port, coordinates(node.outputs[port].shape, i)))
                << op << " round " << round << " reference " << reference << " output " << port << " element " << i;
      }
    }
}

TEST(Structure, LargeOnesEqualTheBodyOnAnyNumberOfThreads) {
  std::mt19937 random(2);
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat16, {33, 257, 129});
  const Port row = b.placeholder("row", DType::kFloat32, {3000000});
  std::vector<int> nodes;
  const auto add = [&](const char* op, std::vector<Port> in, Attributes attributes) {
    nodes.push_back(b.add(op, in, attributes).node);
  };
  for (const Ints& perm : {Ints{0, 1, 2}, Ints{2, 1, 0}, Ints{1, 2, 0}, Ints{0, 2, 1}, Ints{1, 0, 2}, Ints{2, 0, 1}})
    add("Transpose", {x}, {{"perm", perm}});
  add("Pad", {x}, {{"paddings", Ints{1, 2, 0, 3, 5, 0}}, {"constant_value", 7.0}});
  add("Slice", {row}, {{"begin", Ints{17}}, {"size", Ints{-1}}});
  add("ConcatV2", {x, x, x}, {{"axis", 1}});
  add("Tile", {x}, {{"multiples", Ints{1, 3, 2}}});
  add("StridedSlice", {row}, {{"begin", Ints{-1}}, {"end", Ints{0}}, {"strides", Ints{-2}}});
  add("Identity", {row}, {});
  add("Reshape", {row}, {{"shape", Ints{1000, -1}}});
  const Graph graph = b.build();
  expect_bodies(graph, nodes, {1, 2, 3, 8, 0}, random);
}

// The pieces that the copies are made of, small and with every alignment: whole lines bypass the caches, parts of lines
// are gathered.
TEST(Structure, LinesAreWrittenOnceWholeAndNothingBesideThem) {
  std::mt19937 random(7);
  const auto byte = [&] { return static_cast<std::byte>(random()); };
  for (int round = 0; round < 3000; ++round) {
    const bool stream = round % 4 != 0;
    alignas(64) std::byte out[1024], expected[1024], in[2048];
    for (std::byte& b : in) b = byte();
    for (size_t i = 0; i < sizeof out; ++i) out[i] = expected[i] = byte();
    std::byte line[kLineBytes];
    for (std::byte& b : line) b = in[0];
    size_t at = static_cast<size_t>(test::pick(random, 0, 130));
    {
      LineWriter writer(out + at, stream);
      for (size_t left = sizeof out - at; left > 0; left = sizeof out - at) {
        const size_t n = std::min(left, static_cast<size_t>(test::pick(random, 0, random() % 2 ? 9 : 300)));
        const size_t from = static_cast<size_t>(test::pick(random, 0, 1000));
        switch (random() % 8) {
          case 0: writer.move_to(out + at + n); break;
          case 1:
            writer.fill_to(out + at + n, line);
            std::fill_n(expected + at, n, in[0]);
            break;
          default: writer.put(in + from, n); std::copy_n(in + from, n, expected + at);
        }
        at += n;
        if (random() % 40 == 0) break;
      }
    }
    ASSERT_EQ(std::memcmp(out, expected, sizeof out), 0) << "round " << round;
  }
}

TEST(Structure, TilesOfEverySizeAreTransposed) {
  std::mt19937 random(8);
  constexpr int64_t kExtents[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 129};
  for (const int64_t size : {1, 2, 4, 8})
    for (const int64_t rows : kExtents)
      for (const int64_t columns : kExtents) {
        // Lines bypass the caches where each column of the output begins one.
        const bool stream = random() % 2 == 0;
        const int64_t line = 64 / size, in_row = columns + test::pick(random, 0, 3);
        const int64_t out_column = stream ? (rows + line - 1) / line * line : rows + test::pick(random, 0, 3);
        const size_t shift = stream ? 0 : static_cast<size_t>(size * test::pick(random, 0, 5));
        std::vector<std::byte> in(static_cast<size_t>((rows * in_row + 8) * size));
        std::vector<std::byte> store(static_cast<size_t>((columns * out_column + 16) * size) + 128);
        for (std::byte& b : in) b = static_cast<std::byte>(random());
        for (std::byte& b : store) b = static_cast<std::byte>(random());
        const size_t base = (64 - reinterpret_cast<uintptr_t>(store.data()) % 64) % 64 + shift;
        std::vector<std::byte> expected = store;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c)
            std::memcpy(expected.data() + base + (c * out_column + r) * size, in.data() + (r * in_row + c) * size,
                        static_cast<size_t>(size));
        transpose_tile(static_cast<size_t>(size), in.data(), in_row, store.data() + base, out_column, rows, columns,
                       stream);
        ASSERT_EQ(store, expected) << size << " bytes, " << rows << " x " << columns
                                   << (stream ? " past the caches" : "");
      }
}

// Outputs past the caches, in rows of odd bytes and in whole lines.
TEST(Structure, PastTheCachesEqualTheBody) {
  std::mt19937 random(9);
  GraphBuilder b;
  const auto input = [&](DType dtype, const Shape& shape) { return b.placeholder("x", dtype, shape); };
  std::vector<int> nodes;
  const auto add = [&](const char* op, std::vector<Port> in, Attributes attributes) {
    nodes.push_back(b.add(op, in, attributes).node);
  };
  const DType wide = DType::kFloat64;
  for (const auto& [dtype, shape] :
       {std::pair<DType, Shape>{wide, {1488, 1496}}, {wide, {1481, 1489}}, {DType::kFloat32, {2112, 2097}}})
    add("Transpose", {input(dtype, shape)}, {{"perm", Ints{1, 0}}});
  add("Transpose", {input(wide, {3, 515, 24, 68})}, {{"perm", Ints{0, 3, 1, 2}}});
  add("Transpose", {input(wide, {70, 33, 40, 25})}, {{"perm", Ints{2, 1, 0, 3}}});
  add("Pad", {input(wide, {31, 71, 997})}, {{"paddings", Ints{1, 0, 0, 2, 3, 1}}, {"constant_value", -2.5}});
  add("Slice", {input(DType::kFloat32, {3000, 2011})}, {{"begin", Ints{7, 17}}, {"size", Ints{-1, 1801}}});
  add("ConcatV2", {input(wide, {5000, 331}), input(wide, {5000, 128}), input(wide, {5000, 1})}, {{"axis", 1}});
  add("Tile", {input(wide, {150, 77})}, {{"multiples", Ints{7, 30}}});
  add("Identity", {input(wide, {2125001})}, {});
  std::vector<std::pair<int, int64_t>> gathers;
  for (const int64_t row : {77, 2048, 2049, 5000}) {
    const int64_t picked = (int64_t{17} << 20) / row;
    const Port params = input(DType::kBool, {300, row}), indices = b.placeholder("i", DType::kInt32, {picked});
    gathers.emplace_back(b.add("GatherV2", {params, indices}, {}).node, picked);
  }
  const Graph graph = b.build();
  expect_bodies(graph, nodes, {1, 3}, random);
  for (const auto& [number, picked] : gathers) {
    std::vector<Tensor> in = feed(graph, number, random);
    for (int32_t& i : in[1].as<int32_t>()) i = static_cast<int32_t>(random() % 300);
    const Result result = run(graph, number, pointers(in), {});
    const size_t row = static_cast<size_t>(in[0].shape()[1]);
    for (size_t i = 0; i < static_cast<size_t>(picked); ++i)
      ASSERT_EQ(
          std::memcmp(static_cast<const std::byte*>(result.outputs[0].data()) + i * row,
                      static_cast<const std::byte*>(in[0].data()) + static_cast<size_t>(in[1].as<int32_t>()[i]) * row,
                      row),
          0)
          << row << ' ' << i;
  }
}

// tests: N212, N303
TEST(Structure, GatherPicksRowsAndNamesAnIndexOutside) {
  std::mt19937 random(3);
  for (const int axis : {0, 1, -1}) {
    GraphBuilder b;
    const Port params = b.placeholder("params", DType::kFloat16, {4, 5, 6});
    const Port indices = b.placeholder("indices", DType::kInt32, {2, 3});
    const int number = b.add("GatherV2", {params, indices}, {{"axis", axis}}, "emb").node;
    const Graph graph = b.build();
    std::vector<Tensor> in;
    in.push_back(random_tensor(graph.type(params), random));
    in.push_back(Tensor::from_values(DType::kInt32, {2, 3}, std::vector<double>{0, 3, 1, 1, 2, 0}));
    const Result result = run(graph, number, pointers(in), {});
    const int a = axis < 0 ? axis + 3 : axis;
    const Shape& out = graph.node(number).outputs[0].shape;
    EXPECT_EQ(out, axis == 0 ? (Shape{2, 3, 5, 6}) : axis == 1 ? (Shape{4, 2, 3, 6}) : (Shape{4, 5, 2, 3}));
    for (int64_t i = 0; i < out.elements(); ++i) {
      Ints c = coordinates(out, i), from;
      for (int k = 0; k < 3; ++k) {
        const size_t u = static_cast<size_t>(k);
        from.push_back(k < a ? c[u] : k > a ? c[u + 1] : in[1].as<int32_t>()[static_cast<size_t>(3 * c[u] + c[u + 1])]);
      }
      ASSERT_EQ(result.outputs[0].code(i), *at(in[0], from)) << i;
    }
    in[1].as<int32_t>()[3] = static_cast<int32_t>(in[0].shape()[a]);
    const std::string limit = std::to_string(in[0].shape()[a]);
    EXPECT_EQ(test::refusal<std::out_of_range>([&] { run(graph, number, pointers(in), {}); }),
              "GatherV2 'emb': indices[3] = " + limit + " is not in [0, " + limit + ")");
    in[1].as<int32_t>()[3] = -1;
    EXPECT_THROW(run(graph, number, pointers(in), {}), std::out_of_range);
  }
}

// tests: N211, N212
TEST(Structure, OneHot) {
  GraphBuilder b;
  const Port indices = b.placeholder("indices", DType::kInt32, {2, 2});
  const int last =
      b.add("OneHot", {indices}, {{"depth", 3}, {"dtype", DType::kFloat16}, {"on_value", 0.1}, {"off_value", -1.0}})
          .node;
  const int first = b.add("OneHot", {indices}, {{"depth", 3}, {"axis", 0}, {"dtype", DType::kBool}}).node;
  const Graph graph = b.build();
  std::vector<Tensor> in;
  in.push_back(Tensor::from_values(DType::kInt32, {2, 2}, std::vector<double>{0, 2, -1, 3}));  // two lie outside
  const double on = Tensor::full(DType::kFloat16, {}, 0.1).value(0);
  const Result result = run(graph, last, pointers(in), {});
  EXPECT_EQ(result.outputs[0].shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(result.outputs[0].values(), (std::vector<double>{on, -1, -1, -1, -1, on, -1, -1, -1, -1, -1, -1}));
  const Result transposed = run(graph, first, pointers(in), {});
  EXPECT_EQ(transposed.outputs[0].values(), (std::vector<double>{1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}));
}

namespace {

/// A sum with `segments` segments over fp16, bf16 or fp32 data; returns the node.
Graph segment_graph(DType dtype, int64_t positions, int64_t columns, int64_t segments) {
  GraphBuilder b;
  const Port data = b.placeholder("data", dtype, {positions, columns});
  const Port ids = b.placeholder("ids", DType::kInt32, {positions});
  b.add("UnsortedSegmentSum", {data, ids}, {{"num_segments", segments}}, "sum");
  return b.build();
}

}  // namespace

// tests: N213
TEST(SegmentSum, AscendingInFp32RoundedOnce) {
  // 2048 + 1 + 1: 2050 in fp32; steps in fp16 would tie back to 2048 twice.
  const Graph graph = segment_graph(DType::kFloat16, 4, 1, 3);
  std::vector<Tensor> in;
  in.push_back(Tensor::from_values(DType::kFloat16, {4, 1}, std::vector<double>{2048, 1, 7, 1}));
  in.push_back(Tensor::from_values(DType::kInt32, {4}, std::vector<double>{1, 1, -3, 1}));
  for (const bool reference : {true, false}) {
    EngineSettings settings;
    settings.reference = reference;
    EXPECT_EQ(run(graph, 2, pointers(in), settings).outputs[0].values(), (std::vector<double>{0, 2050, 0}));
  }
  // The order matters in fp32: (2^24 + 1) + 1 stays 2^24, 1 + 1 + 2^24 does not.
  const Graph wide = segment_graph(DType::kFloat32, 3, 2, 1);
  std::vector<Tensor> values;
  values.push_back(Tensor::from_values(DType::kFloat32, {3, 2}, std::vector<double>{0x1p24, 1, 1, 1, 1, 0x1p24}));
  values.push_back(Tensor(DType::kInt32, {3}));
  EXPECT_EQ(run(wide, 2, pointers(values), {}).outputs[0].values(), (std::vector<double>{0x1p24, 0x1p24 + 2}));
}

TEST(SegmentSum, FastEqualsBodyWithFlagsUnderAnyRounding) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    const DType dtype =
        std::array{DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kInt32}[static_cast<size_t>(round % 4)];
    const int64_t positions = test::pick(random, 0, 60), columns = test::pick(random, 0, 300),
                  segments = test::pick(random, 0, 20);
    const Graph graph = segment_graph(dtype, positions, columns, segments);
    std::vector<Tensor> in;
    in.push_back(random_tensor({dtype, {positions, columns}}, random));
    in.emplace_back(DType::kInt32, Shape{positions});
    for (int32_t& id : in[1].as<int32_t>()) id = static_cast<int32_t>(test::pick(random, -1, segments - 1));
    EngineSettings settings;
    if (round % 3 == 0) settings.environment.semantics = Semantics::ieee();
    if (round % 3 == 1) settings.environment.semantics = Semantics::ipu();
    if (round % 3 == 2) {
      FloatingPointBehaviour behaviour;
      behaviour.esr = true;
      settings.environment.semantics = Semantics::ipu(behaviour);
    }
    settings.reference = true;
    const Result body = run(graph, 2, pointers(in), settings);
    settings.reference = false;
    for (const int threads : {1, 2, 3, 8}) {
      settings.threads = threads;
      const Result fast = run(graph, 2, pointers(in), settings);
      ASSERT_TRUE(fast.outputs[0].same_bits(body.outputs[0])) << round;
      ASSERT_EQ(fast.status, body.status) << round;
      ASSERT_TRUE(run(graph, 2, pointers(in), settings, false).outputs[0].same_bits(body.outputs[0]));
    }
  }
}

// The definition again, with the host's own fp32 additions and one rounding, for finite data.
TEST(SegmentSum, EqualsALoopOfFloats) {
  std::mt19937 random(6);
  const int64_t positions = 500, columns = 37, segments = 11;
  const Graph graph = segment_graph(DType::kFloat16, positions, columns, segments);
  std::vector<Tensor> in;
  in.emplace_back(DType::kFloat16, Shape{positions, columns});
  in.emplace_back(DType::kInt32, Shape{positions});
  for (uint16_t& code : in[0].as<uint16_t>()) code = static_cast<uint16_t>((random() & 0x83ff) | (random() % 26 << 10));
  for (int32_t& id : in[1].as<int32_t>()) id = static_cast<int32_t>(test::pick(random, -1, segments - 1));
  EngineSettings settings;
  settings.environment.semantics = Semantics::ieee();
  const Result result = run(graph, 2, pointers(in), settings);
  for (int64_t s = 0; s < segments; ++s)
    for (int64_t c = 0; c < columns; ++c) {
      float sum = 0;
      for (int64_t p = 0; p < positions; ++p)
        if (in[1].as<int32_t>()[static_cast<size_t>(p)] == s) sum += static_cast<float>(in[0].value(p * columns + c));
      ASSERT_EQ(result.outputs[0].code(s * columns + c), Half(sum).bits()) << s << ' ' << c;
    }
}

// tests: N213
TEST(SegmentSum, NamesAnIdOutside) {
  const Graph graph = segment_graph(DType::kFloat16, 2, 1, 2);
  std::vector<Tensor> in;
  in.emplace_back(DType::kFloat16, Shape{2, 1});
  in.push_back(Tensor::from_values(DType::kInt32, {2}, std::vector<double>{0, 2}));
  EXPECT_EQ(test::refusal<std::out_of_range>([&] { run(graph, 2, pointers(in), {}); }),
            "UnsortedSegmentSum 'sum': segment_ids[1] = 2 is not below num_segments = 2");
}
