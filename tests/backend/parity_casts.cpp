// Casts between every two dtypes: special values, every size around a group of eight, groups with nothing rare, chains
// that run in place, and every switch of a preset that a conversion reads; with flags wanted and without.
#include <random>

#include "parity.h"
#include "softamp/graph/trace.h"

namespace softamp::parity {
namespace {

/// fp32 numbers around those where a conversion to 16 bits changes its ways, in every ninth place.
void add_boundaries(Tensor& t, uint64_t seed) {
  // 2^-25, 2^-24, 2^-14, 65504, 65520, 65536, the greatest bf16 and halfway to the next, the least normal fp32.
  constexpr uint32_t kAbout[] = {0x33000000u, 0x33800000u, 0x38800000u, 0x477FE000u, 0x477FF000u,
                                 0x47800000u, 0x7F7F0000u, 0x7F7F8000u, 0x00800000u};
  std::mt19937_64 random(seed);
  auto* const data = static_cast<uint32_t*>(t.data());
  for (int64_t i = 4; i < t.type().shape.elements(); i += 9) {
    const uint64_t word = random();
    data[i] = (kAbout[word % 9] + static_cast<uint32_t>(word >> 8 & 63) - 32) | static_cast<uint32_t>(word >> 32 & 1)
                                                                                    << 31;
  }
}

Tensor values(DType type, const Shape& shape, uint64_t seed, bool plain) {
  if (type == DType::kInt32)
    return plain ? integers(shape, seed, -70000, 70000) : integers(shape, seed, INT32_MIN, INT32_MAX);
  if (type == DType::kBool) return truths(shape, seed);
  Tensor t = floats(type, shape, seed, plain);
  if (type == DType::kFloat32) add_boundaries(t, seed);
  return t;
}

Port cast(GraphBuilder& b, Port x, DType to) { return b.add("Cast", {x}, {{"DstT", to}}); }

/// A source to every dtype.
Case from(const Tensor& source) {
  Case c;
  GraphBuilder b;
  const Port x = b.placeholder("x", source.type().dtype, source.type().shape);
  for (const DType to : kAllTypes) cast(b, x, to);
  c.graph = b.build();
  c.feeds.emplace("x", source.clone());
  return c;
}

/// Conversions one after the other; only the last is fetched, so that tensors of a size share their memory.
Case chain(const Shape& shape, std::initializer_list<DType> types) {
  Case c;
  GraphBuilder b;
  const DType first = *types.begin();
  Port x = b.placeholder("x", first, shape);
  c.feeds.emplace("x", values(first, shape, 5, false));
  for (const DType to : types)
    if (b.type(x).dtype != to) x = cast(b, x, to);
  c.graph = b.build();
  c.fetches = {c.graph.port_name(x)};
  return c;
}

std::vector<Setting> switches() {
  std::vector<Setting> list;
  const auto add = [&](const std::string& name, bool esr) -> ExecutorOptions& {
    ExecutorOptions o;
    o.config.set("floating_point_behaviour.esr", esr);
    o.seed = 99;
    list.push_back({name, o});
    return list.back().options;
  };
  for (const bool esr : {false, true}) {
    const std::string mode = esr ? " stochastic" : " nearest";
    add("flush to positive" + mode, esr).switches.f32_flush_sign = FlushSign::kPositive;
    ExecutorOptions& kept = add("subnormals kept" + mode, esr);
    kept.switches.f32_daz = kept.switches.f32_ftz = false;
    for (const OverflowRule rule : {OverflowRule::kExact, OverflowRule::kHalfway, OverflowRule::kPower})
      add("overflow rule " + std::to_string(static_cast<int>(rule)) + mode, esr).switches.overflow_rule = rule;
    for (const InfinityOperand operand :
         {InfinityOperand::kMaxFinite, InfinityOperand::kNan, InfinityOperand::kNextBinade})
      add("infinity operand " + std::to_string(static_cast<int>(operand)) + mode, esr).switches.half_inf_operand =
          operand;
    for (const IntegerRange range : {IntegerRange::kClamp, IntegerRange::kWrap})
      add("integer range " + std::to_string(static_cast<int>(range)) + mode, esr).switches.f2i_range = range;
    for (const NanPattern nan : {NanPattern::kAllOnes, NanPattern::kPropagate})
      add("nan " + std::to_string(static_cast<int>(nan)) + mode, esr).switches.nan_pattern = nan;
  }
  for (const int bits : {1, 8, 16, 17, 23, 32}) add(std::to_string(bits) + " bits", true).switches.sr_bits = bits;
  for (const StochasticVariant form : {StochasticVariant::kHalf, StochasticVariant::kRne, StochasticVariant::kOdd})
    add("variant " + std::to_string(static_cast<int>(form)), true).switches.sr_form = form;
  for (const RoundingMode mode : {RoundingMode::kTowardZero, RoundingMode::kUp, RoundingMode::kNearestAway}) {
    ExecutorOptions& o = add("ieee mode " + std::to_string(static_cast<int>(mode)), false);
    o.semantics = Semantics::ieee(RoundingPolicy::ieee(mode));
  }
  ExecutorOptions& all = add("ieee stochastic", false);
  all.semantics = Semantics::ieee(RoundingPolicy::stochastic_carry(13));
  return list;
}

/// Without flags, where IEEE 754 rounds fast too.
void without_status(Suite& suite, const Setting& setting, const Tensor& source) {
  const std::string name = std::string("without flags ") + name_of(source.type().dtype) + " " + setting.name;
  if (!suite.wants(name)) return;
  const Case c = from(source);
  std::vector<std::string> fetches;
  for (int n = 0; n < c.graph.size(); ++n) fetches.push_back(c.graph.port_name({n, 0}));
  const Feed feed{"x", &source};
  ExecutorOptions options = setting.options;
  options.status = false;
  RunResult results[2];
  const std::string backends[2] = {"emu", suite.backend()};
  for (int k = 0; k < 2; ++k) {
    options.backend = backends[k];
    results[k] = make_executor(c.graph, options)->run({&feed, 1}, fetches);
  }
  std::string what;
  for (size_t f = 0; f < fetches.size() && what.empty(); ++f)
    if (!(what = difference_of(results[0].values[f], results[1].values[f])).empty()) what = fetches[f] + ": " + what;
  std::string hashes;
  for (const Tensor& value : results[1].values) hashes += hash_text(value.data(), value.bytes());
  suite.note(name, what, static_cast<uint64_t>(source.type().shape.elements()) * fetches.size(), hashes);
}

}  // namespace

void casts(Suite& suite) {
  // Making a large tensor and running it three times takes longer than comparing it: one a dtype, run once.
  const int64_t n = suite.elements(), less = n < 100000 ? n : n / 20;
  const auto run = [&](Case c, const std::string& name, const Setting& setting) {
    c.name = name + " " + setting.name;
    c.options = setting.options;
    if (n >= 100000) c.steps = c.feeds.begin()->second.type().shape.elements() < n ? 3 : 1;
    suite.run(c);
  };
  for (const DType type : kAllTypes) {
    const std::string name = name_of(type);
    const uint64_t seed = 17 + static_cast<uint64_t>(type);
    const Tensor special = values(type, Shape{n + 5}, seed, false), plain = values(type, Shape{less}, seed, true);
    const Tensor small = values(type, Shape{less / 4 + 3}, seed, false);
    for (const Setting& setting : settings()) {
      run(from(special), name + " special", setting);
      run(from(plain), name + " plain", setting);
      for (const int64_t size : {0, 1, 7, 8, 9, 16})
        run(from(values(type, Shape{size}, seed, true)), name + " of " + std::to_string(size), setting);
      run(from(values(type, Shape{}, seed, false)), name + " scalar", setting);
      without_status(suite, setting, small);
    }
    for (const Setting& setting : switches()) run(from(small), name + " special", setting);
  }
  using enum DType;
  for (const Setting& setting : settings()) {
    const Shape shape{less + 1};
    run(chain(shape, {kFloat16, kBFloat16, kFloat16, kFloat32, kInt32, kFloat32, kBFloat16}), "chain", setting);
    run(chain(shape, {kFloat32, kFloat16, kFloat32, kBFloat16, kFloat16, kFloat64, kFloat32, kBool, kFloat16}), "chain",
        setting);
  }
}

}  // namespace softamp::parity
