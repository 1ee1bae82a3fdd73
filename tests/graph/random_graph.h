// Small random graphs over the whole table of operations, with feeds: what differential tests run on every executor.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "softamp/graph/executor.h"
#include "softamp/graph/operation.h"
#include "tests/ops/node_rows.h"
#include "tests/shuffle.h"

namespace softamp::test {

/// A graph, values for its placeholders, and everything that may be fetched.
struct RandomGraph {
  Graph graph;
  std::map<std::string, Tensor> feeds;
  std::vector<std::string> fetches;

  std::vector<Feed> feed_list() const {
    std::vector<Feed> list;
    for (const auto& [name, tensor] : feeds) list.push_back({name, &tensor});
    return list;
  }
};

/// Builds one graph from a seed. Every recipe makes one operation from tensors that are there, or from new ones of the
/// shape that it needs.
class RandomGraphMaker {
 public:
  explicit RandomGraphMaker(uint64_t seed) : random_(seed) {}

  /// Recipes used by all makers so far: what a coverage test looks at.
  static std::set<std::string>& used() {
    static std::set<std::string> ops;
    return ops;
  }

  RandomGraph make(int operations) {
    for (int i = 0; i < operations; ++i) {
      const auto& recipe = recipes()[below(recipes().size())];
      (this->*recipe)();
    }
    RandomGraph result;
    result.graph = builder_.build();
    for (const Node& node : result.graph.nodes()) used().insert(node.op);
    result.feeds = std::move(feeds_);
    for (int n = 0; n < result.graph.size(); ++n)
      for (int port = 0; port < static_cast<int>(result.graph.node(n).outputs.size()); ++port)
        result.fetches.push_back(result.graph.port_name({n, port}));
    return result;
  }

 private:
  using Ints = std::vector<int64_t>;
  using Recipe = void (RandomGraphMaker::*)();

  static const std::vector<Recipe>& recipes() {
    using M = RandomGraphMaker;
    static const std::vector<Recipe> all = {
        &M::binary,     &M::binary,     &M::unary,        &M::unary,   &M::function,     &M::gradient,
        &M::comparison, &M::logical,    &M::select,       &M::cast,    &M::fill,         &M::random_values,
        &M::matmul,     &M::matmul,     &M::batch_matmul, &M::row,     &M::conv,         &M::conv,
        &M::pool,       &M::reduce,     &M::place,        &M::bias,    &M::softmax,      &M::entropy,
        &M::batch_norm, &M::layer_norm, &M::group_norm,   &M::reshape, &M::rearrange,    &M::join,
        &M::split,      &M::pad,        &M::slice,        &M::gather,  &M::pass_through, &M::add_n,
        &M::integers,   &M::update,     &M::all_finite};
    return all;
  }

  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  int64_t extent(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(below(static_cast<size_t>(most - least + 1)));
  }
  bool coin() { return below(2) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& v) {
    return v[below(v.size())];
  }
  DType product_type() {
    return one_of(std::vector<DType>{DType::kFloat16, DType::kFloat16, DType::kFloat32, DType::kBFloat16});
  }

  Shape shape(int least_rank = 0, int most_rank = 3) {
    Ints extents;
    const int64_t rank = extent(least_rank, most_rank);
    for (int64_t a = 0; a < rank; ++a) extents.push_back(below(12) == 0 ? 1 : extent(1, 9));
    return Shape(extents);
  }

  /// Numbers of mixed magnitude; now and then a special one.
  double number() {
    static const double kSpecials[] = {0.0, -0.0, 1e30, -1e30, 65504, 1e-7, 6e-8, 1e-40, INFINITY, -INFINITY, NAN};
    if (specials_ && below(40) == 0) return kSpecials[below(std::size(kSpecials))];
    const double significand = 1.0 + static_cast<double>(below(1 << 12)) / (1 << 12);
    const int exponent = static_cast<int>(below(specials_ ? 20 : 6)) - (specials_ ? 12 : 4);
    const double magnitude = std::ldexp(significand, exponent);
    return coin() ? magnitude : -magnitude;
  }

