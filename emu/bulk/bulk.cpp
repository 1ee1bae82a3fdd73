// The public bulk operations: check arguments, make a plan, let the engine run it.
#include "softamp/tensor/bulk.h"

#include <stdexcept>
#include <string>

#include "softamp/numerics/convert.h"

#include "emu/bulk/dispatch.h"
#include "emu/bulk/grouped_work.h"

namespace softamp::bulk {
namespace {

using namespace softamp::emu;

struct Array {
  const void* data;
  size_t size;
  Element type;
};

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, uint8_t>) return Element::kU8;
  if constexpr (std::is_same_v<T, uint16_t>) return Element::kU16;
  if constexpr (std::is_same_v<T, uint32_t>) return Element::kU32;
  if constexpr (std::is_same_v<T, float>) return Element::kF32;
  if constexpr (std::is_same_v<T, double>) return Element::kF64;
}
template <class T>
Array array(std::span<T> s) {
  return {s.data(), s.size(), element_of<std::remove_const_t<T>>()};
}

[[noreturn]] void refuse(const char* function, const std::string& what) {
  throw std::invalid_argument(std::string("bulk::") + function + ": " + what);
}

void check_arrays(const char* function, const Array& in, const Array& out, bool in_place_allowed) {
  if (in.size != out.size)
    refuse(function,
           "the input has " + std::to_string(in.size) + " elements and the output " + std::to_string(out.size));
  const char* const i = static_cast<const char*>(in.data);
  const char* const o = static_cast<const char*>(out.data);
  const size_t in_bytes = in.size * size_of(in.type), out_bytes = out.size * size_of(out.type);
  if (in_place_allowed && i == o && in.type == out.type) return;
  if (i < o + out_bytes && o < i + in_bytes)
    refuse(function, "the output of " + std::to_string(out_bytes) + " bytes overlaps an input of " +
                         std::to_string(in_bytes) + " bytes");
}

std::string describe(const FloatFormat& f) {
  return "(exponent_bits " + std::to_string(f.exponent_bits) + ", precision " + std::to_string(f.precision) + ")";
}

void check_format(const char* function, const FloatFormat& f, Element codes) {
  if (!f.valid())
    refuse(function, "format " + describe(f) + " is none: exponent_bits 2..8 and precision 2..24 are known");
  const int width = codes == Element::kF32 ? 32 : static_cast<int>(8 * size_of(codes));
  if (f.storage_bits() > width)
    refuse(function, "codes of format " + describe(f) + " have " + std::to_string(f.storage_bits()) +
                         " bits, the array's elements " + std::to_string(width));
}

RandomPlan plan_random(const char* function, const BulkOptions& options, const RoundingPolicy& policy) {
  const RandomSource& r = options.random;
  if (options.threads < 0 || options.threads > 1024)
    refuse(function, "threads is 0 (all) or 1..1024, not " + std::to_string(options.threads));
  if (policy.stochastic() && (policy.random_bits < 1 || policy.random_bits > 32))
    refuse(function, "random_bits is 1..32, not " + std::to_string(policy.random_bits));
  if (policy.stochastic() && !r.words) {
    if (r.engine != RandomEngine::kPhilox && r.engine != RandomEngine::kPhilox7)
      refuse(function,
             "the random engine must be kPhilox or kPhilox7: the numbers of xoroshiro128aox come in sequence; "
             "hand them in as words");
    if (r.operation >= RandomBits::kOperations)
      refuse(function, "random operation is below 2^24, not " + std::to_string(r.operation));
    if (r.replica >= RandomBits::kReplicas)
      refuse(function, "random replica is 0..255, not " + std::to_string(r.replica));
  }
  if (policy.stochastic() && r.slice) {
    const int most = 32 / lanes_of(*r.slice), least = *r.slice == RandomSlice::kPermutedBytes ? most : 1;
    if (policy.random_bits < least || policy.random_bits > most)
      refuse(function, "a slice of the word has " + std::to_string(least) + ".." + std::to_string(most) +
                           " random_bits, the policy " + std::to_string(policy.random_bits));
  }
  RandomPlan plan{};
  plan.source = r.bits();
  plan.operation = r.operation;
  plan.step = r.step;
  plan.first_index = r.first_index;
  if (policy.stochastic()) {
    plan.words = r.words;
    // Halves of the generator's words, and low bits of words that elements have to themselves, are what they read
    // anyway.
    const bool own = r.slice == RandomSlice::kHalves    ? !r.words
                     : r.slice == RandomSlice::kLowBits ? r.words || policy.random_bits > 16
                                                        : false;
    if (!own) plan.slice = r.slice;
  }
  return plan;
}

