// The test rows of the random operations, a row for each: the ranges that the suites try it with, and, of one that
// rounds nothing, its value. Beside the suites over all operations (node_rows.h), these iterate them:
//
//   its body on every instruction set, threads     tests/emu/random_ops_test.cpp
//   both engines, every preset, size, seed         tests/backend/parity_random.cpp
//   the model of its arithmetic                    tests/graph/models/model_random_test.cpp
#pragma once

#include <climits>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "softamp/graph/operation.h"

namespace softamp::test {

struct RandomRow {
  using Real = long double;

  std::string op;
  std::vector<Attributes> ranges;  ///< without dtype and shape; the first is one for random graphs
  /// The value of a lane, of an operation that rounds nothing; of the others none is given, and they have a dtype.
  std::function<Real(uint32_t lane, const Attributes& range)> value = {};

  /// The attributes of every dtype that it can make, in this range and shape.
  std::vector<Attributes> nodes(const Attributes& range, const Shape& shape) const {
    std::vector<Attributes> all;
    for (const DType t : types()) {
      all.push_back(range);
      all.back()["shape"] = shape;
      if (!value) all.back()["dtype"] = t;
    }
    return all;
  }
  std::vector<DType> types() const {
    const Operation& o = operation(op);
    return value ? std::vector<DType>{*parse_dtype(o.outputs[0].type)} : o.attributes[0].types;
  }
};

inline const std::vector<RandomRow>& random_rows() {
  using Number = RandomRow::Real;
  static const auto number = [](const Attributes& a, const char* name) {
    return static_cast<Number>(std::get<double>(a.find(name)->second));
  };
  static const auto integer = [](const Attributes& a, const char* name) {
    return static_cast<Number>(std::get<int64_t>(a.find(name)->second));
  };
  static const auto uniform = [](double low, double high) { return Attributes{{"minval", low}, {"maxval", high}}; };
  static const auto integers = [](int64_t low, int64_t high) { return Attributes{{"minval", low}, {"maxval", high}}; };
  static const auto normal = [](double mean, double sd) { return Attributes{{"mean", mean}, {"stddev", sd}}; };
  static const auto truth = [](double p) { return Attributes{{"probability", p}}; };
  // Usual ones; an overflow; results below the normal numbers; no width at all.
  static const std::vector<Attributes> normals = {normal(0, 1), normal(3.3, 0.07), normal(0, 3e38), normal(1, 1e-39),
                                                  normal(0.5, 0)};
  static const std::vector<RandomRow> kRows = {
      {"RandomUniform",
       {uniform(0, 1), uniform(-3, 1e5), uniform(-70000.1, 70000.3), uniform(0, 1e-6), uniform(0, 1e-38)}},
      {"RandomStandardNormal", normals},
      {"TruncatedNormal", normals},
      // Of long double's 64 bits, the product needs all.
      {"RandomUniformInt",
       {integers(-7, 1000), integers(0, 10), integers(INT32_MIN, INT32_MAX), integers(-3, -2)},
       [](uint32_t lane, const Attributes& a) {
         const Number low = integer(a, "minval"), high = integer(a, "maxval");
         return low + std::floor(std::ldexp(lane * (high - low), -32));
       }},
      {"RandomBernoulli",
       {truth(0.7), truth(0), truth(0x1p-1074), truth(0x1p-32), truth(0.1), truth(0.5), truth(1 - 0x1p-33), truth(1)},
       [](uint32_t lane, const Attributes& a) {
         return std::ldexp(static_cast<Number>(lane), -32) < number(a, "probability") ? 1 : 0;
       }},
  };
  return kRows;
}

}  // namespace softamp::test
