#include "src/sums/array_sums.h"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/operations.h"
#include "softamp/tensor/bulk.h"
#include "src/sums/addition_bits.h"

namespace softamp::detail {
namespace {

constexpr uint64_t kMostElements = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kUnitReplicas =
    64;  // of a unit of work; a multiple of 8, so that no block of random words is shared

}  // namespace

struct ArraySums::State {
  /// An array in a format: each element as a code and as the number that it stands for.
  struct Entered {
    std::vector<uint32_t> codes;
    std::vector<double> values;
    uint8_t flags = 0;  ///< of all pieces so far

    void enter(std::span<const double> elements, const FloatFormat& format, const Semantics& entry) {
      codes.resize(elements.size());
      values.resize(elements.size());
      FpStatus status;
      bulk::BulkOptions options;
      options.status = &status;
      bulk::round(elements, format, std::span<uint32_t>(codes), entry, options);
      flags = static_cast<uint8_t>(flags | status.flags);
      bulk::widen(std::span<const uint32_t>(codes), format, std::span<double>(values), Semantics::ieee());
    }
  };

  /// What all cases of one format, entry and start share.
  struct Group {
    FloatFormat format;
    Semantics entry;
    uint64_t start;
    Entered a, b;
    ExactSum exact, magnitude;
    double exact_now = 0, magnitude_now = 0;  ///< at the latest point of the trace
  };

  /// Some replicas of a case.
  struct Unit {
    size_t of_case;
    SumChunk chunk;
    std::vector<uint64_t> lost;
    LostAddition first_lost;  ///< of its first replica
    FirstFlags flags;
    std::unique_ptr<AdditionBits> bits, product_bits;
    std::vector<uint32_t> product_words;
  };

  std::vector<ArraySumCase> cases;
  Products products;
  std::vector<uint64_t> trace;
  size_t traced = 0;
  uint64_t done = 0;
  std::vector<Group> groups;
  std::vector<size_t> group_of;  ///< of each case
  std::vector<ArraySum> sums;
  std::vector<Unit> units;
  ExactSum given;  ///< without a start

  void add_given(std::span<const double> a, std::span<const double> b, size_t first, size_t count);
  void add_exactly(Group& group, size_t first, size_t count) const;
  void run(Unit& unit, size_t first, size_t count) const;
  void note_trace();
};

ArraySums::ArraySums(std::vector<ArraySumCase> cases, Products products, std::vector<uint64_t> trace_additions)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.cases = std::move(cases);
  s.products = products;
  s.trace = std::move(trace_additions);
  s.sums.resize(s.cases.size());
  for (size_t c = 0; c < s.cases.size(); ++c) {
    RunningSumSetup& setup = s.cases[c].setup;
    // running_sum knows what it takes. One addition of the start to itself asks it.
    RunningSumSetup asked = setup;
    asked.addend = setup.start;
    asked.count = 1;
    asked.trace_points = 0;
    if (products == Products::kRounded) asked.operation = setup.operation + 1;
    running_sum(asked);
    if (!setup.semantics.draws(setup.format)) setup.replicas = 1;
    const Semantics& entry = s.cases[c].entry;
    size_t g = 0;
    while (g < s.groups.size() &&
           !(s.groups[g].format == setup.format && s.groups[g].entry == entry && s.groups[g].start == setup.start))
      ++g;
    if (g == s.groups.size()) {
      State::Group& group = s.groups.emplace_back();
      group.format = setup.format, group.entry = entry, group.start = setup.start;
      const double start = value_of(setup.format, setup.start);
      group.exact.add(start);
      group.magnitude.add(std::abs(start));
    }
    s.group_of.push_back(g);
    s.sums[c].codes.assign(setup.replicas, setup.start);
    s.sums[c].last_change.assign(setup.replicas, 0);
    s.sums[c].lost.assign(setup.replicas, 0);
  }
  for (size_t c = 0; c < s.cases.size(); ++c) {
    const RunningSumSetup& setup = s.cases[c].setup;
    const bool draws = setup.semantics.draws(setup.format), sequence = setup.engine == RandomEngine::kXoroshiro128aox;
    const uint64_t size = draws && sequence ? setup.replicas : kUnitReplicas;
    for (uint64_t first = 0; first < setup.replicas; first += size) {
      State::Unit& unit = s.units.emplace_back();
      unit.of_case = c;
      unit.chunk.first = first;
      const uint64_t count = std::min(size, setup.replicas - first);
      unit.chunk.codes = std::span(s.sums[c].codes).subspan(first, count);
      unit.chunk.last_change = std::span(s.sums[c].last_change).subspan(first, count);
      unit.lost.assign(count, 0);
      if (!draws) continue;
      unit.bits = std::make_unique<AdditionBits>(setup, unit.chunk);
      if (products != Products::kRounded) continue;
      unit.product_words.resize(count);
      if (sequence) continue;
      RunningSumSetup of_products = setup;
      of_products.operation = setup.operation + 1;
      unit.product_bits = std::make_unique<AdditionBits>(of_products, unit.chunk);
    }
  }
}