class RoundWork final : public GroupedWork {
 public:
  RoundWork(const char* function, const Array& in, const FloatFormat& to, const Array& out, const Semantics& s,
            const BulkOptions& o)
      : plan_(plan_round(in.type, to, out.type, s)),
        semantics_(s),
        kernel_(choose(kernels_of(o.isa), plan_, in.type, out.type)) {
    random_ = plan_random(function, o, s.rounding(to));
    random_bits_ = plan_.stochastic ? plan_.random_bits : 0;
    draws = plan_.stochastic && !random_.words && !random_.slice;
    vectorised_ = out.type != Element::kF32 || plan_.values.vectorised;
    add_input(in.data, in.type, 0);
    set_output(const_cast<void*>(out.data), out.type, in.size);
  }

 private:
  uint8_t kernel(const Slice& slice, uint8_t wanted) const override {
    return kernel_(plan_, random_, input_type(0), output_type(), slice, wanted);
  }
  Rounded reference(size_t i, uint32_t word) const override {
    const FloatFormat& from = input_type(0) == Element::kF64 ? kBinary64 : kFp32;
    Rounded r = fp::convert(from, plan_.format, input(0, i), semantics_, word);
    if (output_type() == Element::kF32) r.code = __builtin_bit_cast(uint32_t, fp::to_float(plan_.format, r.code));
    return r;
  }

  RoundPlan plan_;
  Semantics semantics_;
  RoundKernel kernel_;
};

class WidenWork final : public GroupedWork {
 public:
  WidenWork(const Array& in, const FloatFormat& from, const Array& out, const Semantics& s, const BulkOptions& o)
      : plan_(plan_widen(from, out.type, s)), format_(from), semantics_(s), kernels_(kernels_of(o.isa)) {
    vectorised_ = plan_.vectorised;
    add_input(in.data, in.type, 0);
    set_output(const_cast<void*>(out.data), out.type, in.size);
  }

 private:
  uint8_t kernel(const Slice& slice, uint8_t wanted) const override {
    return kernels_.widen(plan_, input_type(0), output_type(), slice, wanted);
  }
  Rounded reference(size_t i, uint32_t) const override {
    const uint64_t code = input(0, i) & format_.code_mask();
    const FloatFormat to = output_type() == Element::kF64 ? kBinary64 : kFp32;
    return fp::convert(format_, to, code, semantics_, RoundingPolicy::kStill);
  }

  WidenPlan plan_;
  FloatFormat format_;
  Semantics semantics_;
  const KernelTable& kernels_;
};

class ArithmeticWork final : public GroupedWork {
 public:
  ArithmeticWork(const char* function, emu::Operation operation, const Array* const (&in)[3], const Array& out,
                 const Semantics& s, const BulkOptions& o)
      : plan_(plan_arithmetic(operation, s)), kernel_(choose(kernels_of(o.isa), plan_)) {
    constexpr uint64_t kOne = 0x3C00;
    random_ = plan_random(function, o, s.rounding(kFp16));
    random_bits_ = plan_.round.stochastic ? plan_.round.random_bits : 0;
    draws = plan_.round.stochastic && !random_.words && !random_.slice;
    vectorised_ = plan_.vectorised;
    for (const Array* a : in)
      if (a) add_input(a->data, a->type, kOne);
    set_output(const_cast<void*>(out.data), out.type, out.size);
  }

 private:
  uint8_t kernel(const Slice& slice, uint8_t wanted) const override { return kernel_(plan_, random_, slice, wanted); }
  Rounded reference(size_t i, uint32_t word) const override {
    uint16_t operands[3] = {};
    for (int k = 0; k < (plan_.operation == emu::Operation::kFma ? 3 : 2); ++k)
      operands[k] = static_cast<uint16_t>(input(k, i));
    return reference_arithmetic(plan_, operands, word);
  }

  ArithmeticPlan plan_;
  ArithmeticKernel kernel_;
};