  Port fresh(DType type, const Shape& shape, const std::function<double()>& value) {
    std::vector<double> values;
    for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(value());
    Tensor tensor = Tensor::from_values(type, shape, values);
    const std::string name = "x" + std::to_string(feeds_.size() + constants_);
    if (coin()) {
      ++constants_;
      return keep(builder_.constant(std::move(tensor), name));
    }
    feeds_.emplace(name, std::move(tensor));
    return keep(builder_.placeholder(name, type, shape));
  }
  Port fresh(DType type, const Shape& shape) {
    if (type == DType::kBool) return fresh(type, shape, [&] { return coin() ? 1.0 : 0.0; });
    if (type == DType::kInt32) return fresh(type, shape, [&] { return static_cast<double>(extent(-50, 50)); });
    return fresh(type, shape, [&] { return number(); });
  }
  Port keep(Port p) {
    pool_.push_back(p);
    return p;
  }
  const Shape& shape_of(Port p) { return builder_.type(p).shape; }
  DType dtype_of(Port p) { return builder_.type(p).dtype; }

  /// A tensor that is there and fits, or a new one.
  Port some(const std::function<bool(const TensorType&)>& fits, DType type, const Shape& otherwise) {
    std::vector<Port> candidates;
    for (const Port& p : pool_)
      if (fits(builder_.type(p)) && builder_.type(p).shape.elements() <= 4000) candidates.push_back(p);
    if (candidates.empty() || below(4) == 0) return fresh(type, otherwise);
    return one_of(candidates);
  }
  Port of_type(DType type, int least_rank = 0) {
    return some([&](const TensorType& t) { return t.dtype == type && t.shape.rank() >= least_rank; }, type,
                shape(least_rank));
  }
  Port like(Port p) {
    return some([&](const TensorType& t) { return t == builder_.type(p); }, dtype_of(p), shape_of(p));
  }
  /// In braces, so that what draws random numbers does so in the order in which it is written, whatever the compiler.
  struct Call {
    std::string op;
    std::vector<Port> inputs;
    Attributes attributes = {};
  };
  void add(Call call) {
    if (!find_operation(call.op)) return;
    const Port first = builder_.add(call.op, std::move(call.inputs), std::move(call.attributes));
    const size_t outputs = builder_.graph().node(first.node).outputs.size();
    for (size_t port = 0; port < outputs; ++port) keep({first.node, static_cast<int>(port)});
  }
  Ints axes_of(const Shape& s) {
    Ints axes;
    for (int a = 0; a < s.rank(); ++a)
      if (coin()) axes.push_back(coin() ? a : a - s.rank());
    return axes;
  }

