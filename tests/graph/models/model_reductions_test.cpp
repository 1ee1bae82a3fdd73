// Reductions against the model library, and against the order of N140 and N142, bit for bit.
#include "tests/graph/models/model_run.h"
#include "tests/oracle/tensor_model_reductions.h"
#include "tests/oracle/tensor_order.h"

namespace softamp::test {
namespace {

using namespace oracle::model;
namespace order = oracle::order;

[[maybe_unused]] const ::testing::Environment* const kCoversReductions =
    covers({"Sum", "Mean", "Max", "Min", "ArgMax", "ArgMin", "L2Loss", "BiasAddGrad", "UnsortedSegmentSum"});

struct ReductionCase {
  Ints shape, axes;
  bool keep;
};
const std::vector<ReductionCase> kReductionCases = {
    {{7}, {}, false},         {{6, 50}, {1}, false},           {{50, 6}, {0}, true},    {{4, 33, 5}, {0, 2}, true},
    {{3, 5, 7}, {-2}, false}, {{2, 1100}, {-1}, false},        {{1100, 3}, {0}, false}, {{}, {}, true},
    {{0, 3}, {0}, false},     {{3, 2, 2, 3, 5}, {1, 3}, false}};

Attributes attributes_of(const ReductionCase& c) { return {{"axes", c.axes}, {"keep_dims", c.keep}}; }

std::vector<Tensor> one(DType t, const Ints& shape, Data data, uint64_t seed) {
  std::vector<Tensor> in;
  in.push_back(random_tensor(t, shape, data, seed));
  return in;
}

TEST(ModelReductions, SumsAndMeans) {
  for (const DType t : kFloats)
    for (const Mode& mode : kModes) {
      RoundedUp statistics;
      uint64_t seed = 0;
      for (const ReductionCase& c : kReductionCases)
        for (const Data data : {Data::kMiddle, Data::kBroad}) {
          const std::vector<Tensor> in = one(t, c.shape, data, ++seed);
          const Array x = load(in[0], mode);
          const Groups groups = reduce_groups(c.shape, c.axes, c.keep);
          expect_admitted(run_operation("Sum", in, attributes_of(c), mode)[0], reduce(x, groups, sum_in_any_order),
                          mode, "Sum " + in[0].shape().text(), &statistics);
          if (c.shape == Ints{0, 3}) continue;
          expect_admitted(run_operation("Mean", in, attributes_of(c), mode)[0],
                          reduce(x, groups,
                                 [](const std::vector<Range>& all) {
                                   return f32(f32(sum_in_any_order(all)) / count_of(all.size()));
                                 }),
                          mode, "Mean " + in[0].shape().text(), &statistics);
        }
      expect_probabilities(statistics, t, mode);
    }
}

// tests: N140
TEST(ModelReductions, HalfAccumulator) {
  for (const Mode& mode : kModes)
    for (const ReductionCase& c : kReductionCases) {
      const std::vector<Tensor> in = one(DType::kFloat16, c.shape, Data::kUnit, 3);
      const Groups groups = reduce_groups(c.shape, c.axes, c.keep);
      Attributes a = attributes_of(c);
      a["accumulator"] = std::string("half");
      // N140: an element is part of at most 31 sums of its lane, 5 of lanes, and one for each level of blocks.
      const auto depth = [](size_t n) { return 31 + 5 + static_cast<int64_t>(std::bit_width(n / 1024)); };
      expect_admitted(run_operation("Sum", in, a, mode)[0],
                      reduce(load(in[0], mode), groups,
                             [&](const std::vector<Range>& all) { return half_sum(all, depth(all.size()), mode); }),
                      mode, "Sum in halves");
    }
}

/// Integers: exact in every order, so a sum and a mean are one rounding of the exact value.
TEST(ModelReductions, IntegersAreExact) {
  for (const DType t : kFloats)
    for (const Mode& mode : kModes)
      for (const ReductionCase& c : kReductionCases) {
        if (c.shape == Ints{0, 3}) continue;
        const std::vector<Tensor> in = one(t, c.shape, Data::kIntegers, 5);
        const Groups groups = reduce_groups(c.shape, c.axes, c.keep);
        const auto exact = [](const std::vector<Range>& all) {
          Range s = Real{0};
          for (const Range& x : all) s = s + x;
          return s;
        };
        const Array sums = reduce(load(in[0], mode), groups, exact);
        expect_admitted(run_operation("Sum", in, attributes_of(c), mode)[0], sums, mode, "Sum of integers");
        expect_admitted(run_operation("Mean", in, attributes_of(c), mode)[0],
                        reduce(load(in[0], mode), groups,
                               [&](const std::vector<Range>& all) { return f32(exact(all) / count_of(all.size())); }),
                        mode, "Mean of integers");
      }
}

/// Sums of int32 wrap, of float64 are within (n - 1) 2^-53 sum |x|.
TEST(ModelReductions, OtherNumbers) {
  for (const ReductionCase& c : kReductionCases) {
    const Groups groups = reduce_groups(c.shape, c.axes, c.keep);
    std::vector<Tensor> in = one(DType::kInt32, c.shape, Data::kAny, 6);
    std::vector<uint64_t> codes;
    for (const auto& places : groups.places) {
      uint32_t s = 0;
      for (const int64_t p : places) s += static_cast<uint32_t>(in[0].code(p));
      codes.push_back(s);
    }
    expect_codes(run_operation("Sum", in, attributes_of(c), kModes[1])[0], codes, "Sum int32");
    in = one(DType::kFloat64, c.shape, Data::kMiddle, 7);
    const auto bounded = [](const std::vector<Range>& all) {
      Range s = Real{0};
      Real magnitude = 0;
      for (const Range& x : all) {
        s = s + x;
        magnitude += x.magnitude();
      }
      const Real n = static_cast<Real>(all.size()) * 0x1p-53L;
      return within(s, n / (1 - n) * magnitude);
    };
    const Array x = as_it_stands(in[0]);
    expect_admitted(run_operation("Sum", in, attributes_of(c), kModes[1])[0], reduce(x, groups, bounded), kModes[1],
                    "Sum float64");
    if (c.shape == Ints{0, 3}) continue;
    expect_admitted(run_operation("Mean", in, attributes_of(c), kModes[1])[0],
                    reduce(x, groups,
                           [&](const std::vector<Range>& all) {
                             const Range s = bounded(all);  // its ends as binary64 has them, then the quotient
                             return Range(nearest(DType::kFloat64, s.low), nearest(DType::kFloat64, s.high)) /
                                    Range(static_cast<Real>(all.size()));
                           }),
                    kModes[1], "Mean float64");
  }
}

// tests: N50, N143, N144
TEST(ModelReductions, ExtremaAndTheirPlaces) {
  const DType all[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kInt32};
  for (const DType t : all)
    for (const Mode& mode : kModes)
      for (const ReductionCase& c : kReductionCases)
        for (const Data data : {Data::kIntegers, Data::kWide, Data::kAny})
          for (const bool least : {false, true}) {
            if (c.shape == Ints{0, 3}) continue;
            std::vector<Tensor> in = one(t, c.shape, data, 8);
            if (is_floating(t) && data == Data::kAny)  // infinities aside: N50 leaves open what choosing one gives
              for (int64_t i = 0; i < in[0].elements(); ++i)
                if (std::isinf(decode(t, in[0].code(i))) || (i % 50 && std::isnan(decode(t, in[0].code(i)))))
                  set_code(in[0], i, i % 2 ? uint64_t{1} << (8 * size_of(t) - 1) : 0);
            if (mode.ipu && (t == DType::kBFloat16 || t == DType::kFloat64))  // see SubnormalsThatStay
              for (int64_t i = 0; i < in[0].elements(); ++i)
                if (std::fabs(decode(t, in[0].code(i))) < precision_of(t).least_normal) set_code(in[0], i, 0);
            const Array x = load(in[0], mode);
            const Groups groups = reduce_groups(c.shape, c.axes, c.keep);
            std::vector<uint64_t> codes, places;
            for (const auto& from : groups.places) {
              const std::vector<Range> e = elements_of(x, from);
              const int64_t p = place_of_extremum(e, least);
              const Range& r = e[static_cast<size_t>(p)];
              codes.push_back(code_of(t, r.nan ? NAN : r.low));
              places.push_back(static_cast<uint64_t>(p));
            }
            const std::string what = std::string(least ? "Min " : "Max ") + name_of(t) + " (" + mode.name + ") ";
            expect_codes(run_operation(least ? "Min" : "Max", in, attributes_of(c), mode)[0], codes,
                         what + in[0].shape().text());
            if (c.axes.size() == 1)
              expect_codes(
                  run_operation(least ? "ArgMin" : "ArgMax", in, {{"axis", c.axes[0]}, {"keep_dims", c.keep}}, mode)[0],
                  places, "place of " + what + in[0].shape().text());
          }
}

/// What is flushed under `ipu` are fp32 operands and results (N47). Formats of 9 to 16 bits follow the rules of fp16
/// (N59), whose subnormals are numbers; so bf16's are, to reductions as to products and to element-wise operations.
// tests: N47, N59
TEST(ModelReductions, SubnormalsThatStay) {
  for (const DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat64})
    for (const Mode& mode : kModes)
      for (const char* op : {"Sum", "Mean", "Max", "Min", "ArgMax"}) {
        std::vector<Tensor> in;
        in.push_back(Tensor(t, Shape{3}));
        for (int64_t i = 0; i < 3; ++i) set_code(in[0], i, i == 1 ? 9 : 6);
        const bool place = std::string(op) == "ArgMax";
        const Tensor out = std::move(run_operation(op, in, {}, mode)[0]);
        const uint64_t expected = place ? 1 : op[0] == 'S' ? 21 : op[1] == 'e' ? 7 : op[1] == 'a' ? 9 : 6;
        EXPECT_EQ(out.code(0), expected) << op << " " << name_of(t) << " (" << mode.name << ")";
      }
}

TEST(ModelReductions, LossAndBiasGradient) {
  for (const DType t : kFloats)
    for (const Mode& mode : kModes) {
      for (const Ints& shape : {Ints{40}, Ints{3, 700}, Ints{}}) {
        const std::vector<Tensor> in = one(t, shape, Data::kUnit, 9);
        std::vector<Range> squares;
        for (const Range& x : load(in[0], mode).at) squares.push_back(f32(square(x)));
        Array model((Ints()));
        model[0] = f32(f32(sum_in_any_order(squares)) * Range(0.5L));
        expect_admitted(run_operation("L2Loss", in, {}, mode)[0], model, mode, "L2Loss");
      }
      for (const Ints& shape : {Ints{60, 7}, Ints{3, 4, 5, 11}, Ints{2100, 3}, Ints{0, 4}}) {
        const std::vector<Tensor> in = one(t, shape, Data::kMiddle, 10);
        Ints axes;
        for (size_t a = 0; a + 1 < shape.size(); ++a) axes.push_back(static_cast<int64_t>(a));
        expect_admitted(run_operation("BiasAddGrad", in, {}, mode)[0],
                        reduce(load(in[0], mode), reduce_groups(shape, axes, false), sum_in_any_order), mode,
                        "BiasAddGrad");
      }
    }
}

void check_tree(const ReductionCase& c, DType t, const Mode& mode, uint64_t seed) {
  const std::vector<Tensor> in = one(t, c.shape, Data::kBroad, seed);
  const std::vector<Real> x = numbers(in[0], mode);
  const Groups groups = reduce_groups(c.shape, c.axes, c.keep);
  std::vector<uint64_t> sums, means, halves;
  for (const std::vector<int64_t>& places : groups.places) {
    std::vector<float> terms;
    for (const int64_t p : places) terms.push_back(static_cast<float>(x[static_cast<size_t>(p)]));
    const order::Site last{7, operation_id(1, 1)};
    const float sum = order::tree_sum(terms);
    const uint64_t index = sums.size();
    sums.push_back(code_of(t, order::rounded(t, sum, mode, last, index)));
    means.push_back(code_of(t, order::rounded(t, sum / static_cast<float>(terms.size()), mode, last, index)));
    if (t == DType::kFloat16 && !mode.stochastic && !mode.nanoo && mode.ipu)
      halves.push_back(code_of(t, order::half_tree_sum(terms, mode)));
  }
  const std::string what = in[0].shape().text() + " " + name_of(t) + " (" + mode.name + ")";
  expect_codes(run_operation("Sum", in, attributes_of(c), mode)[0], sums, "Sum " + what);
  expect_codes(run_operation("Mean", in, attributes_of(c), mode)[0], means, "Mean " + what);
  if (halves.empty()) return;
  Attributes half = attributes_of(c);
  half["accumulator"] = std::string("half");
  expect_codes(run_operation("Sum", in, half, mode)[0], halves, "Sum in halves " + what);
}

/// N140 on scalars: bits are demanded, of lengths around the ends of lanes and blocks, along rows, columns and between.
TEST(ModelReductions, TreeOrder) {
  for (const int64_t n : {1, 2, 31, 32, 33, 63, 65, 1000, 1023, 1024, 1025, 1056, 2048, 2049, 3073, 5000, 7171})
    for (const DType t : kFloats)
      for (const Mode& mode : kModes) {
        const uint64_t seed = static_cast<uint64_t>(n);
        check_tree({{2, n}, {1}, false}, t, mode, seed);
        check_tree({{n, 2}, {0}, false}, t, mode, seed);
        if (n > 2100 || !mode.ipu) continue;
        check_tree({{n, 37}, {0}, false}, t, mode, seed);
        check_tree({{2, n, 17}, {1}, true}, t, mode, seed);
        check_tree({{3, 4, (n + 2) / 3}, {0, 2}, false}, t, mode, seed);
      }
}

/// The sum over a batch (N142): chains over 1024 rows from +0, their sums added in ascending order.
// tests: N142
TEST(ModelReductions, BatchOrder) {
  for (const int64_t n : {1, 5, 1023, 1024, 1025, 2500, 4100})
    for (const DType t : kFloats)
      for (const Mode& mode : kModes) {
        const std::vector<Tensor> in = one(t, {n, 3}, Data::kBroad, static_cast<uint64_t>(n));
        const std::vector<Real> x = numbers(in[0], mode);
        std::vector<uint64_t> codes;
        for (int64_t o = 0; o < 3; ++o) {
          float total = 0;
          for (int64_t first = 0; first < n; first += 1024) {
            float partial = 0;
            for (int64_t i = first; i < std::min(n, first + 1024); ++i)
              partial += static_cast<float>(x[static_cast<size_t>(i * 3 + o)]);
            total = first == 0 ? partial : total + partial;
          }
          codes.push_back(
              code_of(t, order::rounded(t, total, mode, {7, operation_id(1, 0)}, static_cast<uint64_t>(o))));
        }
        expect_codes(run_operation("BiasAddGrad", in, {}, mode)[0], codes,
                     "BiasAddGrad " + in[0].shape().text() + " " + name_of(t) + " (" + mode.name + ")");
      }
}

TEST(ModelReductions, SegmentSums) {
  for (const DType t : kFloats)
    for (const Mode& mode : kModes) {
      std::vector<Tensor> in;
      in.push_back(random_tensor(t, {6, 10, 4}, Data::kMiddle, 11));
      in.emplace_back(DType::kInt32, Shape{6, 10});
      Mixer mix(12);
      for (int64_t i = 0; i < 60; ++i) set_code(in[1], i, static_cast<uint32_t>(mix.between(-1, 7)));
      const Array x = load(in[0], mode);
      // Positions ascending from +0 in fp32, rounded once.
      Array model({9, 4});
      for (int64_t i = 0; i < 60; ++i) {
        const int64_t id = static_cast<int32_t>(in[1].code(i));
        for (int64_t k = 0; k < 4 && id >= 0; ++k) model[id * 4 + k] = f32(model[id * 4 + k] + x[i * 4 + k]);
      }
      expect_admitted(run_operation("UnsortedSegmentSum", in, {{"num_segments", int64_t{9}}}, mode)[0], model, mode,
                      "UnsortedSegmentSum");
    }
}

}  // namespace
}  // namespace softamp::test
