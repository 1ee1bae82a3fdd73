// The test rows of operations that move, choose or fill (node_rows.h).
#pragma once

#include <memory>

#include "tests/ops/node_row.h"

namespace softamp::test {

inline const std::vector<NodeRow>& structure_rows() {
  using namespace rows_detail;
  static const auto fixed = [] { return std::make_shared<const Tensor>(Tensor::full(DType::kFloat16, {3}, 0.1)); };
  static const std::vector<NodeRow> kRows = {
      {"Const", {}, {{"value", fixed()}}},
      {"Fill", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{2, 3}}, {"value", 0.1}}},
      {"VariableV2", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{2, 3}}}},
      {"Placeholder", {}, {{"dtype", DType::kFloat16}, {"shape", Shape{2, 3}}}},
      {"Identity", {{{2, 3}}}},
      {"StopGradient", {{{2, 3}}}},
      {"ZerosLike", {{{2, 3}}}},
      {"OnesLike", {{{2, 3}}}},
      {"Assign", {{{2, 3}}}, {{"ref", "held"}}},
      {"PrintTensor", {{{2, 3}}}},
      {"OutfeedEnqueue", {{{2, 3}}}, {{"queue", "q"}}},
      {"Reshape", {{{2, 3}}}, {{"shape", Ints{3, -1}}}},
      {"ExpandDims", {{{2, 3}}}, {{"axis", 1}}},
      {"Squeeze", {{{2, 1, 3, 1}}}, {{"squeeze_dims", Ints{1}}}},
      {"Transpose", {{{2, 3, 4}}}, {{"perm", Ints{2, 0, 1}}}},
      {"ConcatV2", {{{2, 3}}, {{2, 1}}, {{2, 2}}}, {{"axis", -1}}},
      {"ConcatV2", {{{2, 3}}}, {{"axis", 0}}},
      {"Pack", {{{2, 3}}, {{2, 3}}}, {{"axis", -1}}},
      {"Unpack", {{{3, 2}}}, {{"num", 3}}, true},
      {"Unpack", {{{3, 2}}}, {{"num", 2}, {"axis", -1}}},
      {"Split", {{{2, 6}}}, {{"num_split", 3}, {"axis", -1}}, true},
      {"Split", {{{4, 2}}}, {{"num_split", 2}, {"axis", 0}}},
      {"SplitV", {{{2, 6}}}, {{"size_splits", Ints{1, 0, 5}}, {"axis", 1}}, true},
      {"Pad", {{{2, 3}}}, {{"paddings", Ints{0, 1, 2, 0}}, {"constant_value", 1.0}}},
      {"Slice", {{{3, 4}}}, {{"begin", Ints{1, 0}}, {"size", Ints{-1, 2}}}},
      {"StridedSlice", {{{3, 4}}}, {{"begin", Ints{1, 0}}, {"end", Ints{3, 2}}, {"strides", Ints{1, 1}}}},
      {"StridedSlice", {{{2, 7}}}, {{"begin", Ints{0, 1}}, {"end", Ints{2, 7}}, {"strides", Ints{1, 3}}}},
      {"StridedSlice", {{{5, 4}}}, {{"begin", Ints{-1, 3}}, {"end", Ints{0, 0}}, {"strides", Ints{-2, -1}}}},
      {"StridedSlice",
       {{{5, 3}}},
       {{"begin", Ints{-2}}, {"end", Ints{0}}, {"strides", Ints{1}}, {"shrink_axis_mask", 1}}},
      {"StridedSlice",
       {{{5, 4, 2}}},
       {{"begin", Ints{0, 0}}, {"end", Ints{0, 0}}, {"strides", Ints{-3, 2}}, {"begin_mask", 3}, {"end_mask", 3}}},
      {"Tile", {{{2, 3}}}, {{"multiples", Ints{2, 3}}}},
      {"Tile", {{{2, 3, 2}}}, {{"multiples", Ints{1, 2, 1}}}},
      {"Tile", {{{1, 2, 1, 2, 1}}}, {{"multiples", Ints{2, 1, 2, 2, 3}}}},
      {"GatherV2", {{{4, 2}}, integers({2, 2}, {3, 0, 0, 1})}},
      {"GatherV2", {{{2, 4, 2}}, integers({3}, {1, 1, 2})}, {{"axis", 1}}},
      {"GatherV2", {{{2, 4}}, integers({}, {2})}, {{"axis", -1}}},
      {"OneHot", {integers({2, 3}, {0, 3, -1, 4, 2, 1})}, {{"depth", 4}, {"dtype", DType::kFloat16}}},
  };
  return kRows;
}

}  // namespace softamp::test