  void binary() {
    const DType type = one_of(std::vector<DType>{DType::kFloat16, DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                                                 DType::kFloat64, DType::kInt32});
    const Port a = of_type(type);
    Port b = like(a);
    if (shape_of(a).rank() > 0 && coin()) {  // a shape that stretches
      Ints extents(shape_of(a).begin(), shape_of(a).end());
      for (int64_t& e : extents)
        if (coin()) e = 1;
      extents.erase(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(below(extents.size() + 1)));
      b = fresh(type, Shape(extents));
    }
    std::vector<const char*> ops = {"AddV2", "Sub", "Mul", "Maximum", "Minimum"};
    if (type != DType::kInt32) ops.push_back("RealDiv");
    if (type != DType::kInt32) ops.push_back("SquaredDifference");
    if (type != DType::kInt32 && type != DType::kFloat64) ops.push_back("Pow");
    coin() ? add({one_of(ops), {a, b}}) : add({one_of(ops), {b, a}});
  }
  void unary() {
    const DType type = one_of(std::vector<DType>{DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64});
    std::vector<std::string> ops = {"ZerosLike", "OnesLike"};
    for (const ElementRow& row : elementwise_rows())
      if (row.operands() == 1 && row.takes(type) && ops.back() != row.op) ops.push_back(row.op);
    add({one_of(ops), {of_type(type)}});
  }
  void function() {
    const DType type = coin() && coin() ? DType::kFloat64 : product_type();
    std::vector<std::string> ops;
    for (const ElementRow& row : function_rows())
      if (row.operands() == 1 && row.takes(type) && (ops.empty() || ops.back() != row.op)) ops.push_back(row.op);
    const Port x = of_type(type);
    const std::string op = one_of(ops);
    op == "Gelu" ? add({op, {x}, {{"approximate", coin()}}}) : add({op, {x}});
  }
  void gradient() {
    const Port x = of_type(coin() && coin() ? DType::kFloat64 : product_type());
    add({one_of(std::vector<const char*>{"ReluGrad", "LeakyReluGrad", "TanhGrad", "SigmoidGrad", "SqrtGrad",
                                         "RsqrtGrad", "ReciprocalGrad", "GeluGrad", "Relu6Grad"}),
         {x, like(x)}});
  }
  void comparison() {
    const Port a =
        of_type(one_of(std::vector<DType>{DType::kFloat16, DType::kFloat32, DType::kBFloat16, DType::kInt32}));
    add({one_of(std::vector<const char*>{"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"}),
         {a, like(a)}});
  }
  void logical() {
    const Port a = of_type(DType::kBool);
    add({one_of(std::vector<const char*>{"LogicalAnd", "LogicalOr"}), {a, like(a)}});
    add({"LogicalNot", {a}});
  }
  void select() {
    const Port a = of_type(one_of(std::vector<DType>{DType::kFloat16, DType::kFloat32, DType::kInt32}));
    add({"SelectV2", {fresh(DType::kBool, shape_of(a)), a, like(a)}});
  }
  void cast() {
    static const std::vector<DType> kAll = {DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                                            DType::kFloat64, DType::kInt32,    DType::kBool};
    add({"Cast", {of_type(one_of(kAll))}, {{"DstT", one_of(kAll)}}});
  }
  void fill() { add({"Fill", {}, {{"dtype", product_type()}, {"shape", shape()}, {"value", number()}}}); }
  void random_values() {
    const RandomRow& row = one_of(random_rows());
    add({row.op, {}, one_of(row.nodes(row.ranges[0], shape()))});
  }
  void matmul() {
    const DType type = product_type();
    const Port a = some([&](const TensorType& t) { return t.dtype == type && t.shape.rank() == 2; }, type,
                        Shape{extent(1, 20), extent(1, 40)});
    const bool ta = coin(), tb = coin();
    const int64_t k = shape_of(a)[ta ? 0 : 1], n = extent(1, 20);
    add({"MatMul",
         {a, fresh(type, tb ? Shape{n, k} : Shape{k, n})},
         {{"transpose_a", ta}, {"transpose_b", tb}, {"batch_sum", below(4) == 0}, {"partialsType", partials()}}});
  }
  std::string partials() { return one_of(std::vector<std::string>{"", "half", "float"}); }
  void batch_matmul() {
    const DType type = product_type();
    const int64_t m = extent(1, 9), k = extent(1, 40), n = extent(1, 9), batch = extent(1, 3);
    const bool ax = coin(), ay = coin();
    const Shape x = ax ? Shape{batch, k, m} : Shape{batch, m, k};
    const Shape y = ay ? Shape{coin() ? batch : 1, n, k} : Shape{coin() ? batch : 1, k, n};
    add({"BatchMatMulV2",
         {fresh(type, x), fresh(type, y)},
         {{"adj_x", ax}, {"adj_y", ay}, {"partialsType", partials()}}});
  }
  /// Any test row.
  void row() {
    static const std::set<std::string> kWithState = {"Assign", "OutfeedEnqueue", "Placeholder", "PrintTensor",
                                                     "VariableV2"};
    const NodeRow& r = one_of(node_rows());
    if (kWithState.contains(r.op)) return;
    const DType type = one_of(r.types());
    std::vector<Port> inputs;
    for (size_t i = 0; i < r.inputs.size(); ++i) {
      const NodeRow::Input& in = r.inputs[i];
      size_t next = 0;
      inputs.push_back(in.numbers.empty()
                           ? fresh(r.dtype(i, type), Shape(in.shape))
                           : fresh(r.dtype(i, type), Shape(in.shape), [&] { return in.numbers[next++]; }));
    }
    Attributes attributes = r.attributes;
    for (const AttributeSpec& a : r.operation().attributes)
      if (a.name == "partialsType") attributes[a.name] = partials();
    add({r.op, inputs, attributes});
  }
  void conv() {
    const DType type = product_type();
    const int64_t n = extent(1, 2), h = extent(3, 8), w = extent(3, 8), c = extent(1, 20), o = extent(1, 9);
    const int64_t kh = extent(1, 3), kw = extent(1, 3), s = extent(1, 2);
    const bool depthwise = below(3) == 0;
    const std::string padding = coin() ? "SAME" : "VALID";
    const int64_t oh = padding == "SAME" ? (h + s - 1) / s : (h - kh) / s + 1;
    const int64_t ow = padding == "SAME" ? (w + s - 1) / s : (w - kw) / s + 1;
    const int64_t multiplier = extent(1, 2), out = depthwise ? c * multiplier : o;
    const Attributes common = {{"strides", Ints{1, s, s, 1}}, {"padding", padding}, {"partialsType", partials()}};
    const auto with = [&](const char* name, Ints value) {
      Attributes all = common;
      all[name] = std::move(value);
      return all;
    };
    const Shape input{n, h, w, c}, filter{kh, kw, c, depthwise ? multiplier : o}, output{n, oh, ow, out};
    const Port x = fresh(type, input), f = fresh(type, filter), g = fresh(type, output);
    const std::string base = depthwise ? "DepthwiseConv2dNative" : "Conv2D";
    add({base.c_str(), {x, f}, common});
    add({(base + "BackpropInput").c_str(), {f, g}, with("input_sizes", {n, h, w, c})});
    add({(base + "BackpropFilter").c_str(), {x, g}, with("filter_sizes", {kh, kw, c, filter[3]})});
  }
  void pool() {
    const DType type = product_type();
    const int64_t n = extent(1, 2), h = extent(3, 7), w = extent(3, 7), c = extent(1, 20), k = extent(1, 3),
                  s = extent(1, 2);
    const std::string padding = coin() ? "SAME" : "VALID";
    const int64_t oh = padding == "SAME" ? (h + s - 1) / s : (h - k) / s + 1;
    const int64_t ow = padding == "SAME" ? (w + s - 1) / s : (w - k) / s + 1;
    const Attributes common = {{"ksize", Ints{1, k, k, 1}}, {"strides", Ints{1, s, s, 1}}, {"padding", padding}};
    const Port x = fresh(type, {n, h, w, c}), g = fresh(type, {n, oh, ow, c});
    add({"MaxPool", {x}, common});
    const Port y = pool_.back();
    add({"MaxPoolGrad", {x, y, g}, common});
    add({"AvgPool", {x}, common});
    Attributes with_shape = common;
    with_shape["orig_input_shape"] = Ints{n, h, w, c};
    add({"AvgPoolGrad", {g}, with_shape});
  }
  void reduce() {
    const DType type = one_of(
        std::vector<DType>{DType::kFloat16, DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64});
    const Port x = of_type(type);
    const Attributes common = {{"axes", axes_of(shape_of(x))}, {"keep_dims", coin()}};
    std::vector<const char*> ops = {"Sum", "Mean", "L2Loss"};
    if (shape_of(x).elements() > 0) ops.insert(ops.end(), {"Max", "Min"});
    const char* op = one_of(ops);
    Attributes all = common;
    if (op == std::string("L2Loss")) all = {};
    if (type == DType::kFloat16 && (op == std::string("Sum") || op == std::string("Mean")) && coin())
      all["accumulator"] = std::string("half");
    add({op, {x}, all});
  }
  void place() {
    const Port x = of_type(one_of(std::vector<DType>{DType::kFloat16, DType::kFloat32, DType::kInt32}), 1);
    if (shape_of(x).elements() == 0) return;
    add({coin() ? "ArgMax" : "ArgMin", {x}, {{"axis", extent(-shape_of(x).rank(), shape_of(x).rank() - 1)}}});
  }
  void bias() {
    const Port x = of_type(product_type(), 2);
    add({"BiasAdd", {x, fresh(dtype_of(x), Shape{shape_of(x)[shape_of(x).rank() - 1]})}});
    add({"BiasAddGrad", {x}});
  }
  void softmax() {
    const Port x = of_type(product_type(), 1);
    if (shape_of(x)[shape_of(x).rank() - 1] == 0) return;
    add({coin() ? "Softmax" : "LogSoftmax", {x}});
    const Port y = pool_.back();
    add({coin() ? "SoftmaxGrad" : "LogSoftmaxGrad", {y, like(y)}});
  }
  void entropy() {
    const DType type = product_type();
    const int64_t rows = extent(1, 6), classes = extent(1, 12);
    const Port x = fresh(type, {rows, classes});
    add({"SoftmaxCrossEntropyWithLogits",
         {x, fresh(type, {rows, classes}, [&] { return below(3) == 0 ? 1.0 : 0.25; })}});
    add({"SparseSoftmaxCrossEntropyWithLogits",
         {x, fresh(DType::kInt32, {rows}, [&] { return static_cast<double>(extent(0, classes - 1)); })}});
  }
  Attributes statistics(DType type, Attributes all) {
    if (type == DType::kFloat16 && below(3) == 0) all["statistics"] = std::string("half");
    all["use_stable_statistics"] = one_of(std::vector<std::string>{"", "true", "false"});
    return all;
  }
  void batch_norm() {
    const DType type = product_type(), u = coin() ? DType::kFloat32 : DType::kFloat16;
    const Port x = some([&](const TensorType& t) { return t.dtype == type && t.shape.rank() == 4; }, type,
                        Shape{extent(1, 3), extent(1, 4), extent(1, 4), extent(1, 18)});
    const Shape c{shape_of(x)[3]};
    add({"FusedBatchNormV3",
         {x, fresh(u, c), fresh(u, c), fresh(u, c), fresh(u, c)},
         statistics(type, {{"is_training", coin()}})});
    const int y = pool_.back().node;
    add({"FusedBatchNormGradV3", {like({y, 0}), x, fresh(u, c), {y, 3}, {y, 4}}});
  }
  void layer_norm() {
    const DType type = product_type(), u = coin() ? DType::kFloat32 : DType::kFloat16;
    const Port x = of_type(type, 2);
    const Shape inner{shape_of(x)[shape_of(x).rank() - 1]};
    if (inner.elements() == 0) return;
    add({"LayerNorm", {x, fresh(u, inner), fresh(u, inner)}, statistics(type, {})});
    const int y = pool_.back().node;
    add({"LayerNormGrad", {like({y, 0}), x, fresh(u, inner), {y, 1}, {y, 2}}});
  }
  void group_norm() {
    const DType type = product_type(), u = coin() ? DType::kFloat32 : DType::kFloat16;
    const int64_t groups = extent(1, 4), channels = groups * extent(1, 6);
    const Port x = fresh(type, {extent(1, 3), extent(1, 4), extent(1, 4), channels});
    add({"GroupNorm",
         {x, fresh(u, Shape{channels}), fresh(u, Shape{channels})},
         statistics(type, {{"groups", groups}})});
    const int y = pool_.back().node;
    add({"GroupNormGrad", {like({y, 0}), x, fresh(u, Shape{channels}), {y, 1}, {y, 2}}, {{"groups", groups}}});
  }
  DType any_type() {
    return one_of(std::vector<DType>{DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kInt32,
                                     DType::kBool});
  }
  void reshape() {
    const Port x = of_type(any_type());
    add({"Reshape", {x}, {{"shape", Ints{-1}}}});
    add({"ExpandDims", {x}, {{"axis", extent(0, shape_of(x).rank())}}});
    const Port wide = pool_.back();
    add({"Squeeze", {wide}});
  }
  void rearrange() {
    const Port x = of_type(any_type());
    Ints perm;
    for (int a = 0; a < shape_of(x).rank(); ++a) perm.push_back(a);
    shuffle(perm, random_);
    add({"Transpose", {x}, {{"perm", perm}}});
    Ints multiples(perm.size());
    for (int64_t& m : multiples) m = extent(1, 2);
    add({"Tile", {x}, {{"multiples", multiples}}});
  }
  void join() {
    const Port x = of_type(any_type(), 1);
    add({"ConcatV2", {x, like(x), x}, {{"axis", extent(0, shape_of(x).rank() - 1)}}});
    add({"Pack", {x, like(x)}, {{"axis", extent(0, shape_of(x).rank())}}});
  }
  void split() {
    const Port x = of_type(any_type(), 1);
    const int64_t axis = extent(0, shape_of(x).rank() - 1), n = shape_of(x)[static_cast<int>(axis)];
    if (n == 0) return;
    add({"Split", {x}, {{"axis", axis}, {"num_split", n}}});
    const int64_t first = extent(0, n);
    add({"SplitV", {x}, {{"axis", axis}, {"size_splits", Ints{first, n - first}}}});
    add({"Unpack", {x}, {{"axis", axis}, {"num", n}}});
  }
  void pad() {
    const Port x = of_type(any_type());
    Ints paddings(2 * static_cast<size_t>(shape_of(x).rank()));
    for (int64_t& p : paddings) p = extent(0, 2);
    add({"Pad", {x}, {{"paddings", paddings}, {"constant_value", coin() ? 1.0 : 0.0}}});
  }
  void slice() {
    const Port x = of_type(any_type());
    Ints begin, size, end, strides;
    for (int a = 0; a < shape_of(x).rank(); ++a) {
      const int64_t n = shape_of(x)[a];
      begin.push_back(extent(0, n));
      size.push_back(extent(0, n - begin.back()));
      end.push_back(extent(-n, n));
      strides.push_back(coin() ? extent(1, 3) : -extent(1, 3));
    }
    add({"Slice", {x}, {{"begin", begin}, {"size", size}}});
    add({"StridedSlice", {x}, {{"begin", begin}, {"end", end}, {"strides", strides}}});
  }
  void gather() {
    const Port x = of_type(product_type(), 1);
    const int64_t axis = extent(0, shape_of(x).rank() - 1), n = shape_of(x)[static_cast<int>(axis)];
    if (n == 0) return;
    add({"GatherV2",
         {x, fresh(DType::kInt32, shape(0, 2), [&] { return static_cast<double>(extent(0, n - 1)); })},
         {{"axis", axis}}});
    const int64_t segments = extent(1, 4);
    add({"UnsortedSegmentSum",
         {x,
          fresh(DType::kInt32, Shape{shape_of(x)[0]}, [&] { return static_cast<double>(extent(-1, segments - 1)); })},
         {{"num_segments", segments}}});
    add({"OneHot",
         {fresh(DType::kInt32, shape(0, 2), [&] { return static_cast<double>(extent(-1, 5)); })},
         {{"depth", int64_t{5}}, {"dtype", product_type()}}});
  }
  void pass_through() {
    const Port x = of_type(any_type());
    add({"Identity", {x}});
    add({"StopGradient", {x}});
  }
  void add_n() {
    const Port x = of_type(product_type());
    add({"AddN", {x, like(x), like(x)}});
  }
  void integers() {
    const Port x = of_type(DType::kInt32);
    add({one_of(std::vector<const char*>{"Neg", "Abs"}), {x}});
    add({shape_of(x).elements() > 0 ? one_of(std::vector<const char*>{"Sum", "Max", "Min"}) : "Sum",
         {x},
         {{"axes", axes_of(shape_of(x))}}});
  }

