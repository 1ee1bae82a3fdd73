// quantize, dequantize and fake_quantize: arrays in blocks of small elements with scales.
#include <limits>

#include "softamp/names/block_format_names.h"
#include "softamp/tensor/block_bulk.h"
#include "src/python/arrays.h"
#include "src/python/bindings.h"
#include "src/python/calls.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/rounding.h"

namespace softamp::python {
namespace {

block::BlockFormat block_format_from(nb::handle text) { return named(text, "format", parse_block_format); }

/// Which blocks an array has: one to a scale.
struct Blocks {
  bulk::BlockLayout layout;
  std::vector<int64_t> scales_shape;
};

int64_t parts(uint64_t whole_length, int size) {
  if (size == 0) return whole_length > 0;
  return static_cast<int64_t>((whole_length + static_cast<uint64_t>(size) - 1) / static_cast<uint64_t>(size));
}

Blocks blocks_of(const std::vector<int64_t>& shape, int axis, const block::BlockFormat& f) {
  const auto rank = static_cast<int>(shape.size());
  if (rank == 0 && f.rows != 0) throw nb::value_error("x: has no axes; expected one along which blocks lie");
  if (rank > 0 && (axis < -rank || axis >= rank))
    throw nb::value_error(("axis: " + std::to_string(axis) + ": expected " + std::to_string(-rank) + " to " +
                           std::to_string(rank - 1) + " for an array of " + std::to_string(rank) +
                           (rank == 1 ? " axis" : " axes"))
                              .c_str());
  Blocks b{bulk::BlockLayout::of(shape, axis), {}};
  const uint64_t scales = bulk::scale_count(b.layout, f);
  if (f.rows == 0 || shape.empty()) {
    if (scales != 1) b.scales_shape = {static_cast<int64_t>(scales)};
  } else if (f.rows == 1) {
    b.scales_shape = shape;
    const size_t place = static_cast<size_t>(axis < 0 ? axis + static_cast<int>(shape.size()) : axis);
    b.scales_shape[place] = parts(b.layout.length, f.size);
  } else {
    b.scales_shape = {parts(b.layout.outer, f.rows), parts(b.layout.length, f.size)};
  }
  return b;
}

bulk::BulkOptions options_from(const Addresses& addresses, FpStatus* status) {
  bulk::BulkOptions options = addresses.options;
  options.status = status;
  return options;
}

/// Where elements find their random words; formats of blocks say themselves how they round.
Addresses addresses_from(nb::tuple how, nb::tuple where, size_t size, const block::BlockFormat& f) {
  return Addresses(where, Rounding::from(how), kFp32, size, f.rounding().stochastic(),
                   "a format with rounding=stochastic");
}

/// Whether there are blocks that lie along an axis.
bool has_axis(const block::BlockFormat& f) { return f.rows != 0 && f.family != block::BlockFamily::kPlain; }

/// Throws ValueError for another axis than the last where no blocks lie along it.
int axis_from(nb::handle axis, const block::BlockFormat& f) {
  const int wanted = integer(axis, "axis");
  if (wanted != -1 && !has_axis(f))
    throw nb::value_error(
        detail::idle_message("axis", block_format_text(f) + " has no blocks along an axis", "none").c_str());
  return wanted;
}

/// Throws ValueError where a format does not refer to the greatest magnitude of the tensor, which is given.
void refuse_idle_amax(const block::BlockFormat& f) {
  if (f.family != block::BlockFamily::kNvfp4)
    throw nb::value_error(
        detail::idle_message("amax", "the scales of " + block_format_text(f) + " do not refer to it", "none, or nvfp4")
            .c_str());
}

const char* scale_dtype(const block::BlockFormat& f) { return f.scale_bytes() == 4 ? "float32" : "uint8"; }

/// Of scales of a byte: e4m3 of NVFP4. Of MX it is E8M0, which no array has as its own here: uint8 alone has those.
FloatFormat scale_format(const block::BlockFormat& f) {
  return f.family == block::BlockFamily::kNvfp4 ? kE4m3 : kBinary64;
}

uint32_t amax_code(nb::handle amax) {
  if (!PyFloat_Check(amax.ptr()) && !PyLong_Check(amax.ptr()))
    throw nb::type_error(("amax: expected a magnitude, not " + shown(amax)).c_str());
  double value = std::numeric_limits<double>::quiet_NaN();  // of an integer that is too large for one
  try {
    value = PyFloat_AsDouble(given_by([&] { return PyNumber_Float(amax.ptr()); }).ptr());
  } catch (const nb::python_error& e) {
    if (!e.matches(PyExc_OverflowError)) throw;
  }
  const float narrow = static_cast<float>(value);
  if (!(narrow >= 0) || static_cast<double>(narrow) != value)
    throw nb::value_error(("amax: " + shown(amax) + ": expected a magnitude, 0 or more, that float32 holds").c_str());
  return __builtin_bit_cast(uint32_t, narrow);
}

std::span<const float> floats_of(const Array& x, std::vector<float>& made) {
  if (x.elements() == Elements::kFloat32) return x.as<float>();
  if (x.elements() != Elements::kCodes) x.refuse_type("float32, float16, or a type of ml_dtypes");
  made = x.floats();
  return made;
}

nb::object quantize(nb::handle x, nb::handle format, nb::handle axis, nb::handle amax, nb::tuple how, nb::tuple where) {
  const block::BlockFormat f = block_format_from(format);
  const Array in(x, "x");
  std::vector<float> made;
  const std::span<const float> numbers = floats_of(in, made);
  const Blocks blocks = blocks_of(in.shape(), axis_from(axis, f), f);
  const Addresses addresses = addresses_from(how, where, in.size(), f);
  const nb::object codes = new_array(in.shape(), "uint8"), scales = new_array(blocks.scales_shape, scale_dtype(f));
  Array to_codes(codes, "codes", Access::kWrite), to_scales(scales, "scales", Access::kWrite);
  std::optional<uint32_t> given_amax;
  if (!amax.is_none()) {
    given_amax = amax_code(amax);
    refuse_idle_amax(f);
  }
  FpStatus status;
  uint32_t greatest = 0;
  {
    const Released released(in.size());
    const std::span<uint8_t> scale_bytes(to_scales.to_write<uint8_t>().data(),
                                         bulk::scale_count(blocks.layout, f) * static_cast<size_t>(f.scale_bytes()));
    greatest = bulk::quantize(numbers, blocks.layout, f, to_codes.to_write<uint8_t>(), scale_bytes,
                              options_from(addresses, &status), given_amax ? &*given_amax : nullptr);
  }
  return nb::make_tuple(codes, scales, static_cast<double>(__builtin_bit_cast(float, greatest)),
                        nb::str(block_format_text(f).c_str()), status);
}

nb::object dequantize(nb::handle codes, nb::handle scales, nb::handle format, nb::handle axis, nb::handle amax,
                      nb::handle threads) {
  const block::BlockFormat f = block_format_from(format);
  const Array from_codes(codes, "codes"), from_scales(scales, "scales");
  const auto holds = [](const Array& a, const FloatFormat& own) {
    return a.elements() == Elements::kUint8 || (a.elements() == Elements::kCodes && a.format() == own);
  };
  if (f.element.integer ? from_codes.elements() != Elements::kUint8 && from_codes.elements() != Elements::kInt8
                        : !holds(from_codes, f.element.format))
    from_codes.refuse_type(("uint8, codes of " + block_format_text(f)).c_str());
  if (f.scale_bytes() == 4 ? from_scales.elements() != Elements::kFloat32
                           : f.scale_bytes() == 1 && !holds(from_scales, scale_format(f)))
    from_scales.refuse_type(scale_dtype(f));
  const Blocks blocks = blocks_of(from_codes.shape(), axis_from(axis, f), f);
  const uint64_t wanted = bulk::scale_count(blocks.layout, f);
  if (from_scales.size() != wanted)
    throw nb::value_error(("scales: has " + std::to_string(from_scales.size()) + " elements; expected " +
                           std::to_string(wanted) + " for codes of shape " + from_codes.shape_text())
                              .c_str());
  const uint64_t mask = f.element.code_mask();
  const auto bytes = from_codes.as<uint8_t>();
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] > mask)
      throw nb::value_error(("codes: element " + std::to_string(i) + " is " + std::to_string(bytes[i]) +
                             "; expected a code of " + block_format_text(f) + ", at most " + std::to_string(mask))
                                .c_str());
  const nb::object values = new_array(from_codes.shape(), "float32");
  Array out(values, "out", Access::kWrite);
  const uint32_t greatest = amax_code(amax);
  if (greatest != 0) refuse_idle_amax(f);
  bulk::BulkOptions options;
  options.threads = static_cast<int>(whole(threads, "threads", 0, 1024));
  {
    const Released released(from_codes.size());
    const std::span<const uint8_t> scale_bytes(from_scales.as<uint8_t>().data(),
                                               wanted * static_cast<size_t>(f.scale_bytes()));
    bulk::dequantize(bytes, scale_bytes, blocks.layout, f, greatest, out.to_write<float>(), options);
  }
  return values;
}