void run_round(const char* function, const Array& in, const FloatFormat& to, const Array& out, const Semantics& s,
               const BulkOptions& o) {
  check_format(function, to, out.type);
  check_arrays(function, in, out, out.type == Element::kF32);
  execute(RoundWork(function, in, to, out, s, o), o.threads, o.status);
}

void run_widen(const Array& in, const FloatFormat& from, const Array& out, const Semantics& s, const BulkOptions& o) {
  check_format("widen", from, in.type);
  check_arrays("widen", in, out, false);
  plan_random("widen", o, {});
  execute(WidenWork(in, from, out, s, o), o.threads, o.status);
}

void run_arithmetic(const char* function, emu::Operation operation, const Array* const (&in)[3], const Array& out,
                    const Semantics& s, const BulkOptions& o) {
  for (const Array* a : in)
    if (a) check_arrays(function, *a, out, false);
  execute(ArithmeticWork(function, operation, in, out, s, o), o.threads, o.status);
}

void run_binary(const char* function, emu::Operation operation, std::span<const uint16_t> a,
                std::span<const uint16_t> b, std::span<uint16_t> out, const Semantics& s, const BulkOptions& o) {
  const Array x = array(a), y = array(b);
  run_arithmetic(function, operation, {&x, &y, nullptr}, array(out), s, o);
}

}  // namespace

#define SOFTAMP_BULK_ROUND(From, To)                                                                           \
  void round(std::span<const From> in, const FloatFormat& to, std::span<To> codes, const Semantics& semantics, \
             const BulkOptions& options) {                                                                     \
    run_round("round", array(in), to, array(codes), semantics, options);                                       \
  }
SOFTAMP_BULK_ROUND(float, uint8_t)
SOFTAMP_BULK_ROUND(float, uint16_t)
SOFTAMP_BULK_ROUND(float, uint32_t)
SOFTAMP_BULK_ROUND(double, uint8_t)
SOFTAMP_BULK_ROUND(double, uint16_t)
SOFTAMP_BULK_ROUND(double, uint32_t)
#undef SOFTAMP_BULK_ROUND

#define SOFTAMP_BULK_WIDEN(From, To)                                                                              \
  void widen(std::span<const From> codes, const FloatFormat& from, std::span<To> out, const Semantics& semantics, \
             const BulkOptions& options) {                                                                        \
    run_widen(array(codes), from, array(out), semantics, options);                                                \
  }
SOFTAMP_BULK_WIDEN(uint8_t, float)
SOFTAMP_BULK_WIDEN(uint16_t, float)
SOFTAMP_BULK_WIDEN(uint32_t, float)
SOFTAMP_BULK_WIDEN(uint8_t, double)
SOFTAMP_BULK_WIDEN(uint16_t, double)
SOFTAMP_BULK_WIDEN(uint32_t, double)
#undef SOFTAMP_BULK_WIDEN

void round_values(std::span<const float> in, const FloatFormat& to, std::span<float> out, const Semantics& semantics,
                  const BulkOptions& options) {
  run_round("round_values", array(in), to, array(out), semantics, options);
}
void round_values(std::span<const double> in, const FloatFormat& to, std::span<float> out, const Semantics& semantics,
                  const BulkOptions& options) {
  run_round("round_values", array(in), to, array(out), semantics, options);
}

#define SOFTAMP_BULK_BINARY(function, operation)                                                   \
  void function(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out, \
                const Semantics& semantics, const BulkOptions& options) {                          \
    run_binary(#function, operation, a, b, out, semantics, options);                               \
  }
SOFTAMP_BULK_BINARY(add, emu::Operation::kAdd)
SOFTAMP_BULK_BINARY(sub, emu::Operation::kSub)
SOFTAMP_BULK_BINARY(mul, emu::Operation::kMul)
SOFTAMP_BULK_BINARY(div, emu::Operation::kDiv)
#undef SOFTAMP_BULK_BINARY

void fma(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<const uint16_t> c, std::span<uint16_t> out,
         const Semantics& semantics, const BulkOptions& options) {
  const Array x = array(a), y = array(b), z = array(c);
  run_arithmetic("fma", emu::Operation::kFma, {&x, &y, &z}, array(out), semantics, options);
}

}  // namespace softamp::bulk
