#include "src/graph/json_tensor.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "softamp/data/npy.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "src/graph/base64.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"

namespace softamp::graph_detail {
namespace {

constexpr int64_t kMostWrittenAsNumbers = 64;

/// "0x3c00" as a code of `bits` bits; empty for other texts.
// implements: N214
std::optional<uint64_t> parse_code(const std::string& text, size_t bits, const std::string& place) {
  if (!text.starts_with("0x") || text.find_first_of("pP.") != std::string::npos) return std::nullopt;
  uint64_t code = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + 2, end, code, 16);
  if (read.ec != std::errc{} || read.ptr != end || (bits < 64 && code >> bits != 0))
    fail_at(place, "'" + files::excerpt(text) + "' is no code of " + std::to_string(bits) + " bits in hexadecimal");
  return code;
}

/// A float's element: numbers are rounded to nearest even from binary64; texts are rounded once.
// implements: N214
uint64_t float_code(const Json& value, DType dtype, const std::string& place) {
  const FloatFormat format = format_of(dtype);
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (const auto code = parse_code(text, 8 * size_of(dtype), place)) return *code;
    const ParsedNumber number = parse_number(text.substr(0, 2000));
    if (text.size() > 2000 || number.kind == ParsedNumber::Kind::kMalformed)
      fail_at(place, "'" + files::excerpt(text) + "' is no number: expected decimal, nan, inf, -inf or a code 0x3c00");
    const uint64_t code = to_code(format, number).code;
    // Binary64 numbers are read as JSON's are: none becomes infinite, or zero.
    const bool finite = number.kind == ParsedNumber::Kind::kFinite;
    if (dtype == DType::kFloat64 && finite &&
        (!format.is_finite(code) || (format.is_zero(code) && number.value.significand != 0)))
      fail_at(place, "'" + files::excerpt(text) + "' is no number in the range of float64");
    return code;
  }
  if (!value.is_number()) fail_at(place, "expected a number, found " + found(value));
  const double number = value.get<double>();
  return dtype == DType::kFloat64 ? __builtin_bit_cast(uint64_t, number) : fp::from_double(format, number);
}

uint64_t element_code(const Json& value, DType dtype, const std::string& place) {
  if (is_floating(dtype)) return float_code(value, dtype, place);
  if (dtype == DType::kBool) {
    if (value.is_boolean()) return value.get<bool>();
    if (const auto bit = whole_number_in<uint64_t>(value, 0, 1)) return *bit;
    fail_at(place, "expected true or false, found " + found(value));
  }
  if (value.is_string())
    if (const auto code = parse_code(value.get_ref<const std::string&>(), 8 * size_of(dtype), place)) return *code;
  if (dtype == DType::kInt64) {
    if (const auto wide = whole_number_in<int64_t>(value)) return static_cast<uint64_t>(*wide);
    fail_at(place, "expected an int64, found " + found(value));
  }
  if (dtype == DType::kUint8) {
    if (const auto byte = whole_number_in<uint64_t>(value, 0, 255)) return *byte;
    fail_at(place, "expected a number from 0 to 255, found " + found(value));
  }
  const auto number = whole_number_in<int32_t>(value);
  if (!number) fail_at(place, "expected an int32, found " + found(value));
  return static_cast<uint32_t>(*number);
}

void store(Tensor& tensor, size_t i, uint64_t code) {
  const size_t size = size_of(tensor.dtype());
  std::memcpy(static_cast<std::byte*>(tensor.data()) + i * size, &code, size);
}

Tensor read_values(const Json& values, const TensorType& type, const std::string& place) {
  if (!values.is_array()) fail_at(place, "'values': expected a list of numbers, found " + found(values));
  if (values.size() != static_cast<uint64_t>(type.shape.elements()))
    fail_at(place, "'values' has " + std::to_string(values.size()) + " numbers; shape " + type.shape.text() +
                       " expects " + std::to_string(type.shape.elements()));
  Tensor tensor(type);
  for (size_t i = 0; i < values.size(); ++i)
    store(tensor, i, element_code(values[i], type.dtype, place + "'values'[" + std::to_string(i) + "]: "));
  return tensor;
}

Tensor read_base64(const Json& text, const TensorType& type, const std::string& place) {
  if (!text.is_string()) fail_at(place, "'base64': expected a string, found " + found(text));
  const std::string& letters = text.get_ref<const std::string&>();
  // The length is checked first, so that a shape alone allocates nothing.
  if (letters.size() != (type.bytes() + 2) / 3 * 4)
    fail_at(place, "'base64' has " + std::to_string(letters.size()) + " letters; " + std::to_string(type.bytes()) +
                       " bytes expect " + std::to_string((type.bytes() + 2) / 3 * 4));
  Tensor tensor(type);
  if (!base64_decode(letters, static_cast<uint8_t*>(tensor.data()), type.bytes()))
    fail_at(place, "'base64' holds something other than base64 with its padding");
  if (type.dtype == DType::kBool)
    for (const uint8_t b : tensor.as<uint8_t>())
      if (b > 1) fail_at(place, "'base64': a bool is " + std::to_string(b) + "; expected 0 or 1");
  return tensor;
}