nb::object fake_quantize(nb::handle x, nb::handle format, nb::handle axis, nb::tuple how, nb::tuple where,
                         nb::handle out) {
  const block::BlockFormat f = block_format_from(format);
  const Array in(x, "x");
  std::vector<float> made;
  const std::span<const float> numbers = floats_of(in, made);
  const Blocks blocks = blocks_of(in.shape(), axis_from(axis, f), f);
  const Addresses addresses = addresses_from(how, where, in.size(), f);
  nb::object values = out.is_none() ? new_array(in.shape(), "float32") : nb::borrow(out);
  Array written(values, "out", Access::kWrite);
  if (written.elements() != Elements::kFloat32) written.refuse_type("float32");
  if (written.shape() != in.shape())
    throw nb::value_error(
        ("out: has the shape " + written.shape_text() + "; expected that of x, " + in.shape_text()).c_str());
  check_overlap(written, in, InPlace::kSameElements);
  const Released released(in.size());
  bulk::fake_quantize(numbers, blocks.layout, f, written.to_write<float>(), options_from(addresses, nullptr));
  return values;
}

}  // namespace

void bind_blocks(nb::module_& m) {
  m.def(
      "block_shape",
      [](nb::handle format) {
        const block::BlockFormat f = block_format_from(format);
        return has_axis(f) ? nb::make_tuple(f.rows, f.size) : nb::make_tuple(0, 0);
      },
      nb::arg("format").none());
  m.def(
      "block_draws", [](nb::handle format) { return block_format_from(format).rounding().stochastic(); },
      nb::arg("format").none());
  m.def("quantize", quantize, nb::arg("x").none(), nb::arg("format").none(), nb::arg("axis").none(),
        nb::arg("amax").none(), nb::arg("how"), nb::arg("where"));
  m.def("dequantize", dequantize, nb::arg("codes").none(), nb::arg("scales").none(), nb::arg("format").none(),
        nb::arg("axis").none(), nb::arg("amax").none(), nb::arg("threads").none());
  m.def("fake_quantize", fake_quantize, nb::arg("x").none(), nb::arg("format").none(), nb::arg("axis").none(),
        nb::arg("how"), nb::arg("where"), nb::arg("out").none());
}

}  // namespace softamp::python
