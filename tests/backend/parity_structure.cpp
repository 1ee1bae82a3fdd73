// Operations that move elements: every dtype, ranks 0 to 6, extents of 0, 1 and more than a tile; the sum among them
// under every setting; indices that are refused.
#include "parity.h"
#include "softamp/graph/operation.h"
#include "tests/graph/structure_cases.h"

namespace softamp::parity {
namespace {

using Ints = std::vector<int64_t>;

/// A case under construction; placeholders without a feed of their own get one.
struct Maker {
  GraphBuilder b;
  std::map<std::string, Tensor> feeds;
  uint64_t seed = 0;

  Port input(DType type, const Shape& shape) { return b.placeholder("x", type, shape); }
  Port fed(const char* name, Tensor value) {
    const Port p = b.placeholder(name, value.type().dtype, value.type().shape);
    feeds.emplace(b.graph().node(p.node).name, std::move(value));
    return p;
  }
  void run(Suite& suite, const std::string& name, const ExecutorOptions& options) {
    Case c;
    c.name = name;
    c.graph = b.build();
    for (const Node& node : c.graph.nodes())
      if (node.op == "Placeholder") feeds.try_emplace(node.name, any_tensor(node.outputs[0], ++seed));
    c.feeds = std::move(feeds);
    c.options = options;
    suite.run(c);
  }
};

void transpositions(Maker& m, DType type, int64_t large) {
  const std::pair<Shape, Ints> all[] = {
      {Shape{}, {}},
      {Shape{7}, {0}},
      {Shape{5, 3}, {1, 0}},
      {Shape{65, 33}, {1, 0}},
      {Shape{large / 50, 50}, {1, 0}},
      {Shape{128, 64}, {1, 0}},
      {Shape{3, 200}, {1, 0}},
      {Shape{0, 4}, {1, 0}},
      {Shape{4, 70, 66}, {0, 2, 1}},
      {Shape{9, 10, 70}, {2, 0, 1}},
      {Shape{9, 10, 70}, {2, 1, 0}},
      {Shape{8, 16, 9}, {1, 0, 2}},
      {Shape{8, 16, 16}, {1, 0, 2}},
      {Shape{2, 40, 3, 41}, {0, 3, 2, 1}},
      {Shape{3, 4, 5, 6}, {3, 1, 0, 2}},
      {Shape{2, 1, 3, 2, 2, 3}, {5, 4, 3, 2, 1, 0}},
      {Shape{2, 3, 2, 9, 2, 10}, {1, 0, 5, 4, 2, 3}},
  };
  for (const auto& [shape, perm] : all) m.b.add("Transpose", {m.input(type, shape)}, {{"perm", perm}});
}

void joins(Maker& m, DType type, int64_t large) {
  const auto in = [&](const Shape& shape) { return m.input(type, shape); };
  for (const int64_t axis : {0, 1, -1})
    m.b.add("ConcatV2", {in({4, 5, 6}), in({4, 5, 6}), in({4, 5, 6})}, {{"axis", axis}});
  m.b.add("ConcatV2", {in({large}), in({0}), in({1}), in({17})}, {{"axis", int64_t{0}}});
  m.b.add("ConcatV2", {in({9, 16}), in({9, 32}), in({9, 3})}, {{"axis", int64_t{1}}});
  m.b.add("ConcatV2", {in({2, 3, 1, 2, 2, 1}), in({2, 3, 1, 2, 2, 1})}, {{"axis", int64_t{3}}});
  for (const int64_t axis : {0, 1, 2}) m.b.add("Pack", {in({33, 8}), in({33, 8}), in({33, 8})}, {{"axis", axis}});
  m.b.add("Pack", {in({}), in({})});
  m.b.add("Unpack", {in({3, 40, 5})}, {{"num", int64_t{3}}});
  m.b.add("Unpack", {in({3, 40, 5})}, {{"num", int64_t{5}}, {"axis", int64_t{-1}}});
  m.b.add("Split", {in({6, 10})}, {{"num_split", int64_t{5}}, {"axis", int64_t{1}}});
  m.b.add("Split", {in({64, 10})}, {{"num_split", int64_t{2}}, {"axis", int64_t{0}}});
  m.b.add("SplitV", {in({7, 40, 2})}, {{"size_splits", Ints{1, 0, 16, 23}}, {"axis", int64_t{1}}});
}

void windows(Maker& m, DType type, int64_t large) {
  const auto in = [&](const Shape& shape) { return m.input(type, shape); };
  for (const double value : {0.0, 1.0}) {
    m.b.add("Pad", {in({5, 6, 3})}, {{"paddings", Ints{1, 0, 2, 3, 0, 5}}, {"constant_value", value}});
    m.b.add("Pad", {in({large})}, {{"paddings", Ints{1, 2}}, {"constant_value", value}});
    m.b.add("Pad", {in({0, 3})}, {{"paddings", Ints{1, 2, 0, 0}}, {"constant_value", value}});
    m.b.add("Pad", {in({16, 16})}, {{"paddings", Ints{0, 0, 0, 0}}, {"constant_value", value}});
    m.b.add("Pad", {in({})}, {{"paddings", Ints{}}, {"constant_value", value}});
  }
  m.b.add("Slice", {in({large})}, {{"begin", Ints{3}}, {"size", Ints{-1}}});
  m.b.add("Slice", {in({10, 64})}, {{"begin", Ints{2, 16}}, {"size", Ints{5, 32}}});
  m.b.add("Slice", {in({3, 4, 5, 2, 2, 3})}, {{"begin", Ints{1, 0, 2, 0, 1, 1}}, {"size", Ints{2, 3, 1, 2, 1, 2}}});
  m.b.add("StridedSlice", {in({20, 30})}, {{"begin", Ints{-1, 1}}, {"end", Ints{0, 30}}, {"strides", Ints{-3, 2}}});
  m.b.add("StridedSlice", {in({20, 30})}, {{"begin", Ints{19}}, {"end", Ints{-21}}, {"strides", Ints{-1}}});
  m.b.add("StridedSlice", {in({40, 40})}, {{"begin", Ints{0, 39}}, {"end", Ints{40, -41}}, {"strides", Ints{1, -1}}});
  m.b.add("StridedSlice", {in({5, 6, 7})},
          {{"begin", Ints{2, 0}},
           {"end", Ints{3, 0}},
           {"strides", Ints{1, 1}},
           {"shrink_axis_mask", int64_t{1}},
           {"end_mask", int64_t{2}}});
  m.b.add("StridedSlice", {in({5})}, {{"begin", Ints{4}}, {"end", Ints{2}}, {"strides", Ints{1}}});
  m.b.add("Tile", {in({3, 5})}, {{"multiples", Ints{2, 3}}});
  m.b.add("Tile", {in({1, 16})}, {{"multiples", Ints{9, 2}}});
  m.b.add("Tile", {in({64})}, {{"multiples", Ints{7}}});
  m.b.add("Tile", {in({3, 5})}, {{"multiples", Ints{0, 3}}});
  m.b.add("Tile", {in({2, 1, 3, 1, 2, 2})}, {{"multiples", Ints{1, 2, 2, 3, 1, 2}}});
}

void indexed(Maker& m, DType type, int64_t large) {
  const auto in = [&](const Shape& shape) { return m.input(type, shape); };
  const auto places = [&](const Shape& shape, int32_t low, int32_t high) {
    return m.fed("i", integers(shape, ++m.seed, low, high));
  };
  m.b.add("GatherV2", {in({17, 3}), places({5}, 0, 16)});
  m.b.add("GatherV2", {in({17, 16}), places({2, 3}, 0, 16)});
  m.b.add("GatherV2", {in({17, 24}), places({}, 0, 16)});
  m.b.add("GatherV2", {in({4, 9, 6}), places({40}, 0, 8)}, {{"axis", int64_t{1}}});
  m.b.add("GatherV2", {in({4, 5, 6}), places({3, 2}, 0, 5)}, {{"axis", int64_t{-1}}});
  m.b.add("GatherV2", {in({5, 6}), places({0}, 0, 0)});
  m.b.add("GatherV2", {in({5, 0}), places({3}, 0, 4)});
  m.b.add("GatherV2", {in({101}), places({large}, 0, 100)});
  const auto one_hot = [&](Port i, int64_t depth, int64_t axis) {
    m.b.add("OneHot", {i},
            {{"depth", depth},
             {"axis", axis},
             {"dtype", type},
             {"off_value", type == DType::kBool ? 0.0 : 1.0},
             {"on_value", type == DType::kBool ? 1.0 : 0.0}});
  };
  one_hot(places({large / 10}, -2, 11), 10, -1);
  one_hot(places({4, 5}, 0, 6), 7, 0);
  one_hot(places({4, 5}, -1, 7), 7, 1);
  one_hot(places({}, 2, 2), 3, -1);
  one_hot(places({3}, 0, 1), 0, 0);
  one_hot(places({0}, 0, 1), 4, 0);
}

void segment_sums(Suite& suite) {
  for (const Setting& setting : settings())
    for (const DType type : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kInt32})
      for (const bool plain : {false, true}) {
        const std::string name = std::string("UnsortedSegmentSum ") + name_of(type) + " " + setting.name;
        if (!suite.wants(name)) continue;
        Maker m;
        const auto add = [&](const Shape& data, const Shape& ids, int32_t low, int32_t high, int64_t segments) {
          Tensor values = type == DType::kInt32 ? integers(data, ++m.seed, INT32_MIN, INT32_MAX)
                                                : floats(type, data, ++m.seed, plain);
          m.b.add("UnsortedSegmentSum",
                  {m.fed("data", std::move(values)), m.fed("ids", integers(ids, ++m.seed, low, high))},
                  {{"num_segments", segments}});
        };
        add({suite.elements() / 8, 8}, {suite.elements() / 8}, -1, 40, 41);
        add({600}, {600}, 0, 299, 300);
        add({40, 7}, {40}, 0, 0, 2);
        add({6, 5, 3}, {6, 5}, -3, 3, 5);
        add({4}, {4}, -2, -1, 3);
        add({0, 3}, {0}, 0, 0, 2);
        add({5, 0}, {5}, 0, 1, 2);
        m.run(suite, name + (plain ? " plain" : ""), setting.options);
      }
}

/// Indices out of range: the same words from either engine, the lowest place first, also where an exception of an
/// earlier operation comes before, or one of a later would have come after.
// tests: N303
void refusals(Suite& suite) {
  const auto run = [&](const std::string& name, const std::function<void(Maker&)>& build, bool stops) {
    if (!suite.wants("refused " + name)) return;
    Maker m;
    build(m);
    ExecutorOptions options;
    options.config.set("floating_point_behaviour.div0", stops);
    m.run(suite, "refused " + name, options);
  };
  const auto index = [](Maker& m, std::initializer_list<int32_t> values) {
    Tensor t = integers(Shape{static_cast<int64_t>(values.size())}, 1, 0, 0);
    std::copy(values.begin(), values.end(), static_cast<int32_t*>(t.data()));
    return m.fed("i", std::move(t));
  };
  const auto divide = [](Maker& m) {
    const Shape shape{40};
    m.b.add("RealDiv", {m.fed("one", Tensor::full(DType::kFloat32, shape, 1)),
                        m.fed("zero", Tensor::full(DType::kFloat32, shape, 0))});
  };
  const auto gather = [&](Maker& m, std::initializer_list<int32_t> values) {
    m.b.add("GatherV2", {m.input(DType::kFloat32, {17, 3}), index(m, values)});
  };
  for (const bool stops : {false, true}) {
    const std::string with = stops ? ", exceptions enabled" : "";
    run(
        "too high" + with,
        [&](Maker& m) {
          gather(m, {0, 16, 17, -1});
        },
        stops);
    run(
        "negative" + with,
        [&](Maker& m) {
          gather(m, {0, -5, 17, 16});
        },
        stops);
    run(
        "of no elements" + with,
        [&](Maker& m) {
          m.b.add("GatherV2", {m.input(DType::kFloat32, {4, 0}), index(m, {0, 4})});
        },
        stops);
    run(
        "second gather" + with,
        [&](Maker& m) {
          gather(m, {0, 1}), gather(m, {3, 99}), gather(m, {-7});
        },
        stops);
    run(
        "after an exception" + with, [&](Maker& m) { divide(m), gather(m, {17}); }, stops);
    run(
        "before an exception" + with, [&](Maker& m) { gather(m, {17}), divide(m); }, stops);
    run(
        "places of places" + with,
        [&](Maker& m) {
          const Port places = m.b.add("GatherV2", {index(m, {1, 2}), index(m, {0, 1, 2})});
          m.b.add("GatherV2", {m.input(DType::kFloat16, {5, 2}), places});
        },
        stops);
    run(
        "segment" + with,
        [&](Maker& m) {
          m.b.add("UnsortedSegmentSum", {m.input(DType::kFloat16, {4, 3}), index(m, {-1, 1, 3, 2})},
                  {{"num_segments", int64_t{2}}});
        },
        stops);
  }
}

}  // namespace

void structure(Suite& suite) {
  const std::pair<const char*, void (*)(Maker&, DType, int64_t)> groups[] = {
      {"Transpose", transpositions}, {"joins", joins}, {"windows", windows}, {"indexed", indexed}};
  for (const DType type : kAllTypes) {
    for (const auto& [group, add] : groups) {
      const std::string name = std::string(group) + " " + name_of(type);
      if (!suite.wants(name)) continue;
      Maker m;
      add(m, type, suite.elements());
      m.run(suite, name, settings()[0].options);
    }
    for (const char* op :
         {"Transpose", "ConcatV2", "Pack", "Unpack", "Split", "SplitV", "Pad", "Slice", "StridedSlice", "Tile"}) {
      const std::string name = std::string("random ") + op + " " + name_of(type);
      if (!suite.wants(name)) continue;
      Maker m;
      std::mt19937 random(7);
      for (int i = 0; i < 20; ++i) test::add_random(m.b, random, op, type);
      m.run(suite, name, settings()[0].options);
    }
  }
  segment_sums(suite);
  refusals(suite);
}

}  // namespace softamp::parity
