// What the tests of the graph operations against the model library share: data, one operation run through an executor,
// and each element of its outputs held against what the model admits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <source_location>
#include <sstream>

#include "softamp/graph/executor.h"
#include "softamp/graph/operation.h"
#include "tests/mixer.h"
#include "tests/ops/element_rows.h"
#include "tests/oracle/tensor_model.h"

namespace softamp::test {

using oracle::model::Array;
using oracle::model::kModes;
using oracle::model::Mode;
using oracle::model::Range;
using oracle::model::Real;
using Ints = std::vector<int64_t>;

/// SOFTAMP_MODEL_ROUNDS (1 ..) [=1]: how often the tests of order take new shapes and numbers; a nightly run sets 50.
inline int rounds() {
  const char* text = std::getenv("SOFTAMP_MODEL_ROUNDS");
  return text ? std::max(1, std::atoi(text)) : 1;
}

/// What a tensor is filled with.
enum class Data {
  kUnit,      ///< magnitudes of 1/8 to 4, both signs
  kPositive,  ///< the same, positive
  kWide,      ///< all exponents of the format alike, subnormals and zeros among them
  kMiddle,    ///< magnitudes of 2^-8 to 2^8: a range in which sums cancel, and nothing overflows
  kBroad,     ///< halves: as kWide; wider formats: magnitudes of 2^-40 to 2^40, whose products are far from the ends
  kIntegers,  ///< -4 to 4
  kAny,       ///< every code alike, and every sixth one special: zeros, infinities, NaNs, largest, least
};

inline void set_code(Tensor& t, int64_t i, uint64_t code) {
  std::memcpy(static_cast<std::byte*>(t.data()) + static_cast<size_t>(i) * size_of(t.dtype()), &code,
              size_of(t.dtype()));
}

inline uint64_t random_code(Mixer& mix, DType t, Data data) {
  if (t == DType::kBool) return mix() & 1;
  if (t == DType::kInt32)
    return static_cast<uint32_t>(data == Data::kAny ? static_cast<int64_t>(mix()) : mix.between(-9, 9));
  const oracle::model::Precision& p = oracle::model::precision_of(t);
  const int bits = static_cast<int>(size_of(t)) * 8, fraction_bits = p.digits - 1;
  const uint64_t field_max = (uint64_t{1} << (bits - p.digits)) - 1, bias = field_max / 2;
  const uint64_t sign = (mix() & 1) << (bits - 1), fraction = mix() & ((uint64_t{1} << fraction_bits) - 1);
  const auto finite = [&](uint64_t field) { return sign | field << fraction_bits | fraction; };
  switch (data) {
    case Data::kUnit: return finite(bias - 3 + mix() % 5);
    case Data::kPositive: return finite(bias - 3 + mix() % 5) & ~(uint64_t{1} << (bits - 1));
    case Data::kWide: return mix() % 20 == 0 ? sign : finite(mix() % field_max);
    case Data::kMiddle: return finite(bias - 8 + mix() % 16);
    case Data::kBroad: return mix() % 20 == 0 ? sign : finite(field_max == 31 ? mix() % 31 : bias - 40 + mix() % 81);
    case Data::kIntegers: {
      const int64_t k = mix.between(-4, 4);
      if (k == 0) return 0;
      const int e = static_cast<int>(std::bit_width(static_cast<uint64_t>(std::abs(k)))) - 1;
      const uint64_t f = (static_cast<uint64_t>(std::abs(k)) - (uint64_t{1} << e)) << (fraction_bits - e);
      return (k < 0 ? uint64_t{1} << (bits - 1) : 0) | (bias + static_cast<uint64_t>(e)) << fraction_bits | f;
    }
    case Data::kAny: break;
  }
  switch (mix() % 36) {
    case 0: return sign;
    case 1: return sign | field_max << fraction_bits;                                       // infinity
    case 2: return sign | field_max << fraction_bits | uint64_t{1} << (fraction_bits - 1);  // NaN
    case 3: return (sign | field_max << fraction_bits) - 1 + (sign ? 0 : 0);                // the greatest
    case 4: return sign | 1;                                                                // the least subnormal
    case 5: return sign | uint64_t{1} << fraction_bits;                                     // the least normal
    default: return mix() & (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
  }
}

inline Tensor random_tensor(DType t, const Ints& shape, Data data, uint64_t seed) {
  Tensor tensor(t, Shape(std::span<const int64_t>(shape)));
  Mixer mix(seed * 1000003 + static_cast<uint64_t>(t));
  for (int64_t i = 0; i < tensor.elements(); ++i) set_code(tensor, i, random_code(mix, t, data));
  return tensor;
}

/// What the tests of each source file have run, by name: a program checks at its end that they covered what they claim.
inline std::set<std::string>& operations_run(const std::string& file) {
  static std::map<std::string, std::set<std::string>> names;
  return names[file];
}
inline void note_run(const std::string& op) {
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  if (test != nullptr) operations_run(test->file()).insert(op);
}

/// Checks, when a program ends that ran all tests of a source file, that they ran these operations.
class Covered : public ::testing::Environment {
 public:
  Covered(std::vector<std::string> names, std::string file) : names_(std::move(names)), file_(std::move(file)) {}
  void TearDown() override {
    if (::testing::UnitTest::GetInstance()->Failed() || !ran_all()) return;
    for (const std::string& name : names_)
      EXPECT_TRUE(operations_run(file_).contains(name)) << name << " was not run in " << file_;
  }

 private:
  /// Whether no test of the file was filtered out.
  bool ran_all() const {
    const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
    for (int s = 0; s < all.total_test_suite_count(); ++s)
      for (int t = 0; t < all.GetTestSuite(s)->total_test_count(); ++t) {
        const ::testing::TestInfo& test = *all.GetTestSuite(s)->GetTestInfo(t);
        if (test.file() == file_ && !test.should_run()) return false;
      }
    return true;
  }

  std::vector<std::string> names_;
  std::string file_;
};
/// The claims of all tests of this program, by file.
inline std::map<std::string, std::vector<std::string>>& claims() {
  static std::map<std::string, std::vector<std::string>> all;
  return all;
}
inline ::testing::Environment* covers(std::vector<std::string> names,
                                      const std::source_location& where = std::source_location::current()) {
  claims()[where.file_name()] = names;
  return ::testing::AddGlobalTestEnvironment(new Covered(std::move(names), where.file_name()));
}
/// Those of the rows, too.
template <class Row>
::testing::Environment* covers(const std::vector<Row>& rows, std::vector<std::string> names = {},
                               const std::source_location& where = std::source_location::current()) {
  for (const Row& row : rows)
    if (std::find(names.begin(), names.end(), row.op) == names.end()) names.push_back(row.op);
  return covers(std::move(names), where);
}

inline ExecutorOptions options_of(const Mode& mode, uint64_t seed = 7) {
  ExecutorOptions o;
  if (!mode.ipu) o.semantics = Semantics::ieee();
  o.config.floating_point_behaviour.esr =
      mode.stochastic ? StochasticRoundingBehaviour::kOn : StochasticRoundingBehaviour::kOff;
  o.config.floating_point_behaviour.nanoo = mode.nanoo;
  o.seed = seed;
  o.threads = 1;
  return o;
}

/// The numbers of a tensor as they enter an operation.
inline std::vector<Real> numbers(const Tensor& t, const Mode& mode) {
  std::vector<Real> out;
  for (const Range& r : oracle::model::load(t, mode).at) out.push_back(r.nan ? std::nanl("") : r.low);
  return out;
}

/// Operands, which a braced list cannot hold: a Tensor is moved.
inline std::vector<Tensor> list(Tensor a) {
  std::vector<Tensor> v;
  v.push_back(std::move(a));
  return v;
}
inline std::vector<Tensor> list(Tensor a, Tensor b) {
  std::vector<Tensor> v = list(std::move(a));
  v.push_back(std::move(b));
  return v;
}

/// The id of the tested operation's site: placeholders come before it, one id each, from 1.
inline uint32_t operation_id(size_t inputs, uint32_t site) { return static_cast<uint32_t>(inputs) + 1 + site; }

/// All outputs of one operation, and its status where `options.status` is on.
struct Outcome {
  std::vector<Tensor> outputs;
  FpStatus status;
};

inline Outcome run_once(const std::string& op, std::span<const Tensor> inputs, Attributes attributes,
                        const ExecutorOptions& options) {
  GraphBuilder builder;
  std::vector<Port> ports;
  std::vector<Feed> feeds;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    ports.push_back(builder.placeholder(name, inputs[i].dtype(), inputs[i].shape()));
    feeds.push_back({name, &inputs[i]});
  }
  builder.add(op, ports, std::move(attributes), "tested");
  Graph graph = builder.build();
  const size_t count = graph.node(graph.find("tested")).outputs.size();
  std::vector<std::string> fetches;
  for (size_t i = 0; i < count; ++i) fetches.push_back("tested:" + std::to_string(i));
  RunResult result = make_executor(std::move(graph), options)->run(feeds, fetches);
  Outcome outcome{std::move(result.values), {}};
  for (const OperationStatus& s : result.operations)
    if (s.name == "tested") outcome.status = s.status;
  return outcome;
}

/// Every third time the operation is run another way as well, in turn: by its definition element by element, by
/// portable code, by the set above it, on three threads. Bits and status are the same, so that what is said of one is
/// said of all.
inline Outcome run_operation(const std::string& op, std::span<const Tensor> inputs, const Attributes& attributes,
                             ExecutorOptions options) {
  note_run(op);
  static int calls = 0;
  ++calls;
  options.status = options.status || calls % 2 == 0;
  Outcome outcome = run_once(op, inputs, attributes, options);
  if (calls % 3 != 0) return outcome;
  switch (calls / 3 % 4) {
    case 0: options.reference = true; break;
    case 1: options.isa = bulk::InstructionSet::kPortable; break;
    case 2: options.isa = bulk::instruction_sets()[bulk::instruction_sets().size() > 1]; break;
    default: options.threads = 3;
  }
  const Outcome other = run_once(op, inputs, attributes, options);
  EXPECT_EQ(outcome.status, other.status) << op << ", status of way " << calls / 3 % 4;
  for (size_t i = 0; i < other.outputs.size(); ++i)
    EXPECT_TRUE(outcome.outputs[i].same_bits(other.outputs[i]))
        << op << ", output " << i << " of way " << calls / 3 % 4;
  return outcome;
}

inline std::vector<Tensor> run_operation(const std::string& op, std::span<const Tensor> inputs,
                                         const Attributes& attributes, const Mode& mode) {
  return run_operation(op, inputs, attributes, options_of(mode)).outputs;
}

inline std::string text_of(const Range& r) {
  std::ostringstream s;
  s.precision(21);
  if (r.nan) return "NaN";
  s << "[" << r.low << ", " << r.high << "]" << (r.doubtful ? " or NaN" : "");
  return s.str();
}

/// Element by element; the first three that are not admitted are told.
inline void expect_admitted(const Tensor& got, const Array& model, const Mode& mode, const std::string& what,
                            oracle::model::RoundedUp* statistics = nullptr) {
  ASSERT_EQ(Ints(got.shape().begin(), got.shape().end()), model.shape) << what;
  int told = 0;
  for (int64_t i = 0; i < model.size() && told < 3; ++i) {
    if (statistics) statistics->count(model[i], got.dtype(), got.code(i));
    const oracle::model::Admitted set = oracle::model::admitted(model[i], got.dtype(), mode);
    if (oracle::model::admits(set, got.dtype(), got.code(i))) continue;
    ++told;
    ADD_FAILURE() << what << " " << name_of(got.dtype()) << " (" << mode.name << ") element " << i << " is "
                  << static_cast<double>(oracle::model::decode(got.dtype(), got.code(i)))
                  << "; the model's value is in " << text_of(model[i])
                  << ", rounded: " << text_of(Range(set.low, set.high)) << (set.nan ? " or NaN" : "");
  }
}

/// Roundings that went up are as many as their probabilities say, within five standard deviations.
inline void expect_probabilities(const oracle::model::RoundedUp& statistics, DType t, const Mode& mode) {
  if (!mode.stochastic || !oracle::model::narrow(t)) return;
  EXPECT_LT(statistics.deviations(), 5) << name_of(t) << " (" << mode.name << "), " << statistics.inexact()
                                        << " roundings";
}

/// Flags of a sum of products of halves under `ipu`, and the lowest output of each: overflow where the sum is beyond
/// the halves; invalid where a NaN takes part, or where an overflow becomes one.
/// `order`: the outputs in the order in which they count [={}, their own].
inline void expect_flags(const FpStatus& status, const Array& model, const Mode& mode, const std::string& what,
                         const Ints& order = {}) {
  uint64_t overflow = FpStatus::kNever, invalid = FpStatus::kNever;
  for (int64_t at = model.size(); at-- > 0;) {
    const int64_t i = order.empty() ? at : order[static_cast<size_t>(at)];
    const Range& r = model[i];
    const bool over = !r.nan && (oracle::model::nearest(DType::kFloat16, r.low) > 65504 ||
                                 oracle::model::nearest(DType::kFloat16, r.high) < -65504);
    if (over) overflow = static_cast<uint64_t>(i);
    if (r.nan || (over && mode.nanoo)) invalid = static_cast<uint64_t>(i);
  }
  EXPECT_EQ(status.lowest_index(kOverflow), overflow) << what << " (" << mode.name << ")";
  EXPECT_EQ(status.lowest_index(kInvalid), invalid) << what << " (" << mode.name << ")";
  EXPECT_EQ(status.lowest_index(kDivideByZero), FpStatus::kNever) << what;
}

/// Bits, but for the patterns of NaNs.
inline void expect_codes(const Tensor& got, std::span<const uint64_t> codes, const std::string& what) {
  ASSERT_EQ(static_cast<size_t>(got.elements()), codes.size()) << what;
  int told = 0;
  for (int64_t i = 0; i < got.elements() && told < 3; ++i) {
    const uint64_t expected = codes[static_cast<size_t>(i)];
    if (got.code(i) == expected) continue;
    if (is_floating(got.dtype()) && std::isnan(oracle::model::decode(got.dtype(), expected)) &&
        std::isnan(oracle::model::decode(got.dtype(), got.code(i))))
      continue;
    ++told;
    ADD_FAILURE() << what << " element " << i << " is "
                  << static_cast<double>(oracle::model::decode(got.dtype(), got.code(i))) << " (" << std::hex
                  << got.code(i) << "), expected " << static_cast<double>(oracle::model::decode(got.dtype(), expected))
                  << " (" << expected << ")";
  }
}

/// The code of a number that t holds exactly, or of an infinity or NaN.
inline uint64_t code_of(DType t, Real x) {
  const Tensor one = Tensor::full(t, Shape{}, static_cast<double>(x));
  return one.code(0);
}

inline const DType kFloats[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};

}  // namespace softamp::test