Tensor read_npy(const Json& text, const TensorType& type, const JsonOptions& options, const std::string& place) {
  if (!text.is_string()) fail_at(place, "'npy': expected a file name, found " + found(text));
  const std::filesystem::path file = text.get<std::string>();
  if (options.folder.empty()) fail_at(place, "'npy': no folder is given in which such files would lie");
  bool inside = file.is_relative() && !file.empty() && !file.has_root_path();
  for (const std::filesystem::path& part : file) inside = inside && part != "..";
  if (!inside || file.string().find('\0') != std::string::npos)
    fail_at(place, "'npy' is '" + files::excerpt(file.string()) + "'; expected a relative path without '..'");
  try {
    const std::filesystem::path path = options.folder / file;
    if (options.npy_files) options.npy_files->push_back(path);
    const npy::Header header = npy::Reader(path.string()).header();  // before anything is allocated
    if (!std::equal(header.shape.begin(), header.shape.end(), type.shape.begin(), type.shape.end(),
                    [](uint64_t a, int64_t b) { return a == static_cast<uint64_t>(b); }))
      fail_at(place, "'npy': the file has shape " + npy::shape_text(header.shape) + "; expected " + type.shape.text());
    Tensor tensor = load_npy(path, type.dtype == DType::kBFloat16);
    if (tensor.type() != type)
      fail_at(place, "'npy': the file holds " + tensor.type().text() + "; expected " + type.text());
    return tensor;
  } catch (const npy::Error& e) {
    fail_at(place, std::string("'npy': ") + e.what());
  }
}

}  // namespace

void fail_at(const std::string& place, const std::string& message) { throw GraphError(place + message); }

std::string found(const Json& value) {
  const std::string text = value.is_structured() ? "" : " " + value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return std::string(value.type_name()) + files::excerpt(text);
}

Shape read_shape(const Json& value, const std::string& place) {
  if (!value.is_array()) fail_at(place, "expected a list of dimensions, found " + found(value));
  std::vector<int64_t> extents;
  for (const Json& extent : value) {
    if (!extent.is_number_integer()) fail_at(place, "expected a dimension, an integer from 0, found " + found(extent));
    const auto number = whole_number_in<int64_t>(extent);
    if (!number) fail_at(place, "dimension " + extent.dump() + " is above 2^40");
    extents.push_back(*number);
  }
  try {
    return Shape(std::span<const int64_t>(extents));
  } catch (const std::invalid_argument& e) {
    fail_at(place, e.what());
  }
}

DType read_dtype(const Json& value, const std::string& place) {
  const auto dtype = value.is_string() ? parse_dtype(value.get_ref<const std::string&>()) : std::nullopt;
  if (!dtype)
    fail_at(place,
            "expected float16, bfloat16, float32, float64, int32, bool, int64, uint8 or string, found " + found(value));
  return *dtype;
}

double read_float(const Json& value, const std::string& place) {
  return __builtin_bit_cast(double, float_code(value, DType::kFloat64, place));
}

Tensor read_tensor(const Json& value, const JsonOptions& options, uint64_t& budget, const std::string& place) {
  if (!value.is_object()) fail_at(place, "expected {\"dtype\", \"shape\", \"values\"}, found " + found(value));
  const Json* content = nullptr;
  std::string how;
  for (const auto& [key, field] : value.items()) {
    if (key == "dtype" || key == "shape") continue;
    if (key != "values" && key != "base64" && key != "npy")
      fail_at(place,
              "unknown field '" + files::excerpt(key) + "'; expected 'dtype', 'shape' and 'values', 'base64' or 'npy'");
    if (content) fail_at(place, "'" + how + "' and '" + key + "'; expected one of them");
    content = &field;
    how = key;
  }
  for (const char* needed : {"dtype", "shape"})
    if (!value.contains(needed)) fail_at(place, std::string("the field '") + needed + "' is missing");
  if (!content) fail_at(place, "the field 'values' (or 'base64', 'npy') is missing");
  const TensorType type{read_dtype(value["dtype"], place + "'dtype': "),
                        read_shape(value["shape"], place + "'shape': ")};
  if (type.bytes() > budget)
    fail_at(place, std::to_string(type.bytes()) + " bytes, where constants may have " +
                       std::to_string(options.most_constant_bytes) + " in all");
  budget -= type.bytes();
  if (how == "values") return read_values(*content, type, place);
  return how == "base64" ? read_base64(*content, type, place) : read_npy(*content, type, options, place);
}

WrittenJson write_float(double value) {
  const uint64_t bits = __builtin_bit_cast(uint64_t, value);
  if (kBinary64.is_finite(bits)) return value;
  if (kBinary64.is_infinity(bits)) return value < 0 ? "-inf" : "inf";
  if (bits == nan_code(kBinary64, NanPattern::kQuiet)) return "nan";
  return code_text(kBinary64, bits);
}

WrittenJson write_tensor(const Tensor& tensor) {
  WrittenJson json{{"dtype", name_of(tensor.dtype())}, {"shape", WrittenJson::array()}};
  for (const int64_t extent : tensor.shape()) json["shape"].push_back(extent);
  if (tensor.elements() > kMostWrittenAsNumbers) {
    json["base64"] = base64_encode(static_cast<const uint8_t*>(tensor.data()), tensor.bytes());
    return json;
  }
  WrittenJson& values = json["values"] = WrittenJson::array();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.value(i);
    if (tensor.dtype() == DType::kBool)
      values.push_back(value != 0);
    else if (tensor.dtype() == DType::kInt32)
      values.push_back(static_cast<int32_t>(value));
    else if (value == value)
      values.push_back(write_float(value));
    else if (tensor.code(i) == nan_code(format_of(tensor.dtype()), NanPattern::kQuiet))
      values.push_back("nan");
    else
      values.push_back(code_text(format_of(tensor.dtype()), tensor.code(i)));
  }
  return json;
}

}  // namespace softamp::graph_detail
