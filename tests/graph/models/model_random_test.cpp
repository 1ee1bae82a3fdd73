// Random values: ranges, moments, distributions, addresses. Seeds are fixed, so nothing here fails by chance; bounds
// are those that a right generator passes with probability 1 - 6e-7 (five standard deviations) or 1 - 1e-6.
#include "tests/comma_locale.h"
#include "tests/graph/models/model_run.h"
#include "tests/ops/named_rows.h"
#include "tests/ops/random_rows.h"
#include "tests/oracle/tensor_model_elementwise.h"
#include "tests/oracle/tensor_order.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

using namespace oracle::model;
namespace order = oracle::order;

[[maybe_unused]] const ::testing::Environment* const kCoversRandom = covers(random_rows());

constexpr int64_t kCount = 100000;

Tensor draw(const std::string& op, DType t, int64_t n, double a, double b, const Mode& mode, uint64_t seed = 7) {
  const bool uniform = op == "RandomUniform";
  return std::move(
      run_operation(
          op, {},
          {{"dtype", t}, {"shape", Shape{n}}, {uniform ? "minval" : "mean", a}, {uniform ? "maxval" : "stddev", b}},
          options_of(mode, seed))
          .outputs[0]);
}

struct Moments {
  Real mean = 0, second = 0;
};
Moments moments(const Tensor& x) {
  Moments m;
  for (int64_t i = 0; i < x.elements(); ++i) {
    const Real v = x.value(i);
    m.mean += v / static_cast<Real>(x.elements());
    m.second += v * v / static_cast<Real>(x.elements());
  }
  return m;
}

/// The Kolmogorov-Smirnov distance of x from a distribution function.
template <class F>
Real distance(const Tensor& x, const F& cdf) {
  std::vector<double> sorted = x.values();
  std::sort(sorted.begin(), sorted.end());
  const Real n = static_cast<Real>(sorted.size());
  Real most = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const Real f = cdf(static_cast<Real>(sorted[i]));
    most = std::fmax(most, std::fmax(f - static_cast<Real>(i) / n, static_cast<Real>(i + 1) / n - f));
  }
  return most;
}
/// P(sqrt(n) D > k) <= 2 exp(-2 k^2) (Massart's form of the inequality of Dvoretzky, Kiefer, Wolfowitz): 1e-6.
Real critical() { return std::sqrt(std::log(2e6L) / 2 / kCount); }

/// E of x^2 and x^4 of the normal distribution cut at +-2: 1 - 4 phi(2) / (2 Phi(2) - 1), and by parts.
struct Truncated {
  Real mass = 2 * normal_cdf(2) - 1, phi = std::exp(-2.0L) / std::sqrt(2 * 3.14159265358979323846264338327950288L);
  Real second = 1 - 4 * phi / mass, fourth = 3 * second - 2 * 8 * phi / mass;
};

TEST(ModelRandom, Moments) {
  const Real n = kCount;
  struct Case {
    std::string op;
    Real mean, second, fourth;
  };
  const Truncated cut;
  const Case cases[] = {{"RandomUniform", 0.5L, 1 / 3.0L, 1 / 5.0L},
                        {"RandomStandardNormal", 0, 1, 3},
                        {"TruncatedNormal", 0, cut.second, cut.fourth}};
  for (const Case& c : cases)
    for (const DType t : kFloats)
      for (const Mode& mode : {kModes[1], kModes[2]}) {
        const Tensor x = draw(c.op, t, kCount, 0, 1, mode);
        const Moments m = moments(x);
        // Rounding moves a value by a unit of its format at most, and so its mean: u = 2^(1 - digits) relatively. The
        // sample's mean varies by sqrt((second - mean^2) / n), its second moment by sqrt((fourth - second^2) / n).
        const Real u = std::ldexp(2.0L, -precision_of(t).digits);
        EXPECT_LT(std::fabs(m.mean - c.mean), 5 * std::sqrt((c.second - c.mean * c.mean) / n) + u)
            << c.op << name_of(t);
        EXPECT_LT(std::fabs(m.second - c.second),
                  5 * std::sqrt((c.fourth - c.second * c.second) / n) + 3 * u * c.second)
            << c.op << name_of(t);
      }
}

TEST(ModelRandom, Ranges) {
  for (const DType t : kFloats)
    for (const Mode& mode : kModes) {
      const Tensor u = draw("RandomUniform", t, kCount, -2.5, 3.25, mode);
      const Tensor cut = draw("TruncatedNormal", t, kCount, 1, 0.5, mode);
      for (int64_t i = 0; i < kCount; ++i) {
        ASSERT_GE(u.value(i), -2.5);
        ASSERT_LE(u.value(i), 3.25);
        ASSERT_GE(cut.value(i), 0);
        ASSERT_LE(cut.value(i), 2);
      }
    }
}

/// Of an operation that rounds nothing, every element is the row's value of its lane.
class ModelOfLanes : public RowTest<RandomRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, ModelOfLanes,
                         ::testing::ValuesIn(named(random_rows(),
                                                   [](const RandomRow& r) { return r.value != nullptr; })),
                         kNameOfRow);

TEST_P(ModelOfLanes, Agree) {
  const RandomRow& row = this->row();
  for (const Attributes& range : row.ranges) {
    const Tensor x =
        std::move(run_operation(row.op, {}, row.nodes(range, Shape{kCount})[0], options_of(kModes[1])).outputs[0]);
    for (int64_t i = 0; i < kCount; ++i) {
      const uint32_t lane = order::word_of(7, operation_id(0, 0), static_cast<uint64_t>(i));
      ASSERT_EQ(x.value(i), row.value(lane, range)) << row.op << " " << i;
    }
  }
}

