// What each operation makes of inputs and attributes near to those of its test row: types, or the whole message with
// which it refuses them.
#include <functional>
#include <map>
#include <numeric>

#include "tests/kept_text.h"
#include "tests/ops/node_rows.h"
#include "tests/outcomes.h"

namespace softamp::test::inference_texts {
namespace {

using Extents = std::vector<int64_t>;

/// Lists that differ from this one in one number, or by one.
std::map<std::string, Extents> near(const Extents& list, const Extents& numbers) {
  std::map<std::string, Extents> all;
  const auto keep = [&](const Extents& changed) {
    if (changed != list) all[text_of(Attribute(changed))] = changed;
  };
  for (size_t i = 0; i < list.size(); ++i)
    for (const int64_t n : numbers) {
      Extents changed = list;
      changed[i] = n;
      keep(changed);
    }
  for (size_t i = 0; i < list.size(); ++i) {
    Extents changed = list;
    changed[i] += 1;
    keep(changed);
  }
  if (!list.empty()) {
    keep({list.begin() + 1, list.end()});
    keep({list.begin(), list.end() - 1});
  }
  for (const int64_t n : {1, 2}) {
    Extents changed = list;
    changed.push_back(n);
    keep(changed);
    changed = list;
    changed.insert(changed.begin(), n);
    keep(changed);
  }
  keep({});
  return all;
}

constexpr DType kTypes[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                            DType::kFloat64, DType::kInt32,    DType::kBool};

std::vector<Attribute> near(const AttributeSpec& spec, const Attribute& value) {
  std::vector<Attribute> all;
  switch (spec.kind) {
    case AttributeKind::kBool: return {!std::get<bool>(value)};
    case AttributeKind::kInt: {
      const int64_t v = std::get<int64_t>(value);
      for (const int64_t n : {v - 1, v + 1, -v, int64_t{-9}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{16},
                              int64_t{65536}, int64_t{65537}, int64_t{1} << 30, (int64_t{1} << 30) + 1,
                              (int64_t{1} << 31) - 1, int64_t{1} << 31, (int64_t{1} << 31) + 1, INT64_MAX, INT64_MIN})
        all.emplace_back(n);
      return all;
    }
    case AttributeKind::kFloat:
      for (const double n : {-1.0, -0.0, 0.0, 0x1p-149, 0.5, 1.0, 1.0 + 0x1p-52, 3.0, 64.0, 65.0, 0x1p31 - 1, 0x1p31,
                             -0x1p31, -0x1p31 - 1, 0x1.fffffep127, 1e39, HUGE_VAL, std::nan("")})
        all.emplace_back(n);
      return all;
    case AttributeKind::kString:
      for (const std::string& word : spec.choices) all.emplace_back(word);
      all.emplace_back(std::string());
      all.emplace_back("word");
      return all;
    case AttributeKind::kType:
      for (const DType t : kTypes) all.emplace_back(t);
      return all;
    case AttributeKind::kShape:
      for (const Shape& s : {Shape{}, Shape{0}, Shape{1 << 20, 1 << 20}, Shape{2, 3, 1}}) all.emplace_back(s);
      return all;
    case AttributeKind::kInts:
      for (const auto& [text, list] :
           near(std::get<Extents>(value), {-9, -1, 0, 1, 2, 1 << 24, (1 << 24) + 1, int64_t{1} << 31}))
        all.emplace_back(list);
      return all;
    case AttributeKind::kTensor: return {};
  }
  return {};
}

/// The outcomes of a row and of all that is near it.
class Nearby {
 public:
  Nearby(const NodeRow& row, Outcomes& outcomes) : row_(row), outcomes_(outcomes), attributes_(row.attributes) {
    const DType t = row_.types()[0];
    for (size_t i = 0; i < row_.inputs.size(); ++i) inputs_.push_back({row_.dtype(i, t), Shape(row_.inputs[i].shape)});
  }

  /// "AddV2 float16[] float16[2,1,3]"
  std::string head() const {
    std::string all = row_.op;
    for (const TensorType& in : inputs_) all += " " + in.text();
    return all;
  }

  void add_own() {
    std::string name = head();
    for (const auto& [key, value] : attributes_) name += " " + key + "=" + text_of(value).substr(0, 30);
    add(name);
  }
  void add_all() {
    add_own();
    change_shapes();
    change_dtypes();
    if (!inputs_.empty()) change_count();
    change_attributes();
  }

 private:
  void add(const std::string& change) {
    outcomes_.add(change, [&] {
      GraphBuilder b;
      std::vector<Port> ports;
      for (const TensorType& in : inputs_) ports.push_back(b.placeholder("x", in.dtype, in.shape));
      const Port p = b.add(row_.op, ports, attributes_, "y");
      std::string types;
      for (const TensorType& out : b.graph().node(p.node).outputs) types += (types.empty() ? "" : ", ") + out.text();
      return b.graph().nodes().back().outputs.size() > 100 ? "many" : types.empty() ? "no output" : types;
    });
  }

