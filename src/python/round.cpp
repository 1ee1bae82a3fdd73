// softamp.round and softamp.widen: arrays of numbers to a format and back.
#include <nanobind/stl/optional.h>

#include <chrono>

#include "softamp/chips/chip_table.h"
#include "softamp/findings/exception.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/random.h"
#include "softamp/tensor/device_round.h"
#include "src/names/name_rows.h"
#include "src/python/arrays.h"
#include "src/python/bindings.h"
#include "src/python/errors.h"
#include "src/python/format_class.h"
#include "src/python/gil.h"
#include "src/python/rounding.h"

namespace softamp::python {
namespace {

/// Calls `use` with the elements as float or double, of which codes are made the numbers that they stand for.
template <typename Use>
void with_numbers(const Array& in, Use use) {
  switch (in.elements()) {
    case Elements::kFloat32: return use(in.as<float>());
    case Elements::kFloat64: return use(in.as<double>());
    case Elements::kCodes: {
      std::vector<float> values(in.size());
      const auto widen = [&](auto codes) {
        bulk::widen(codes, in.format(), std::span<float>(values), Semantics::ieee());
      };
      in.item_bytes() == 1 ? widen(in.as<uint8_t>()) : widen(in.as<uint16_t>());
      return use(std::span<const float>(values));
    }
    default: in.refuse_type("float32, float64, float16, or a type of ml_dtypes");
  }
}

/// Calls `use` with the codes of an array as unsigned integers of its width.
template <typename Use>
void with_codes(Array& out, Use use) {
  switch (out.item_bytes()) {
    case 1: return use(out.to_write<uint8_t>());
    case 2: return use(out.to_write<uint16_t>());
    default: return use(out.to_write<uint32_t>());
  }
}

bool is_unsigned(Elements e) { return e == Elements::kUint8 || e == Elements::kUint16 || e == Elements::kUint32; }

enum class Result : uint8_t { kAuto, kCodes, kValues };

Result result_from(nb::handle object) {
  static constexpr name_rows::Row<Result> kResults[] = {
      {Result::kAuto, {"auto"}}, {Result::kCodes, {"codes"}}, {Result::kValues, {"values"}}};
  return named(object, "result",
               [](std::string_view text) { return name_rows::value_from_name("result", kResults, text); });
}

/// Where the result goes: whether as values, and the array; codes of a new one may go by another dtype at the end.
struct Target {
  bool values;
  nb::object object;
  bool own_dtype = false;
};

Target target_of(nb::handle given, Result result, const FloatFormat& to, const Array& x) {
  if (given.is_none()) {
    const bool values = result == Result::kValues || (result == Result::kAuto && to == kFp32);
    if (values) return {true, new_array(x.shape(), "float32")};
    return {false, new_codes(x.shape(), to, result == Result::kCodes), result == Result::kAuto};
  }
  if (result != Result::kAuto) throw nb::value_error("result: expected \"auto\" beside out, whose type decides");
  return {false, nb::borrow(given)};
}

void check_out(const Array& out, const Array& x, const FloatFormat& to, bool values) {
  if (out.shape() != x.shape())
    throw nb::value_error(
        ("out: has the shape " + out.shape_text() + "; expected that of x, " + x.shape_text()).c_str());
  if (!values) check_codes(out, to, "float32 for values, or ");
  check_overlap(out, x, InPlace::kSameElements);
}

/// Raises the enabled exception of the lowest element.
void stop_on(const FpStatus& status, const Rounding& how, const char* operation) {
  ExceptionSite site;
  site.operation = operation;
  throw_if_enabled(status, how.stops, site);
}

/// round where x lies on a CUDA device: there.
nb::object round_on_device(const Array& in, const FloatFormat& to, const Rounding& how, bulk::BulkOptions& options,
                           nb::handle out, bool flags) {
  const std::string device = "CUDA device " + std::to_string(*in.device());
  if (in.elements() != Elements::kFloat32) in.refuse_type("float32, which devices round");
  if (options.random.words || options.random.slice)
    throw nb::value_error(("x: lies on " + device + "; expected no random_words or packed there").c_str());
  if (out.is_none())
    throw nb::value_error(("x: lies on " + device + "; expected the CPU, or out on that device").c_str());
  Array written(out, "out", Access::kWrite, Place::kAnywhere);
  if (written.device() != in.device())
    throw nb::value_error(("out: lies on another device than x; expected " + device).c_str());
  const bool values = written.elements() == Elements::kFloat32;
  check_out(written, in, to, values);
  FpStatus status;
  options.status = flags || how.stops.enabled_flags() != 0 ? &status : nullptr;
  {
    const Released released;
    bulk::round_on_device(
        {*in.device(), in.as<float>().data(), in.size(), to, values, written.to_write<std::byte>().data()},
        how.semantics(to), options);
  }
  stop_on(status, how, "round");
  if (!flags) return nb::borrow(out);
  return nb::make_tuple(nb::borrow(out), status);
}

nb::object round(nb::handle x, nb::handle format, nb::tuple how_values, nb::tuple address_values, nb::handle out,
                 nb::handle result, nb::handle with_flags) {
  const bool flags = truth(with_flags, "flags");
  const FloatFormat to = compute_format_from(format);
  const Rounding how = Rounding::from(how_values);
  const Array in(x, "x", Access::kRead, Place::kAnywhere);
  Addresses addresses(address_values, how, to, in.size());
  const Semantics semantics = how.semantics(to);
  if (how.chip && in.elements() == Elements::kFloat64) in.refuse_type("float32, which chips round");
  if (how.chip && chip_rounding(*how.chip, to).from != kFp32)
    throw nb::value_error(("chip: " + name_of(*how.chip) + " makes " + format_name(to) + " from " +
                           format_name(chip_rounding(*how.chip, to).from) +
                           "; expected a format that it makes from fp32")
                              .c_str());
  const Result wanted = result_from(result);
  if (in.device()) return round_on_device(in, to, how, addresses.options, out, flags);
  Target target = target_of(out, wanted, to, in);
  Array written(target.object, "out", Access::kWrite);
  if (written.elements() == Elements::kFloat32) target.values = true;
  check_out(written, in, to, target.values);
  FpStatus status;
  const bool watched = flags || how.stops.enabled_flags() != 0;
  if (watched) addresses.options.status = &status;
  with_numbers(in, [&](auto numbers) {
    const Released released(in.size());
    if (target.values)
      bulk::round_values(numbers, to, written.to_write<float>(), semantics, addresses.options);
    else
      with_codes(written, [&](auto codes) { bulk::round(numbers, to, codes, semantics, addresses.options); });
  });
  stop_on(status, how, "round");
  if (target.own_dtype) target.object = in_own_dtype(std::move(target.object), to);
  if (!flags) return target.object;
  return nb::make_tuple(target.object, status);
}

/// round of one number, given as text: exactly, in an array without axes.
nb::object round_number(nb::handle number_text, nb::handle format, nb::tuple how_values, nb::tuple address_values,
                        nb::handle out, nb::handle result, nb::handle with_flags) {
  const bool flags = truth(with_flags, "flags");
  const FloatFormat to = compute_format_from(format);
  const Rounding how = Rounding::from(how_values);
  const ParsedNumber number = number_from(number_text, "x");
  if (how.chip) throw nb::type_error("x: is one number; expected an array of float32, which chips round");
  const Addresses addresses(address_values, how, to, 1);
  const bulk::RandomSource& source = addresses.options.random;
  const RoundingPolicy policy = how.semantics(to).rounding(to);
  const RandomBits bits{source.seed, source.engine == RandomEngine::kPhilox7 ? 7 : 10};
  uint32_t word = 0;
  if (policy.stochastic())
    word = source.words ? source.words[0]
                        : bits.bits(source.step, source.operation, source.first_index, policy.random_bits);
  const Rounded rounded = to_code(to, number, policy, word);
  const nb::object like = new_array({}, "float64");
  const Array shape(like, "x");
  Target target = target_of(out, result_from(result), to, shape);
  Array written(target.object, "out", Access::kWrite);
  if (written.elements() == Elements::kFloat32) target.values = true;
  check_out(written, shape, to, target.values);
  if (target.values)
    written.to_write<float>()[0] = fp::to_float(to, rounded.code);
  else
    with_codes(written,
               [&](auto codes) { codes[0] = static_cast<std::remove_reference_t<decltype(codes[0])>>(rounded.code); });
  FpStatus status;
  if (rounded.flags != 0) status.raise(rounded.flags, 0);
  stop_on(status, how, "round");
  if (target.own_dtype) target.object = in_own_dtype(std::move(target.object), to);
  if (!flags) return target.object;
  return nb::make_tuple(target.object, status);
}

/// Seconds that bulk::round alone takes for float32 to codes of 16 bits: what bench/python_round.py compares `round`
/// with.
double seconds_of_bulk_round(nb::handle x, nb::handle out, nb::handle format, nb::tuple how_values,
                             nb::tuple address_values) {
  const FloatFormat to = compute_format_from(format);
  const Rounding how = Rounding::from(how_values);
  const Array in(x, "x");
  Array written(out, "out", Access::kWrite);
  if (in.elements() != Elements::kFloat32) in.refuse_type("float32");
  if (code_bytes(to) != 2) throw nb::value_error("format: expected one whose codes have 16 bits");
  check_out(written, in, to, false);
  const Addresses addresses(address_values, how, to, in.size());
  const Semantics semantics = how.semantics(to);
  const auto begun = std::chrono::steady_clock::now();
  bulk::round(in.as<float>(), to, written.to_write<uint16_t>(), semantics, addresses.options);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/// Codes to numbers: the format is that of the dtype, or is named.
nb::object widen(nb::handle codes, nb::handle format, nb::handle as_float64, nb::handle out, nb::handle threads) {
  const bool wide = truth(as_float64, "wide");
  const Array in(codes, "codes");
  FloatFormat from = in.format();
  if (!format.is_none()) from = format_from(format);
  if (in.elements() == Elements::kCodes ? in.format() != from : !is_unsigned(in.elements()) || format.is_none())
    in.refuse_type(format.is_none() ? "a dtype with a format, or unsigned integers and the format's name"
                                    : "unsigned integers, or the format's own dtype");
  if (is_unsigned(in.elements()) && in.item_bytes() != code_bytes(from))
    in.refuse_type(("uint" + std::to_string(8 * code_bytes(from)) + " for codes of " + format_name(from)).c_str());
  nb::object result = out.is_none() ? new_array(in.shape(), wide ? "float64" : "float32") : nb::borrow(out);
  Array written(result, "out", Access::kWrite);
  if (written.shape() != in.shape())
    throw nb::value_error(
        ("out: has the shape " + written.shape_text() + "; expected that of codes, " + in.shape_text()).c_str());
  if (written.elements() != Elements::kFloat32 && written.elements() != Elements::kFloat64)
    written.refuse_type("float32 or float64");
  check_overlap(written, in, InPlace::kNever);
  bulk::BulkOptions options;
  options.threads = static_cast<int>(whole(threads, "threads", 0, 1024));
  const auto to_all = [&](auto elements) {
    const Released released(in.size());
    if (written.elements() == Elements::kFloat32)
      bulk::widen(elements, from, written.to_write<float>(), Semantics::ieee(), options);
    else
      bulk::widen(elements, from, written.to_write<double>(), Semantics::ieee(), options);
  };
  if (in.item_bytes() == 1)
    to_all(in.as<uint8_t>());
  else if (in.item_bytes() == 2)
    to_all(in.as<uint16_t>());
  else
    to_all(in.as<uint32_t>());
  return result;
}

}  // namespace

void bind_round(nb::module_& m) {
  m.def("round", round, nb::arg("x").none(), nb::arg("format").none(), nb::arg("how"), nb::arg("where"),
        nb::arg("out").none(), nb::arg("result").none(), nb::arg("flags").none());
  m.def("round_number", round_number, nb::arg("x").none(), nb::arg("format").none(), nb::arg("how"), nb::arg("where"),
        nb::arg("out").none(), nb::arg("result").none(), nb::arg("flags").none());
  m.def(
      "format_of_codes",
      [](nb::handle x) -> std::optional<Format> {
        try {
          const Array a(x, "x", Access::kRead, Place::kAnywhere);
          return a.elements() == Elements::kCodes ? std::optional(Format{a.format()}) : std::nullopt;
        } catch (const nb::builtin_exception&) {
        } catch (const nb::python_error& e) {
          if (!e.matches(PyExc_Exception)) throw;
        }
        return std::nullopt;  // no array: who takes it says so
      },
      nb::arg("x").none());
  m.def("seconds_of_bulk_round", seconds_of_bulk_round);
  m.def(
      "draws", [](nb::handle format, nb::tuple how) { return Rounding::from(how).draws(compute_format_from(format)); },
      nb::arg("format").none(), nb::arg("how"));
  m.def("refuse_idle", [](nb::list asked, bool draws) {
    std::vector<std::string_view> keys;
    for (const nb::handle key : asked) keys.push_back(word(key, "asked"));
    refuse_idle(keys, {.stochastic = draws});
  });
  m.def("widen", widen, nb::arg("codes").none(), nb::arg("format").none(), nb::arg("wide").none(),
        nb::arg("out").none(), nb::arg("threads").none());
}

}  // namespace softamp::python