TEST(ModelRandom, Distributions) {
  const Truncated cut;
  const Tensor u = draw("RandomUniform", DType::kFloat32, kCount, 0, 1, kModes[1]);
  const Tensor normal = draw("RandomStandardNormal", DType::kFloat32, kCount, 0, 1, kModes[1]);
  const Tensor truncated = draw("TruncatedNormal", DType::kFloat32, kCount, 0, 1, kModes[1]);
  EXPECT_LT(distance(u, [](Real x) { return x; }), critical());
  EXPECT_LT(distance(normal, [](Real x) { return normal_cdf(x); }), critical());
  EXPECT_LT(distance(truncated, [&](Real x) { return (normal_cdf(x) - normal_cdf(-2)) / cut.mass; }), critical());
  // And the test can tell: a normal distribution wider by 5 %, and the uncut one, are refused.
  EXPECT_GT(distance(normal, [](Real x) { return normal_cdf(x / 1.05L); }), critical());
  EXPECT_GT(distance(truncated, [](Real x) { return normal_cdf(x); }), critical());
}

/// Element i is the inverse distribution function at (lane + 1/2) / 2^32, of the lane that N70 addresses, within
/// ten units of fp32: math_normal.h states 2^-21.4 for its polynomials, 6.1 units at most; the logarithm inside (0.85
/// units, halved by the root), the root, the polynomial's last step and the last product add 2 at most; a unit more
/// where the distance crosses a power of two.
// tests: N70
TEST(ModelRandom, ValuesByAddress) {
  const Truncated cut;
  const Tensor u = draw("RandomUniform", DType::kFloat32, 4096, 0, 1, kModes[1], 12345);
  const Tensor normal = draw("RandomStandardNormal", DType::kFloat32, 4096, 0, 1, kModes[1], 12345);
  const Tensor truncated = draw("TruncatedNormal", DType::kFloat32, 4096, 0, 1, kModes[1], 12345);
  for (int64_t i = 0; i < 4096; ++i) {
    const uint32_t word = order::word_of(12345, operation_id(0, 0), static_cast<uint64_t>(i));
    EXPECT_EQ(u.value(i), static_cast<double>(word >> 8) * 0x1p-24);
    const Real p = (static_cast<Real>(word) + 0.5L) * 0x1p-32L;
    // Whether the distribution function, ten units before the value and after it, has p in between.
    const auto check = [&](Real z, const auto& cdf) {
      const Real margin = 10 * unit(DType::kFloat32, z);
      EXPECT_LE(cdf(z - margin), p) << i << " " << z;
      EXPECT_GE(cdf(z + margin), p) << i << " " << z;
    };
    check(normal.value(i), [](Real z) { return normal_cdf(z); });
    check(truncated.value(i), [&](Real z) { return (normal_cdf(z) - normal_cdf(-2)) / cut.mass; });
  }
}

TEST(ModelRandom, AMessageHasItsNumbersAsTheyWereGiven) {
  const auto message = [](const char* op, double a, double b) {
    const std::string text = refusal<GraphError>([&] { draw(op, DType::kFloat32, 4, a, b, kModes[0]); });
    return text.substr(text.find(": ") + 2);
  };
  const CommaLocale locale;
  EXPECT_EQ(message("RandomUniform", 1.5, 1e-9), "minval is 1.5, maxval 1e-09; expected minval < maxval");
  EXPECT_EQ(message("RandomStandardNormal", 0, -1e-9), "stddev is -1e-09; expected 0 or more");
  EXPECT_EQ(message("RandomUniform", 0, 1e300), "attribute 'maxval' is 1e+300; expected a finite fp32 number");
}

/// Element i of [n] is element i of [m], m > n; seeds and operations differ.
TEST(ModelRandom, Addressed) {
  for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"})
    for (const DType t : kFloats)
      for (const Mode& mode : kModes) {
        const Tensor small = draw(op, t, 1001, 0, 1, mode), large = draw(op, t, 5003, 0, 1, mode);
        const Tensor other = draw(op, t, 1001, 0, 1, mode, 8);
        int64_t same = 0;
        for (int64_t i = 0; i < 1001; ++i) {
          ASSERT_EQ(small.code(i), large.code(i)) << op << " " << name_of(t) << " " << i;
          same += small.code(i) == other.code(i);
        }
        EXPECT_LT(same, 100) << op;
      }
}

/// Halves and brains are the fp32 values rounded once, stochastically by the bits of site 1.
TEST(ModelRandom, RoundedOnce) {
  for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"})
    for (const DType t : {DType::kFloat16, DType::kBFloat16})
      for (const Mode& mode : kModes) {
        const Tensor wide = draw(op, DType::kFloat32, 9000, 0.25, 1.5, kModes[0]);
        std::vector<uint64_t> codes;
        for (int64_t i = 0; i < wide.elements(); ++i)
          codes.push_back(
              code_of(t, order::rounded(t, wide.value(i), mode, {7, operation_id(0, 1)}, static_cast<uint64_t>(i))));
        expect_codes(draw(op, t, 9000, 0.25, 1.5, mode), codes, std::string(op) + " " + name_of(t) + " " + mode.name);
      }
}

}  // namespace
}  // namespace softamp::test
