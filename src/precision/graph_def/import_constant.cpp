// The tensors of a GraphDef: raw bytes, or a list of values of which the last is repeated.
#include <bit>
#include <cstring>

#include "src/precision/graph_def/import.h"

namespace softamp::graph_def_detail {
namespace {

using graph_def::TensorProto;

constexpr int64_t kLeastSplat = 1024;  // elements of one value that are worth a Fill

Shape shape_of(const TensorProto& proto) {
  if (proto.tensor_shape().unknown_rank()) throw std::invalid_argument("its tensor has no known rank");
  std::vector<int64_t> extents;
  for (const auto& dim : proto.tensor_shape().dim()) extents.push_back(dim.size());
  return Shape(extents);
}

/// Integers of a type of the file, in the dtype that a constant of them has here.
DType held_dtype(int type) {
  switch (type) {
    case graph_def::DT_INT64: return DType::kInt64;
    case graph_def::DT_UINT8: return DType::kUint8;
    default: return *run_dtype(static_cast<ElementType>(type));
  }
}

/// The size of an element in the file where it differs from that here; 0: it does not.
size_t narrow_size(int type) {
  switch (type) {
    case graph_def::DT_INT8: return 1;
    case graph_def::DT_INT16:
    case graph_def::DT_UINT16: return 2;
    default: return 0;
  }
}

/// Little-endian integers of 8 or 16 bits.
int32_t narrow_value(const char* at, int type) {
  const auto byte = [&](int i) { return static_cast<uint8_t>(at[i]); };
  if (type == graph_def::DT_INT8) return static_cast<int8_t>(byte(0));
  const auto both = static_cast<uint16_t>(byte(0) | byte(1) << 8);
  return type == graph_def::DT_INT16 ? static_cast<int16_t>(both) : both;
}

Tensor from_content(const TensorProto& proto, DType dtype, const Shape& shape) {
  const std::string& bytes = proto.tensor_content();
  const size_t narrow = narrow_size(proto.dtype()), size = narrow ? narrow : size_of(dtype);
  const auto count = static_cast<size_t>(shape.elements());
  if (bytes.size() != count * size)
    throw std::invalid_argument("its tensor_content has " + std::to_string(bytes.size()) + " bytes; expected " +
                                std::to_string(count * size) + " for " + std::string(softamp::name_of(dtype)) +
                                shape.text());
  Tensor tensor(dtype, shape);
  if (narrow) {
    for (size_t i = 0; i < count; ++i) tensor.as<int32_t>()[i] = narrow_value(bytes.data() + i * size, proto.dtype());
    return tensor;
  }
  if (count > 0) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  if (dtype == DType::kBool)
    for (uint8_t& b : tensor.as<uint8_t>()) b = b != 0;
  if (proto.dtype() == graph_def::DT_UINT32)
    for (const int32_t v : tensor.as<int32_t>())
      if (v < 0) throw std::invalid_argument("its tensor has integers above 2^31 - 1; expected 32 bits with a sign");
  return tensor;
}

/// Element i of the list of the tensor's type, as the code of an element of `dtype`.
class ValueList {
 public:
  explicit ValueList(const TensorProto& proto) : proto_(proto) {}
  int64_t size() const {
    switch (proto_.dtype()) {
      case graph_def::DT_FLOAT: return proto_.float_val_size();
      case graph_def::DT_DOUBLE: return proto_.double_val_size();
      case graph_def::DT_HALF:
      case graph_def::DT_BFLOAT16: return proto_.half_val_size();
      case graph_def::DT_INT64: return proto_.int64_val_size();
      case graph_def::DT_BOOL: return proto_.bool_val_size();
      case graph_def::DT_UINT32: return proto_.uint32_val_size();
      default: return proto_.int_val_size();
    }
  }
  uint64_t code(int64_t at) const {
    const int i = static_cast<int>(at);
    switch (proto_.dtype()) {
      case graph_def::DT_FLOAT: return std::bit_cast<uint32_t>(proto_.float_val(i));
      case graph_def::DT_DOUBLE: return std::bit_cast<uint64_t>(proto_.double_val(i));
      case graph_def::DT_HALF:
      case graph_def::DT_BFLOAT16:
        if (proto_.half_val(i) < 0 || proto_.half_val(i) > 0xffff)
          throw std::invalid_argument("its half_val " + std::to_string(proto_.half_val(i)) +
                                      " is no code of 16 bits; expected 0 .. 65535");
        return static_cast<uint64_t>(proto_.half_val(i));
      case graph_def::DT_INT64: return static_cast<uint64_t>(proto_.int64_val(i));
      case graph_def::DT_BOOL: return proto_.bool_val(i);
      case graph_def::DT_UINT32:
        if (proto_.uint32_val(i) > INT32_MAX)
          throw std::invalid_argument("its uint32_val " + std::to_string(proto_.uint32_val(i)) + " is above 2^31 - 1");
        return proto_.uint32_val(i);
      default: return integer(proto_.int_val(i));
    }
  }
  /// Refuses values in a list that is not that of the tensor's type: they would be read as zeros.
  void check_alone() const {
    const int all = proto_.float_val_size() + proto_.double_val_size() + proto_.half_val_size() +
                    proto_.int64_val_size() + proto_.bool_val_size() + proto_.uint32_val_size() +
                    proto_.uint64_val_size() + proto_.int_val_size();
    if (all != size())
      throw std::invalid_argument("its tensor of type " + graph_def::DataType_Name(proto_.dtype()) +
                                  " has values in the list of another type; expected them in its own");
  }