ArraySums::~ArraySums() = default;

/// Elements first .. first + count - 1 of the piece; a, b: the whole piece as it was given.
void ArraySums::State::add_given(std::span<const double> a, std::span<const double> b, size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i)
    products == Products::kNone ? given.add(a[i]) : given.add_product(a[i], b[i]);
}

void ArraySums::State::add_exactly(Group& g, size_t first, size_t count) const {
  for (size_t i = first; i < first + count; ++i) {
    // A product of two significands of at most 24 bits is exact in binary64.
    const double term = products == Products::kNone ? g.a.values[i] : g.a.values[i] * g.b.values[i];
    g.exact.add(term);
    g.magnitude.add(std::abs(term));
  }
}

void ArraySums::State::run(Unit& unit, size_t first, size_t count) const {
  const RunningSumSetup& setup = cases[unit.of_case].setup;
  const Group& group = groups[group_of[unit.of_case]];
  const FloatFormat& f = setup.format;
  const Semantics& semantics = setup.semantics;
  const std::span<uint64_t> codes = unit.chunk.codes;
  for (size_t i = first; i < first + count; ++i) {
    const uint64_t n = done + (i - first);
    const uint32_t* product_words = nullptr;
    if (unit.bits && products == Products::kRounded) {
      AdditionBits& bits = unit.product_bits ? *unit.product_bits : *unit.bits;
      std::copy_n(bits.draw(static_cast<uint32_t>(n)), codes.size(), unit.product_words.begin());
      product_words = unit.product_words.data();
    }
    const uint32_t* const words = unit.bits ? unit.bits->draw(static_cast<uint32_t>(n)) : nullptr;
    const uint64_t a = group.a.codes[i], b = products == Products::kNone ? 0 : group.b.codes[i];
    for (size_t r = 0; r < codes.size(); ++r) {
      const uint64_t before = codes[r];
      const uint32_t word = words ? words[r] : 0;
      uint64_t term = a;
      uint8_t flags = 0;
      if (products == Products::kRounded) {
        const Rounded product = fp::mul(f, a, b, semantics, product_words ? product_words[r] : 0);
        term = product.code;
        flags = product.flags;
      }
      const Rounded sum = products == Products::kExact ? fp::fma(f, a, b, before, semantics, word)
                                                       : fp::add(f, before, term, semantics, word);
      flags = static_cast<uint8_t>(flags | sum.flags);
      if (flags & ~unit.flags.flags) unit.flags.raise(flags, n + 1);
      if (sum.code != before) {
        codes[r] = sum.code;
        unit.chunk.last_change[r] = n + 1;
        continue;
      }
      const bool zero = products == Products::kExact ? f.is_zero(a) || f.is_zero(b) : f.is_zero(term);
      if (zero || !f.is_finite(before)) continue;
      if (r == 0 && unit.lost[0] == 0)
        unit.first_lost = {
            n + 1, before,
            products == Products::kExact ? group.a.values[i] * group.b.values[i] : fp::to_double(f, term)};
      ++unit.lost[r];
    }
  }
}

