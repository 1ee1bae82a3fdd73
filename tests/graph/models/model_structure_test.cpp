// Operations that move elements, and those that bring them in or hand them on, against the model library: every dtype,
// every code, NaN patterns and all.
#include "tests/graph/models/model_run.h"
#include "tests/oracle/tensor_model_structure.h"

namespace softamp::test {
namespace {

using namespace oracle::model;

[[maybe_unused]] const ::testing::Environment* const kCoversStructure = covers(
    {"Transpose", "Slice",        "Pad",         "Tile",           "StridedSlice", "Reshape", "ExpandDims", "Squeeze",
     "Identity",  "StopGradient", "PrintTensor", "OutfeedEnqueue", "ConcatV2",     "SplitV",  "Split",      "Pack",
     "Unpack",    "GatherV2",     "OneHot",      "Const",          "VariableV2",   "Assign",  "Placeholder"});

const DType kAll[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kBool};

Tensor any(DType t, const Ints& shape, uint64_t seed) { return random_tensor(t, shape, Data::kAny, seed); }

void expect_places(const Tensor& got, const Tensor& in, const Places& model, uint64_t outside,
                   const std::string& what) {
  ASSERT_EQ(Ints(got.shape().begin(), got.shape().end()), model.shape) << what;
  for (int64_t i = 0; i < got.elements(); ++i) {
    const int64_t from = model.from[static_cast<size_t>(i)];
    ASSERT_EQ(got.code(i), from < 0 ? outside : in.code(from)) << what << " element " << i;
  }
}

void expect_places(const std::string& op, const Ints& shape, const Attributes& attributes, const Places& model) {
  for (const DType t : kAll) {
    const std::vector<Tensor> in = list(any(t, shape, 1));
    expect_places(run_operation(op, in, attributes, kModes[2])[0], in[0], model, 0, op + " " + name_of(t));
  }
}

TEST(ModelStructure, Transpose) {
  Mixer mix(1);
  for (int i = 0; i < 40; ++i) {
    Ints shape, perm;
    const int64_t rank = mix.between(0, 5);
    for (int64_t a = 0; a < rank; ++a) {
      shape.push_back(mix.between(i == 7 ? 0 : 1, rank < 3 ? 40 : 6));
      perm.insert(perm.begin() + mix.below(a + 1), a);
    }
    expect_places("Transpose", shape, {{"perm", perm}}, transpose(shape, perm));
  }
}

// tests: N210
TEST(ModelStructure, Slices) {
  Mixer mix(2);
  for (int i = 0; i < 40; ++i) {
    Ints shape, begin, size, paddings, multiples, from, to, step;
    const int64_t rank = mix.between(1, 4);
    for (int64_t a = 0; a < rank; ++a) {
      shape.push_back(mix.between(1, 7));
      begin.push_back(mix.between(0, shape.back()));
      size.push_back(mix.between(-1, shape.back() - begin.back()));
      paddings.push_back(mix.between(0, 3));
      paddings.push_back(mix.between(0, 2));
      multiples.push_back(mix.between(0, 3));
    }
    expect_places("Slice", shape, {{"begin", begin}, {"size", size}}, slice(shape, begin, size));
    expect_places("Pad", shape, {{"paddings", paddings}}, pad(shape, paddings));
    expect_places("Tile", shape, {{"multiples", multiples}}, tile(shape, multiples));
    const int64_t given = mix.between(0, rank), begin_mask = mix.below(16), end_mask = mix.below(16);
    int64_t shrink = mix.below(16) & mix.below(16);
    for (int64_t a = 0; a < given; ++a) {
      const int64_t extent = shape[static_cast<size_t>(a)];
      from.push_back(mix.between(-extent - 3, extent + 3));
      if (shrink >> a & 1) from.back() = mix.between(-extent, extent - 1);
      to.push_back(mix.between(-extent - 3, extent + 3));
      step.push_back(mix() & 1 ? mix.between(1, 3) : -mix.between(1, 3));
    }
    expect_places("StridedSlice", shape,
                  {{"begin", from},
                   {"end", to},
                   {"strides", step},
                   {"begin_mask", begin_mask},
                   {"end_mask", end_mask},
                   {"shrink_axis_mask", shrink}},
                  strided_slice(shape, from, to, step, begin_mask, end_mask, shrink));
  }
  for (const DType t : kFloats) {  // a constant is rounded to nearest even
    const std::vector<Tensor> in = list(any(t, {2, 3}, 3));
    expect_places(run_operation("Pad", in, {{"paddings", Ints{1, 0, 2, 1}}, {"constant_value", 0.1}}, kModes[2])[0],
                  in[0], pad({2, 3}, {1, 0, 2, 1}), code_of(t, nearest(t, 0.1)), "Pad");
  }
}

/// Row-major order stays: only extents change.
TEST(ModelStructure, NewShapes) {
  struct Case {
    std::string op;
    Ints shape;
    Attributes attributes;
    Ints out;
  };
  const std::vector<Case> cases = {{"Reshape", {2, 6}, {{"shape", Ints{3, -1}}}, {3, 4}},
                                   {"Reshape", {1}, {{"shape", Ints{}}}, {}},
                                   {"Reshape", {0, 4}, {{"shape", Ints{2, 0}}}, {2, 0}},
                                   {"ExpandDims", {2, 3}, {{"axis", int64_t{1}}}, {2, 1, 3}},
                                   {"ExpandDims", {2, 3}, {{"axis", int64_t{-1}}}, {2, 3, 1}},
                                   {"Squeeze", {1, 2, 1, 3}, {}, {2, 3}},
                                   {"Squeeze", {1, 2, 1, 3}, {{"squeeze_dims", Ints{-2}}}, {1, 2, 3}},
                                   {"Identity", {3, 5}, {}, {3, 5}},
                                   {"StopGradient", {3, 5}, {}, {3, 5}},
                                   {"PrintTensor", {3, 5}, {}, {3, 5}},
                                   {"OutfeedEnqueue", {3, 5}, {{"queue", std::string("q")}}, {3, 5}}};
  for (const Case& c : cases)
    for (const DType t : kAll) {
      const std::vector<Tensor> in = list(any(t, c.shape, 4));
      ExecutorOptions options = options_of(kModes[1]);
      options.print = [](const std::string&) {};
      const Tensor got = std::move(run_operation(c.op, in, c.attributes, options).outputs[0]);
      EXPECT_EQ(Ints(got.shape().begin(), got.shape().end()), c.out) << c.op;
      for (int64_t i = 0; i < in[0].elements(); ++i) ASSERT_EQ(got.code(i), in[0].code(i)) << c.op;
    }
}

/// Parts put together along an axis, old (ConcatV2) or new (Pack); and taken apart again.
TEST(ModelStructure, PartsOfAnAxis) {
  Mixer mix(5);
  for (int i = 0; i < 30; ++i)
    for (const DType t : kAll) {
      const int64_t rank = mix.between(1, 4), axis = mix.below(rank), parts = mix.between(1, 4);
      Ints shape, sizes;
      for (int64_t a = 0; a < rank; ++a) shape.push_back(mix.between(1, 5));
      std::vector<Tensor> in;
      int64_t total = 0;
      for (int64_t p = 0; p < parts; ++p) {
        sizes.push_back(mix.between(0, 4));
        total += sizes.back();
        shape[static_cast<size_t>(axis)] = sizes.back();
        in.push_back(any(t, shape, mix()));
      }
      const Tensor whole = std::move(run_operation("ConcatV2", in, {{"axis", axis - rank}}, kModes[1])[0]);
      shape[static_cast<size_t>(axis)] = total;
      ASSERT_EQ(Ints(whole.shape().begin(), whole.shape().end()), shape);
      const Array places_of_whole(shape);
      for (int64_t k = 0; k < whole.elements(); ++k) {
        Ints at = places_of_whole.index(k);
        size_t p = 0;
        for (; at[static_cast<size_t>(axis)] >= sizes[p]; ++p) at[static_cast<size_t>(axis)] -= sizes[p];
        Ints own = shape;
        own[static_cast<size_t>(axis)] = sizes[p];
        ASSERT_EQ(whole.code(k), in[p].code(Array(own).place(at)));
      }
      const std::vector<Tensor> apart =
          run_operation("SplitV", list(whole.clone()), {{"size_splits", sizes}, {"axis", axis}}, kModes[1]);
      for (size_t p = 0; p < in.size(); ++p) EXPECT_TRUE(apart[p].same_bits(in[p]));

      Ints equal = shape;
      equal[static_cast<size_t>(axis)] = 2;
      in.clear();
      for (int64_t p = 0; p < parts; ++p) in.push_back(any(t, equal, mix()));
      const Tensor joined = std::move(run_operation("ConcatV2", in, {{"axis", axis}}, kModes[1])[0]);
      const std::vector<Tensor> halves =
          run_operation("Split", list(joined.clone()), {{"num_split", parts}, {"axis", axis}}, kModes[1]);
      const int64_t fresh = mix.between(0, rank);
      const Tensor packed = std::move(run_operation("Pack", in, {{"axis", fresh}}, kModes[1])[0]);
      const std::vector<Tensor> unpacked =
          run_operation("Unpack", list(packed.clone()), {{"num", parts}, {"axis", fresh}}, kModes[1]);
      Ints stacked = equal;
      stacked.insert(stacked.begin() + fresh, parts);
      const Array at(stacked);
      for (int64_t k = 0; k < packed.elements(); ++k) {
        Ints index = at.index(k);
        const size_t p = static_cast<size_t>(index[static_cast<size_t>(fresh)]);
        index.erase(index.begin() + fresh);
        ASSERT_EQ(packed.code(k), in[p].code(Array(equal).place(index)));
      }
      for (size_t p = 0; p < in.size(); ++p) {
        EXPECT_TRUE(halves[p].same_bits(in[p]));
        EXPECT_TRUE(unpacked[p].same_bits(in[p]));
      }
    }
}

// tests: N210
TEST(ModelStructure, GatherAndOneHot) {
  Mixer mix(6);
  for (int i = 0; i < 30; ++i) {
    Ints shape, indices_shape;
    const int64_t rank = mix.between(1, 3), axis = mix.below(rank), more = mix.between(0, 2);
    for (int64_t a = 0; a < rank; ++a) shape.push_back(mix.between(1, 6));
    for (int64_t a = 0; a < more; ++a) indices_shape.push_back(mix.between(1, 4));
    Tensor indices(DType::kInt32, Shape(std::span<const int64_t>(indices_shape)));
    Ints chosen;
    for (int64_t k = 0; k < indices.elements(); ++k) {
      chosen.push_back(mix.below(shape[static_cast<size_t>(axis)]));
      set_code(indices, k, static_cast<uint64_t>(chosen.back()));
    }
    for (const DType t : kAll) {
      std::vector<Tensor> in = list(any(t, shape, mix()));
      in.push_back(indices.clone());
      expect_places(run_operation("GatherV2", in, {{"axis", axis}}, kModes[1])[0], in[0],
                    gather(shape, indices_shape, chosen, axis), 0, "GatherV2");
      // One hot: of indices that may lie outside.
      const int64_t depth = mix.between(0, 5), where = mix.between(-1, more);
      const Tensor hot = std::move(run_operation("OneHot", list(indices.clone()),
                                                 {{"depth", depth}, {"axis", where}, {"dtype", t}}, kModes[1])[0]);
      Ints out = indices_shape;
      const int64_t at = where < 0 ? more : where;
      out.insert(out.begin() + at, depth);
      ASSERT_EQ(Ints(hot.shape().begin(), hot.shape().end()), out);
      for (int64_t k = 0; k < hot.elements(); ++k) {
        Ints index = Array(out).index(k);
        const int64_t own = index[static_cast<size_t>(at)];
        index.erase(index.begin() + at);
        ASSERT_EQ(decode(t, hot.code(k)), chosen[static_cast<size_t>(Array(indices_shape).place(index))] == own);
      }
    }
  }
}

/// Constants and variables are the tensors that they were given.
TEST(ModelStructure, Sources) {
  for (const DType t : kAll) {
    const Tensor value = any(t, {4, 3}, 9), other = any(t, {4, 3}, 10);
    GraphBuilder builder;
    builder.constant(value.clone(), "constant");
    builder.add("VariableV2", {}, {{"dtype", t}, {"shape", Shape{4, 3}}}, "variable");
    builder.add("Assign", {builder.placeholder("fed", t, Shape{4, 3})}, {{"ref", std::string("variable")}}, "assign");
    auto executor = make_executor(builder.build(), options_of(kModes[1]));
    executor->set_variable("variable", value);
    const std::vector<Feed> feeds = {{"fed", &other}};
    const std::vector<std::string> fetches = {"constant", "variable", "assign", "fed"};
    const RunResult first = executor->run(feeds, fetches);
    EXPECT_TRUE(first.values[0].same_bits(value));
    EXPECT_TRUE(first.values[1].same_bits(value));
    EXPECT_TRUE(first.values[2].same_bits(other));
    EXPECT_TRUE(first.values[3].same_bits(other));
    EXPECT_TRUE(executor->run(feeds, fetches).values[1].same_bits(other));
    for (const char* name : {"Const", "VariableV2", "Assign", "Placeholder"}) note_run(name);
  }
}

}  // namespace
}  // namespace softamp::test