 private:
  uint64_t integer(int32_t value) const {
    const auto within = [&](int32_t least, int32_t greatest) {
      if (value < least || value > greatest)
        throw std::invalid_argument("its int_val " + std::to_string(value) + " is no " +
                                    graph_def::DataType_Name(proto_.dtype()) + "; expected " + std::to_string(least) +
                                    " .. " + std::to_string(greatest));
    };
    switch (proto_.dtype()) {
      case graph_def::DT_UINT8: within(0, UINT8_MAX); break;
      case graph_def::DT_INT8: within(INT8_MIN, INT8_MAX); break;
      case graph_def::DT_UINT16: within(0, UINT16_MAX); break;
      case graph_def::DT_INT16: within(INT16_MIN, INT16_MAX); break;
      default: break;
    }
    return static_cast<uint32_t>(value);
  }

  const TensorProto& proto_;
};

void put(Tensor& tensor, int64_t i, uint64_t code) {
  std::memcpy(static_cast<std::byte*>(tensor.data()) + static_cast<size_t>(i) * size_of(tensor.dtype()), &code,
              size_of(tensor.dtype()));
}

}  // namespace

ConstantValue constant_of(const TensorProto& proto, Importer& importer) {
  static_assert(std::endian::native == std::endian::little);
  const Shape shape = shape_of(proto);
  ConstantValue result{{}, false, held_dtype(proto.dtype()), shape, 0};
  if (!proto.tensor_content().empty()) {
    result.tensor = from_content(proto, result.dtype, shape);
    return result;
  }
  const ValueList list(proto);
  list.check_alone();
  const int64_t given = list.size(), count = shape.elements();
  if (given > count)
    throw std::invalid_argument("its tensor has " + std::to_string(given) + " values; expected at most " +
                                std::to_string(count) + " for shape " + shape.text());
  if (given <= 1 && count >= kLeastSplat) {
    Tensor one(result.dtype, Shape{});
    if (given == 1) put(one, 0, list.code(0));
    if (result.dtype == DType::kInt64 || result.dtype == DType::kUint8) {
      one = tensor_of(DType::kInt32, Shape{}, integers_of(one));
      result.dtype = DType::kInt32;
    }
    result.splat = true;
    result.value = one.value(0);
    return result;
  }
  importer.count_expanded((count - given) * static_cast<int64_t>(size_of(result.dtype)));
  result.tensor = Tensor(result.dtype, shape);
  for (int64_t i = 0; i < count && given > 0; ++i) put(result.tensor, i, list.code(std::min(i, given - 1)));
  return result;
}

}  // namespace softamp::graph_def_detail
