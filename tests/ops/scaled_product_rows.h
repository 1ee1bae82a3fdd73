// The test rows of ScaledMatMul: every accumulation, formats of all families, mixed ones, both transposes, batches,
// partial last blocks, sums longer than one group or partial.
#pragma once

#include <string>
#include <vector>

#include "softamp/graph/operation.h"

namespace softamp::test {

struct ScaledProductRow {
  using Extents = std::vector<int64_t>;

  Extents a, b;
  Attributes attributes;
};

inline const std::vector<ScaledProductRow>& scaled_product_rows() {
  using Extents = ScaledProductRow::Extents;
  const auto row = [](Extents a, Extents b, std::string a_format, std::string b_format, std::string accumulation,
                      Attributes more = {}) {
    more["a_format"] = std::move(a_format);
    more["b_format"] = std::move(b_format);
    more["accumulation"] = std::move(accumulation);
    return ScaledProductRow{std::move(a), std::move(b), std::move(more)};
  };
  const auto sr = [](const std::string& name) { return name + ":rounding=stochastic,bits=8"; };
  const Attributes at{{"transpose_a", true}}, bt{{"transpose_b", true}},
      both{{"transpose_a", true}, {"transpose_b", true}};
  const std::string last = "partner_last", unfused = "unfused";
  static const std::vector<ScaledProductRow> kRows = {
      row({5, 70}, {70, 9}, "mxfp8_e4m3", "mxfp8_e4m3", "fp32_chain"),
      row({5, 70}, {9, 70}, "mxfp8_e4m3", "mxfp8_e5m2", "exact", bt),
      row({70, 5}, {70, 9}, "mxfp8_e5m2:scale_rule=rceil", "mxfp8_e4m3:scale_rule=rceil", "block", at),
      row({70, 5}, {9, 70}, "mxfp4", "mxfp6_e2m3", "block", both),
      row({33, 65}, {65, 40}, "mxfp4", "mxfp4", "block"),
      row({7, 300}, {300, 6}, "mxfp8_e4m3", "mxfp8_e4m3", "block"),
      row({7, 300}, {6, 300}, "mxfp8_e4m3", "mxfp8_e5m2", "hopper", bt),
      row({7, 300}, {300, 6}, "mxfp8_e4m3:block=256", "mxfp6_e3m2:block=256", "hopper",
          {{"promotion", last}, {"promote_every", int64_t{64}}}),
      row({3, 200}, {200, 4}, "mxfp4", "nvfp4", "hopper", {{"promotion", unfused}, {"promote_every", int64_t{0}}}),
      row({5, 70}, {70, 9}, "mxfp8_e4m3", "mxfp6_e3m2", "blackwell"),
      row({5, 150}, {150, 9}, "mxfp4", "mxfp4", "blackwell"),
      row({18, 150}, {20, 150}, "nvfp4", "nvfp4_16x16", "blackwell", bt),
      row({18, 50}, {50, 20}, "nvfp4", "nvfp4_16x16", "block"),
      row({18, 50}, {50, 20}, "nvfp4", "nvfp4:scale_rule=torchao", "fp32_chain"),
      row({18, 50}, {50, 20}, "nvfp4:4over6=mae", "nvfp4_16x16:4over6=mse", "block"),
      row({4, 50}, {50, 3}, "nvfp4:scale_rule=one_level", "mxint8", "exact"),
      row({6, 45}, {45, 17}, "mxint8", "mxint8", "block"),
      row({6, 45}, {45, 17}, "mxint8", "mxint8", "half_partials"),
      row({6, 45}, {45, 17}, "mxfp8_e4m3", "mxint8", "half_partials", {}),
      row({6, 80}, {80, 7}, sr("mxfp4"), sr("mxfp8_e4m3"), "fp32_chain"),
      row({80, 6}, {80, 7}, sr("nvfp4"), "nvfp4", "block", at),
      row({6, 80}, {80, 7}, "mxfp4:three_quarters=true,rounding=stochastic", "mxfp4", "block"),
      row({6, 260}, {7, 260}, "e4m3_1x128", "e4m3_128x128", "hopper", bt),
      row({6, 260}, {260, 7}, "e4m3_1x128", "e5m2_1x128", "block"),
      row({6, 100}, {100, 7}, "e4m3_tensor", "e5m2_row", "hopper"),
      row({6, 100}, {100, 7}, "e4m3_tensor", "e4m3", "blackwell"),
      row({6, 100}, {100, 7}, "e4m3_row:powers_of_two=true", "e5m2_tensor", "exact"),
      row({2, 5, 40}, {40, 6}, "mxfp8_e4m3", "mxfp8_e4m3", "block"),
      row({2, 1, 5, 40}, {3, 6, 40}, "nvfp4", "mxfp8_e4m3", "fp32_chain", bt),
      row({3, 40, 5}, {3, 40, 6}, "mxfp6_e2m3", "mxfp6_e2m3", "exact", at),
  };
  return kRows;
}

/// Rows that quantise nothing away where numbers are multiples of 2^-8 below 1/2, and gradients of 2^-6 below 2: the
/// real function that they compute is the product, as the suites over all operations take it.
inline const std::vector<ScaledProductRow>& exact_scaled_rows() {
  const auto row = [](ScaledProductRow::Extents a, ScaledProductRow::Extents b, const char* accumulation, bool ta,
                      bool tb) {
    return ScaledProductRow{std::move(a),
                            std::move(b),
                            {{"a_format", std::string("mxint8")},
                             {"b_format", std::string("mxint8")},
                             {"accumulation", std::string(accumulation)},
                             {"transpose_a", ta},
                             {"transpose_b", tb}}};
  };
  static const std::vector<ScaledProductRow> kRows = {
      row({2, 3}, {3, 4}, "fp32_chain", false, false), row({2, 3}, {4, 3}, "exact", false, true),
      row({3, 2}, {3, 4}, "block", true, false),       row({3, 2}, {4, 3}, "fp32_chain", true, true),
      row({2, 2, 3}, {3, 2}, "exact", false, false),   row({2, 1, 3}, {2, 2, 3}, "block", false, true)};
  return kRows;
}

/// Of a row's text, for messages.
inline std::string text_of(const ScaledProductRow& row) {
  const auto word = [&](const char* name) { return std::get<std::string>(row.attributes.at(name)); };
  return "ScaledMatMul " + Shape(row.a).text() + " " + Shape(row.b).text() + " " + word("a_format") + " " +
         word("b_format") + " " + word("accumulation");
}

}  // namespace softamp::test