  void update() {
    const Port var = of_type(product_type());
    const DType slot_type = coin() ? dtype_of(var) : product_type();
    const auto sibling = [&](DType type) {
      return some([&](const TensorType& t) { return t.dtype == type && t.shape == shape_of(var); }, type,
                  shape_of(var));
    };
    const Port slot = sibling(slot_type), second = sibling(slot_type), grad = sibling(product_type());
    const auto fraction = [&] { return static_cast<double>(below(1001)) / 1000; };
    const Port rate = fresh(DType::kFloat32, Shape{}, [&] {
      const double value = fraction();
      return std::ldexp(value, -static_cast<int>(below(12)));
    });
    const Port decay = fresh(DType::kFloat32, Shape{}, [&] { return coin() ? 0.0 : fraction() / 100; });
    const Port apply = fresh(DType::kBool, Shape{}, [&] { return below(5) == 0 ? 0.0 : 1.0; });
    const double first = fraction(), other = fraction(), epsilon = std::ldexp(1.0, -static_cast<int>(below(30)));
    switch (below(4)) {
      case 0: add({"ApplyGradientDescent", {var, rate, grad, apply}}); break;
      case 1:
        add({"ApplyMomentum", {var, slot, rate, grad, apply}, {{"momentum", first}, {"use_nesterov", other < 0.5}}});
        break;
      case 2:
        add({"ApplyRMSProp",
             {var, slot, second, rate, grad, apply},
             {{"rho", first}, {"momentum", other}, {"epsilon", epsilon}}});
        break;
      default:
        add({"ApplyAdam",
             {var, slot, second, rate, decay, grad, apply},
             {{"beta1", first}, {"beta2", other}, {"epsilon", epsilon}}});
    }
  }
  void all_finite() {
    const Port x = of_type(product_type());
    add({"AllFinite", {x, of_type(dtype_of(x))}});
  }

  std::mt19937_64 random_;
  GraphBuilder builder_;
  std::map<std::string, Tensor> feeds_;
  std::vector<Port> pool_;
  size_t constants_ = 0;

 public:
  bool specials_ = true;  ///< infinities, NaNs, subnormals and wide ranges among the numbers
};

}  // namespace softamp::test