  void change_shapes() {
    const std::vector<TensorType> before = inputs_;
    for (size_t i = 0; i < before.size(); ++i) {
      const Extents own(before[i].shape.begin(), before[i].shape.end());
      for (const auto& [name, list] : near(own, {0, 1, 7, int64_t{1} << 29, int64_t{1} << 36})) {
        if (std::accumulate(list.begin(), list.end(), 1.0, std::multiplies<>()) > 0x1p40) continue;
        const Shape shape{std::span<const int64_t>(list)};
        inputs_[i].shape = shape;
        add("x" + std::to_string(i) + name);
        inputs_ = before;
        bool several = false;
        for (size_t k = 0; k < before.size(); ++k) {
          several = several || (k != i && before[k].shape == before[i].shape);
          if (before[k].shape == before[i].shape) inputs_[k].shape = shape;
        }
        if (several && i == first_like(before, i)) add("all x" + std::to_string(i) + name);
        inputs_ = before;
      }
    }
  }

  static size_t first_like(const std::vector<TensorType>& all, size_t i) {
    size_t k = 0;
    while (all[k].shape != all[i].shape) ++k;
    return k;
  }

  void change_dtypes() {
    const std::vector<TensorType> before = inputs_;
    for (size_t i = 0; i < before.size(); ++i)
      for (const DType t : kTypes) {
        if (t == before[i].dtype) continue;
        inputs_[i].dtype = t;
        add("x" + std::to_string(i) + " " + name_of(t));
        if (i == 0 && before.size() > 1) {
          for (TensorType& in : inputs_) in.dtype = t;
          add(std::string("all ") + name_of(t));
        }
        inputs_ = before;
      }
  }

  void change_count() {
    const std::vector<TensorType> before = inputs_;
    inputs_.pop_back();
    add("one less");
    inputs_ = before;
    inputs_.push_back(inputs_.back());
    add("one more");
    inputs_ = before;
  }

  void change_attributes() {
    GraphBuilder b;
    std::vector<Port> ports;
    for (const TensorType& in : inputs_) ports.push_back(b.placeholder("x", in.dtype, in.shape));
    const Port p = b.add(row_.op, ports, attributes_, "y");
    for (const char* unknown : {"N", "word", "layer"}) {
      attributes_[unknown] = true;
      add(std::string("an attribute ") + unknown);
      attributes_.erase(unknown);
    }
    const Attributes before = attributes_, all = b.graph().node(p.node).attributes;
    for (const AttributeSpec& spec : row_.operation().attributes) {
      const Attribute& value = all.at(spec.name);
      for (const Attribute& other : near(spec, value)) {
        if (equal(other, value)) continue;
        attributes_[spec.name] = other;
        add(spec.name + "=" + text_of(other));
        attributes_ = before;
      }
    }
  }