void ArraySums::State::note_trace() {
  if (traced == trace.size() || trace[traced] != done) return;
  ++traced;
  for (Group& g : groups) {
    g.exact_now = g.exact.to_double();
    g.magnitude_now = g.magnitude.to_double();
  }
  for (size_t c = 0; c < cases.size(); ++c) {
    const Group& g = groups[group_of[c]];
    double squares = 0;
    for (const uint64_t code : sums[c].codes) {
      const double error = (value_of(g.format, code) - g.exact_now) / g.magnitude_now;
      squares += error * error;
    }
    sums[c].trace_errors.push_back(std::sqrt(squares / static_cast<double>(sums[c].codes.size())));
  }
}

void ArraySums::add(std::span<const double> a, std::span<const double> b) {
  const engine::DefaultEnvironment guard;
  State& s = *state_;
  if (b.size() != (s.products == Products::kNone ? 0 : a.size()))
    throw std::invalid_argument("array sum: " + std::to_string(a.size()) + " and " + std::to_string(b.size()) +
                                " elements: expected as many of both arrays");
  if (a.size() > kMostElements - s.done)
    throw std::invalid_argument("array sum: more than " + std::to_string(kMostElements) +
                                " elements: expected at most so many");
  for (State::Group& g : s.groups) {
    g.a.enter(a, g.format, g.entry);
    if (s.products != Products::kNone) g.b.enter(b, g.format, g.entry);
  }
  for (size_t first = 0; first < a.size();) {
    size_t count = a.size() - first;
    if (s.traced < s.trace.size()) count = std::min<uint64_t>(count, s.trace[s.traced] - s.done);
    const size_t exact = 1 + s.groups.size();  // the exact sums are work for threads, too
    tbb::parallel_for(size_t{0}, exact + s.units.size(), [&](size_t task) {
      const engine::DefaultRegisters of_thread;
      if (task == 0)
        s.add_given(a, b, first, count);
      else if (task < exact)
        s.add_exactly(s.groups[task - 1], first, count);
      else
        s.run(s.units[task - exact], first, count);
    });
    first += count;
    s.done += count;
    s.note_trace();
  }
}

uint64_t ArraySums::additions() const { return state_->done; }

std::vector<ArraySum> ArraySums::results() const {
  const State& s = *state_;
  std::vector<ArraySum> results = s.sums;
  for (size_t c = 0; c < s.cases.size(); ++c) {
    const State::Group& g = s.groups[s.group_of[c]];
    ArraySum& sum = results[c];
    sum.entry_flags = static_cast<uint8_t>(g.a.flags | g.b.flags);
    sum.exact = g.exact.to_double();
    sum.exact_total = g.exact.total();
    ExactSum given = s.given;
    given.add(value_of(g.format, g.start));
    sum.exact_given = given.to_double();
    sum.magnitude = g.magnitude.to_double();
  }
  std::vector<FirstFlags> flags(s.cases.size());
  for (const State::Unit& unit : s.units) {
    ArraySum& sum = results[unit.of_case];
    std::copy(unit.lost.begin(), unit.lost.end(), sum.lost.begin() + static_cast<std::ptrdiff_t>(unit.chunk.first));
    if (unit.chunk.first == 0) sum.first_lost = unit.first_lost;
    flags[unit.of_case].merge(unit.flags);
  }
  for (size_t c = 0; c < s.cases.size(); ++c) {
    results[c].flags = flags[c].flags;
    std::copy(std::begin(flags[c].first_addition), std::end(flags[c].first_addition), results[c].first_addition);
  }
  return results;
}

}  // namespace softamp::detail
