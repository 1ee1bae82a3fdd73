// add, sub, mul, div, fma and sqrt of arrays of codes: fp16 by the bulk operations, other formats element by element.
#include "softamp/findings/exception.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/python/arrays.h"
#include "src/python/bindings.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/rounding.h"

namespace softamp::python {
namespace {

enum class Operation : uint8_t { kAdd, kSub, kMul, kDiv, kFma, kSqrt };

struct Name {
  const char* word;
  Operation operation;
  size_t operands;
};
constexpr Name kNames[] = {{"add", Operation::kAdd, 2}, {"sub", Operation::kSub, 2}, {"mul", Operation::kMul, 2},
                           {"div", Operation::kDiv, 2}, {"fma", Operation::kFma, 3}, {"sqrt", Operation::kSqrt, 1}};

Rounded compute(Operation operation, const FloatFormat& f, const uint64_t (&x)[3], const Semantics& s,
                uint32_t random) {
  switch (operation) {
    case Operation::kAdd: return fp::add(f, x[0], x[1], s, random);
    case Operation::kSub: return fp::sub(f, x[0], x[1], s, random);
    case Operation::kMul: return fp::mul(f, x[0], x[1], s, random);
    case Operation::kDiv: return fp::div(f, x[0], x[1], s, random);
    case Operation::kFma: return fp::fma(f, x[0], x[1], x[2], s, random);
    case Operation::kSqrt: break;
  }
  return fp::sqrt(f, x[0], s, random);
}

uint64_t code_at(const Array& a, size_t i) {
  switch (a.item_bytes()) {
    case 1: return a.as<uint8_t>()[i];
    case 2: return a.as<uint16_t>()[i];
    default: return a.as<uint32_t>()[i];
  }
}

void set_code(Array& a, size_t i, uint64_t code) {
  switch (a.item_bytes()) {
    case 1: a.to_write<uint8_t>()[i] = static_cast<uint8_t>(code); break;
    case 2: a.to_write<uint16_t>()[i] = static_cast<uint16_t>(code); break;
    default: a.to_write<uint32_t>()[i] = static_cast<uint32_t>(code); break;
  }
}

/// The body of each operation, element by element; the random word of element i as bulk's are (N72).
void by_elements(Operation operation, const FloatFormat& f, std::span<const Array> in, Array& out, const Semantics& s,
                 const bulk::BulkOptions& options) {
  const bulk::RandomSource& source = options.random;
  const RandomBits bits{source.seed, source.engine == RandomEngine::kPhilox7 ? 7 : 10};
  const int r = s.rounding(f).random_bits;
  const bool draws = s.draws(f);
  for (size_t i = 0; i < out.size(); ++i) {
    uint64_t x[3] = {};
    for (size_t k = 0; k < in.size(); ++k) x[k] = code_at(in[k], i) & f.code_mask();
    uint32_t random = 0;
    if (draws)
      random = source.words ? source.words[i] : bits.bits(source.step, source.operation, source.first_index + i, r);
    const Rounded result = compute(operation, f, x, s, random);
    set_code(out, i, result.code);
    if (options.status && result.flags != 0) options.status->raise(result.flags, i);
  }
}

/// bulk's own, of halves; false where it has none.
bool by_bulk(Operation operation, std::span<const Array> in, Array& out, const Semantics& s,
             const bulk::BulkOptions& options) {
  const auto a = in[0].as<uint16_t>();
  const auto b = in.size() > 1 ? in[1].as<uint16_t>() : a;
  const auto to = out.to_write<uint16_t>();
  switch (operation) {
    case Operation::kAdd: bulk::add(a, b, to, s, options); return true;
    case Operation::kSub: bulk::sub(a, b, to, s, options); return true;
    case Operation::kMul: bulk::mul(a, b, to, s, options); return true;
    case Operation::kDiv: bulk::div(a, b, to, s, options); return true;
    case Operation::kFma: bulk::fma(a, b, in[2].as<uint16_t>(), to, s, options); return true;
    case Operation::kSqrt: break;
  }
  return false;
}

const Name& operation_called(nb::handle object) {
  const std::string_view text = word(object, "operation");
  for (const Name& n : kNames)
    if (text == n.word) return n;
  throw nb::value_error(unknown_name_message("operation", text, {"add", "sub", "mul", "div", "fma", "sqrt"}).c_str());
}

/// The format of operands: that of their dtype, float32's fp32, or the one that is named for unsigned integers.
FloatFormat format_of_operands(std::span<const Array> in, nb::handle named_format) {
  std::optional<FloatFormat> format;
  if (!named_format.is_none()) format = compute_format_from(named_format);
  for (const Array& a : in) {
    const bool codes = a.elements() == Elements::kCodes || a.elements() == Elements::kFloat32;
    const bool plain =
        a.elements() == Elements::kUint8 || a.elements() == Elements::kUint16 || a.elements() == Elements::kUint32;
    if (!codes && !plain)
      a.refuse_type("float16, float32, a type of ml_dtypes, or unsigned integers and the format's name");
    if (plain && named_format.is_none())
      throw nb::type_error(
          (std::string(a.name()) + ": has unsigned integers; expected the format that they are codes of").c_str());
    if (codes && !format) format = a.format();
    if (codes && *format != a.format())
      a.refuse_type(("codes of " + format_name(*format) + "; nothing is promoted").c_str());
    if (plain && a.item_bytes() != code_bytes(*format))
      a.refuse_type(
          ("uint" + std::to_string(8 * code_bytes(*format)) + " for codes of " + format_name(*format)).c_str());
    if (a.shape() != in[0].shape())
      throw nb::value_error((std::string(a.name()) + ": has the shape " + a.shape_text() + "; expected that of " +
                             in[0].name() + ", " + in[0].shape_text())
                                .c_str());
  }
  return *format;
}

nb::object arithmetic(nb::handle operation, nb::tuple operands, nb::handle format, nb::tuple how_values,
                      nb::tuple address_values, nb::handle out, nb::handle with_flags) {
  const bool flags = truth(with_flags, "flags");
  const Name& wanted = operation_called(operation);
  constexpr const char* kOperandNames[] = {"a", "b", "c"};
  std::vector<Array> in;
  for (size_t i = 0; i < wanted.operands; ++i) in.emplace_back(operands[i], kOperandNames[i]);
  const FloatFormat f = format_of_operands(in, format);
  const Rounding how = Rounding::from(how_values);
  if (how.chip)
    throw nb::value_error("chip: expected none; chips are known by their conversions, not their arithmetic");
  Addresses addresses(address_values, how, f, in[0].size());
  const Semantics semantics = how.semantics(f);
  const bool plain = in[0].elements() != Elements::kCodes && in[0].elements() != Elements::kFloat32;
  nb::object result = out.is_none() ? new_codes(in[0].shape(), f, plain) : nb::borrow(out);
  Array written(result, "out", Access::kWrite);
  check_codes(written, f);
  if (written.shape() != in[0].shape())
    throw nb::value_error(("out: has the shape " + written.shape_text() + "; expected " + in[0].shape_text()).c_str());
  for (const Array& a : in) check_overlap(written, a, InPlace::kNever);
  FpStatus status;
  addresses.options.status = flags || how.stops.enabled_flags() != 0 ? &status : nullptr;
  {
    const Released released(written.size());
    if (!(f == kFp16 && by_bulk(wanted.operation, in, written, semantics, addresses.options)))
      by_elements(wanted.operation, f, in, written, semantics, addresses.options);
  }
  ExceptionSite site;
  site.operation = wanted.word;
  site.format = f;
  throw_if_enabled(status, how.stops, site, [&in](uint64_t i) {
    std::vector<uint64_t> codes;
    for (const Array& a : in) codes.push_back(code_at(a, i));
    return codes;
  });
  if (out.is_none() && !plain) result = in_own_dtype(std::move(result), f);
  if (!flags) return result;
  return nb::make_tuple(result, status);
}

}  // namespace

void bind_arithmetic(nb::module_& m) {
  m.def("arithmetic", arithmetic, nb::arg("operation").none(), nb::arg("operands"), nb::arg("format").none(),
        nb::arg("how"), nb::arg("where"), nb::arg("out").none(), nb::arg("flags").none());
}

}  // namespace softamp::python