  const NodeRow& row_;
  Outcomes& outcomes_;
  std::vector<TensorType> inputs_;
  Attributes attributes_;
};

/// About limits that are far from every test row: what they hold, and the next.
std::vector<NodeRow> rows_about_limits() {
  using namespace rows_detail;
  constexpr int64_t k24 = 1 << 24, k28 = 1 << 28, k29 = 1 << 29, k34 = int64_t{1} << 34, k35 = int64_t{1} << 35;
  const Attribute one = Ints{1, 1, 1, 1}, same = "SAME", valid = "VALID", half = "half";
  const In vector{{3}}, matrix{{2, 3}};
  std::vector<NodeRow> all = {
      {"FakeQuantize", {{{4, 8}}}, {{"format", "nvfp4_16x16"}, {"axis", 0}}},
      {"FakeQuantize", {{{4, 8}}}, {{"format", "nvfp4_16x16"}, {"axis", 1}}},
      {"FakeQuantize", {{{4, 8}}, {{}}}, {{"format", "nvfp4"}}},
      {"FakeQuantize", {{{4, 8}}, {{}}}, {{"format", "e4m3"}}},
      {"FakeQuantize", {{{}}}, {{"format", "mxfp8_e4m3"}}},
      {"Fp8ScaleUpdate", {{{4}}, {{}}, {{}}}, {{"format", "mxfp8_e4m3"}}},
      {"Fp8ScaleUpdate", {{{4}}, {{}}, {{}}}, {{"format", "int8"}}},
      {"MatMul", {{{2, 3}}, {{3, 4}}, {{4}}}, {{"batch_sum", true}}},
      {"MatMul", {{{2, 3}, -2, 2, {}, DType::kFloat64}, {{3, 4}, -2, 2, {}, DType::kFloat64}, {{4}}}},
      {"MatMul", {{{2, 3}}, {{3, 4}}, {{3}}}},
  };
  for (const int64_t n : {k29, k29 + 1}) all.push_back({"Sum", {{{n}}}, {{"axes", Ints{0}}, {"accumulator", half}}});
  for (const int64_t n : {k28 - 1, k28}) {
    all.push_back({"LayerNorm", {{{2, n}}, {{n}}, {{n}}}, {{"begin_norm_axis", 1}, {"statistics", half}}});
    all.push_back({"GroupNorm", {{{2, n, 2}}, {{2}}, {{2}}}, {{"groups", 2}, {"statistics", half}}});
    for (const bool training : {false, true})
      all.push_back({"FusedBatchNormV3",
                     {{{n, 2}}, {{2}}, {{2}}, {{2}}, {{2}}},
                     {{"is_training", training}, {"statistics", half}}});
  }
  const auto steps = [](int64_t h, int64_t w) { return Attribute(Ints{1, h, w, 1}); };
  for (const auto& [input, filter] : {std::pair<Ints, Ints>{{1, 8, 8, 1}, {3, 3, 1, 1}},
                                      {{1, 3, 8, 1}, {3, 9, 1, 1}},
                                      {{1, 2, 9, 1}, {3, 9, 1, 1}},
                                      {{k34, 1, 1, 1}, {1, 1, 1, 1}},
                                      {{1, 1, 1, 1}, {0, 1, 1, 1}},
                                      {{1, 1, 1, 1}, {1, 0, 1, 1}},
                                      {{k29 - 1, 1, 1, 1}, {1, 1, 1, 1}},
                                      {{k29, 1, 1, 1}, {1, 1, 1, 1}},
                                      {{1, 1, 1, k29}, {1, 1, k29, 1}},
                                      {{1, 1, 1, k29 - 1}, {1, 1, k29 - 1, 1}},
                                      {{1, 1, 1, 1}, {1, 1, 1, k29}},
                                      {{1, 1, 1, 1}, {1, 1, 1, k35}},
                                      {{1, 1, 1, 1}, {1, 1, 1, k35 - 1}},
                                      {{1, 1, 1, k35}, {1, 1, k35, 1}},
                                      {{1, 4, 4, 1}, {k24, 1, 1, 1}},
                                      {{1, 4, 4, 1}, {1, k24, 1, 1}}})
    for (const char* op : {"Conv2D", "DepthwiseConv2dNative"})
      for (const Attribute& padding : {same, valid})
        for (const Attribute& wide :
             {one, steps(2, 1), steps(1, 3), steps(k24, 1), steps(k24 + 1, 1), steps(1, k24 + 1), steps(k24, k24)})
          all.push_back(
              {op, {{input}, {filter}}, {{"strides", steps(2, 3)}, {"dilations", wide}, {"padding", padding}}});
  for (const Ints& input :
       {Ints{1, 8, 8, 1}, Ints{1, 3, 2, 1}, Ints{1, 0, 4, 1}, Ints{k35, 1, 1, 1}, Ints{k35 - 1, 1, 1, 1}})
    for (const char* op : {"MaxPool", "AvgPool"})
      for (const Attribute& padding : {same, valid})
        for (const Attribute& size : {one, steps(3, 2), steps(3, 3), steps(4, 2), steps(k24, 1), steps(k24 + 1, 1),
                                      steps(1, k24 + 1), Attribute(Ints{2, 1, 1, 1}), Attribute(Ints{1, 1, 1, 2}),
                                      Attribute(Ints{1, 0, 1, 1}), Attribute(Ints{1, 1, 0, 1})})
          all.push_back({op, {{input}}, {{"ksize", size}, {"strides", steps(2, 1)}, {"padding", padding}}});
  for (const int64_t count : {65535, 65536, 65537}) {
    all.push_back({"Split", {{{int64_t{65536} * 65537}}}, {{"num_split", count}, {"axis", 0}}});
    all.push_back({"Unpack", {{{count}}}, {{"num", count}, {"axis", 0}}});
    all.push_back({"SplitV", {{{count}}}, {{"size_splits", Ints(static_cast<size_t>(count), 1)}, {"axis", 0}}});
  }
  return all;
}

TEST(Inference, NearTheRows) {
  Outcomes outcomes;
  std::string text;
  std::map<std::string, int> rows;
  for (const NodeRow& row : node_rows()) {
    if (++rows[row.op] > 1) continue;
    Nearby near(row, outcomes);
    near.add_all();
    text += near.head() + ": " + outcomes.digest();
  }
  for (const NodeRow& row : rows_about_limits()) Nearby(row, outcomes).add_own();
  text += "limits: " + outcomes.digest();
  expect_kept("graph/kept/inference.txt", text + outcomes.refusals(), outcomes.all());
}

}  // namespace
}  // namespace softamp::test::inference_texts
