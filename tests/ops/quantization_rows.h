// The test rows of the operations of block formats (node_rows.h).
#pragma once

#include "tests/ops/node_row.h"

namespace softamp::test {

inline const std::vector<NodeRow>& quantization_rows() {
  using namespace rows_detail;
  const auto quantize = [](In in, const char* format, int64_t axis = -1) {
    return NodeRow{"FakeQuantize", {std::move(in)}, {{"format", std::string(format)}, {"axis", axis}}};
  };
  static const std::vector<NodeRow> kRows = {
      quantize({{3, 40}}, "mxfp8_e4m3"),
      quantize({{40, 3}}, "mxfp4:rounding=stochastic", 0),
      quantize({{2, 33, 5}}, "mxfp6_e2m3:scale_rule=rceil", 1),
      quantize({{4, 70}}, "mxint8"),
      quantize({{20, 35}}, "nvfp4_16x16"),
      quantize({{20, 35}}, "nvfp4_16x16:4over6=mae"),
      quantize({{5, 70}}, "nvfp4:4over6=mse"),
      quantize({{3, 40}}, "nvfp4:rounding=stochastic,bits=8"),
      quantize({{3, 130}}, "e4m3_1x128"),
      quantize({{130, 3}}, "e5m2_1x128:powers_of_two=true,rounding=stochastic", 0),
      quantize({{9, 31}}, "e4m3_tensor"),
      quantize({{9, 31}}, "e4m3_row:scale_rule=deepseek"),
      quantize({{7, 13}}, "e2m1"),
      {"FakeQuantize", {{{7, 13}}, constant({{}, 0.5, 2})}, {{"format", std::string("e4m3:rounding=stochastic")}}},
      {"HadamardTransform", {{{3, 35}}}, {{"signs", int64_t{0xD7E8}}}},
      {"HadamardTransform", {{{2, 18, 3}}}, {{"size", int64_t{8}}, {"axis", int64_t{1}}}},
      {"Fp8ScaleUpdate",
       {constant({{5}, 0, 4}), constant({{}, 0.5, 2}), constant({{}, 0, 3})},
       {{"format", std::string("e4m3")}}},
      {"Fp8ScaleUpdate",
       {constant({{5}, 0, 4}), constant({{}, 0.5, 2}), constant({{}, 0, 3})},
       {{"format", std::string("e5m2")},
        {"margin", int64_t{2}},
        {"amax_compute_algo", std::string("most_recent")},
        {"zero_keeps_history", false}}},
  };
  return kRows;
}

}  // namespace softamp::test
