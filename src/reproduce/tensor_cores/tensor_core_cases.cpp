#include "src/reproduce/tensor_cores/tensor_core_cases.h"

#include <bit>
#include <cmath>
#include <initializer_list>

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operations.h"

namespace softamp::reproduce::matrix_units {
namespace {

constexpr size_t kLength = 32;  ///< two groups of the longest

using Factors = std::vector<double>;

/// Products a[i] b[i], b = 1 where nothing else is said.
struct Case {
  std::string name;
  double exact;
  Factors a = Factors(kLength, 0.0), b = Factors(kLength, 1.0);
  bool refined = false;  ///< times 65504, to fp16

  Case& put(size_t i, double x, double y) {
    a[i] = x, b[i] = y;
    return *this;
  }
  double by(Unit unit) const {
    const double sum = static_cast<double>(sum_of(unit, a, b));
    return refined ? scaled(unit, sum) : sum;
  }
};

/// 1, and `count` products of 2^-bits in the next group.
Case tail(int count, int bits) {
  Case c{"1 + " + std::to_string(count) + " x 2^-" + std::to_string(bits), 1 + std::ldexp(count, -bits)};
  c.put(0, 1, 1);
  for (int i = 0; i < count; ++i) c.put(16 + static_cast<size_t>(i), 0x1p-12, std::ldexp(1.0, 12 - bits));
  return c;
}

/// 2^20 - 2^20, and 2^-8 as product `place` (0, 1, ...).
Case distant(size_t place) {
  Case c{"2^20 - 2^20 + 2^-8 as product " + std::to_string(place), 0x1p-8};
  c.put(0, 1024, 1024).put(1, -1024, 1024).put(place, 0x1p-8, 1);
  return c;
}

/// A residual 2^15 + t - 2^15 as in iterative refinement, scaled up by 65504: t = 2^-8 in four products of subnormal
/// and normal numbers, three of 1.25 2^-10, one of 0.25 2^-10. 2^15 2^-25 = 2^-10, so that a unit with F = 25 keeps
/// three times 2^-10, one with F = 24 nothing.
Case refinement() {
  Case c{"(2^15 + 2^-8 - 2^15) x 65504, to fp16", 255.875};
  c.put(0, 256, 128).put(15, -256, 128).put(7, 0x1p-15, 8);
  for (const size_t i : std::initializer_list<size_t>{4, 5, 6}) c.put(i, 0x1p-15, 40);
  c.refined = true;
  return c;
}

/// One judgement: what the publications say of this unit and this sum.
struct Expectation {
  size_t row;
  Unit unit;
  double value;
  std::string says;
};

}  // namespace

// implements: N327
void small_sums(Outcome& o) {
  std::vector<Case> cases = {refinement(), tail(4, 24), tail(8, 25), distant(3), distant(6), distant(12), distant(20)};
  Case direction{"1 + 1.5 x 2^-23", 1 + 1.5 * 0x1p-23};
  direction.put(0, 1, 1).put(16, 1.5 * 0x1p-11, 0x1p-12);
  cases.push_back(direction);
  // The subnormal 2^-24 counts as 2^-14 (times 2^-10) in the product's exponent: 2^-14 2^15, not 2^-9.
  Case subnormal{"2^-24 x 2^15 + 2^-12 x 2^-13", 0x1p-9 + 0x1p-25};
  subnormal.put(0, 0x1p-24, 0x1p15).put(1, 0x1p-12, 0x1p-13);
  cases.push_back(subnormal);

  Table t{"sums", "Sums of fp16 products, to fp32: vendor behaviour, reverse engineered", {"sum", "exact"}, {}};
  for (int u = 0; u < kUnits; ++u) t.columns.push_back(title_of(static_cast<Unit>(u)));
  for (const Case& c : cases) {
    std::vector<Json> row = {c.name, c.exact};
    for (int u = 0; u < kUnits; ++u) row.push_back(c.by(static_cast<Unit>(u)));
    t.rows.push_back(row);
  }

  const std::string fttn = " (FTTN's test; its inputs are not public to us, these are ours, after its description)";
  std::vector<Expectation> expected = {
      {0, Unit::kVolta, 0, "0 on V100" + fttn},
      {0, Unit::kAmpere, 0, "0 on A100" + fttn},
      {0, Unit::kHopper, 191.875, "191.875 on H100" + fttn},
      {0, Unit::kCdna1, 255.875, "255.875 on MI100" + fttn},
      {0, Unit::kCdna2, 0, "0 on MI250X" + fttn},
  };
  const auto bits = [&](size_t row, Unit unit, int f, int count, int low) {
    const bool kept = low <= f;
    expected.push_back({row, unit, kept ? 1 + std::ldexp(count, -low) : 1,
                        (kept ? "kept: F = " : "lost: F = ") + std::to_string(f) + " (MMA-Sim)"});
  };
  const auto group = [&](size_t row, Unit unit, size_t length, size_t place) {
    expected.push_back(
        {row, unit, place < length ? 0 : 0x1p-8,
         (place < length ? "lost: groups of " : "kept: groups of ") + std::to_string(length) + " (MMA-Sim)"});
  };
  struct Known {
    Unit unit;
    int fraction_bits;
    size_t group;
  };
  for (const Known& k : {Known{Unit::kVolta, 23, 4}, Known{Unit::kTuring, 24, 8}, Known{Unit::kAmpere, 24, 8},
                         Known{Unit::kAda, 24, 8}, Known{Unit::kHopper, 25, 16}, Known{Unit::kBlackwell, 25, 16}}) {
    bits(1, k.unit, k.fraction_bits, 4, 24);
    bits(2, k.unit, k.fraction_bits, 8, 25);
    for (const auto& [row, place] : {std::pair<size_t, size_t>{3, 3}, {4, 6}, {5, 12}, {6, 20}})
      group(row, k.unit, k.group, place);
    expected.push_back({7, k.unit, 1 + 0x1p-23, "1 + 2^-23: toward zero (Fasi et al.)"});
  }
  expected.push_back({7, Unit::kFp32Chain, 1 + 0x1p-22, "1 + 2^-22: to nearest, ties to even"});
  for (const Expectation& e : expected) {
    const double ours = cases[e.row].by(e.unit);
    o.checks.push_back({cases[e.row].name + ", " + title_of(e.unit), Against::kShape, shortest_decimal(ours), e.says,
                        ours == e.value});
  }
  o.tables.push_back(t);
}

void quarter_sums(Outcome& o) {
  constexpr Accumulator kFamilies[] = {Accumulator::kTensorCoreAda, Accumulator::kTensorCoreHopper,
                                       Accumulator::kTensorCoreBlackwell};
  const auto sum_of = [](Accumulator family, const Factors& a, const Factors& b) {
    const TensorCore core = tensor_core(family, kE4m3);
    const auto code = [](double x) {
      return static_cast<uint32_t>(fp::convert(kE4m3, kFp32, fp::from_double(kE4m3, x), Semantics::ieee()).code);
    };
    uint32_t sum = 0;
    for (size_t k = 0; k < a.size(); k += static_cast<size_t>(core.group)) {
      FusedGroup g;
      for (size_t i = k; i < k + static_cast<size_t>(core.group); ++i) g.add(core, code(a[i]), code(b[i]));
      sum = static_cast<uint32_t>(g.round(core, sum, Semantics::ieee()).code);
    }
    return static_cast<double>(std::bit_cast<float>(sum));
  };
  struct Quarter {
    std::string name;
    double exact;
    Factors a = Factors(kLength, 0.0), b = Factors(kLength, 1.0);
  };
  // 2^8 2^-13 = 2^-5: what 13 bits below 256 keep.
  Quarter bits{"256 + 16 x 2^-6", 256.25};
  bits.a[0] = bits.b[0] = 16;
  for (size_t i = 16; i < 32; ++i) bits.a[i] = bits.b[i] = 0x1p-3;
  Quarter group{"256 - 256 + 2^-6 as product 20", 0x1p-6};
  group.a[0] = group.b[0] = group.b[1] = 16, group.a[1] = -16;
  group.a[20] = group.b[20] = 0x1p-3;
  Quarter output{"1.5 + 0.5 + 2^-13", 2 + 0x1p-13};  // the sum has 14 fraction bits
  output.a[0] = 1.5, output.a[1] = 0.5, output.a[2] = 0x1p-9, output.b[2] = 0x1p-4;
  const std::vector<std::pair<Quarter, std::vector<double>>> all = {
      {bits, {256, 256, 256.25}}, {group, {0x1p-6, 0, 0x1p-6}}, {output, {2, 2, output.exact}}};
  const char* const says[] = {"F = 13, groups of 16, 13 fraction bits of the sum kept (MMA-Sim)",
                              "F = 13, groups of 32, 13 fraction bits of the sum kept (MMA-Sim)",
                              "F = 25, groups of 32 (MMA-Sim)"};
  Table t{"quarter-sums", "Sums of e4m3 products, to fp32", {"sum", "exact", "Ada", "Hopper", "Blackwell"}, {}};
  for (const auto& [q, expected] : all) {
    std::vector<Json> row = {q.name, q.exact};
    for (size_t f = 0; f < 3; ++f) {
      const double ours = sum_of(kFamilies[f], q.a, q.b);
      row.push_back(ours);
      o.checks.push_back({"e4m3, " + q.name + ", " + t.columns[2 + f], Against::kShape, shortest_decimal(ours), says[f],
                          ours == expected[f]});
    }
    t.rows.push_back(row);
  }
  o.tables.push_back(t);
}

// implements: N327
void falling_sums(Outcome& o) {
  // 1 - 2^-24 of three exact products, and then a group of products of 2^(-1-F), which count beside it: its exponent is
  // -1. Beside 1 they do not.
  Table t{"falling-sums",
          "c + n products of 2^(-1-F): the sum is greater where c is less",
          {"unit", "n", "product", "sum beside 1 - 2^-24", "sum beside 1"},
          {}};
  struct Known {
    Unit unit;
    int fraction_bits, group;
  };
  for (const Known& k : {Known{Unit::kVolta, 23, 4}, Known{Unit::kTuring, 24, 8}, Known{Unit::kAmpere, 24, 8},
                         Known{Unit::kAda, 24, 8}, Known{Unit::kHopper, 25, 16}, Known{Unit::kBlackwell, 25, 16}}) {
    double sums[2];
    for (const bool one : {false, true}) {
      Case c{"", 0};
      if (one)
        c.put(0, 1, 1);
      else
        c.put(0, 1 - 0x1p-11, 1).put(1, 0x1p-11, 1 - 0x1p-11).put(2, 3 * 0x1p-14, 0x1p-10);
      for (size_t i = 0; i < static_cast<size_t>(k.group); ++i)
        c.put(16 + i, 0x1p-12, std::ldexp(1.0, 11 - k.fraction_bits));
      sums[one] = c.by(k.unit);
    }
    t.rows.push_back({title_of(k.unit), k.group, std::ldexp(1.0, -1 - k.fraction_bits), sums[0], sums[1]});
    o.checks.push_back({std::string("a sum that falls as a term grows, ") + title_of(k.unit), Against::kShape,
                        shortest_decimal(sums[0]) + ", then " + shortest_decimal(sums[1]),
                        "sums are not normalised in between, and so not monotonic (Fasi et al.)",
                        sums[0] > sums[1] && sums[1] == 1});
  }
  o.tables.push_back(t);
}

}  // namespace softamp::reproduce::matrix_units
