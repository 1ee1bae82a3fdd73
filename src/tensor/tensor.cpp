#include "softamp/tensor/tensor.h"

#include <sys/mman.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"

namespace softamp {
namespace {

constexpr size_t kAlignment = 64;

/// std::bad_alloc that names the tensor.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(const TensorType& type)
      : message_(std::make_shared<const std::string>("out of memory: " + std::to_string(type.bytes()) +
                                                     " bytes for a tensor " + type.text())) {}
  const char* what() const noexcept override { return message_->c_str(); }

 private:
  std::shared_ptr<const std::string> message_;
};

/// The whole number nearest to `value`, ties to even. Throws for one outside [least, end).
int64_t whole(DType dtype, double value, double least, double end) {
  double nearest = std::trunc(value);
  const double rest = std::fabs(value - nearest);  // exact
  if (rest > 0.5 || (rest == 0.5 && std::fmod(nearest, 2) != 0)) nearest += std::copysign(1, value);
  if (!(nearest >= least && nearest < end))
    throw std::invalid_argument(shortest_decimal(value) + " is no " + name_of(dtype) + ": expected a number from " +
                                (dtype == DType::kInt64 ? "-2^63 to 2^63 - 1" : "0 to 255"));
  return static_cast<int64_t>(nearest);
}

/// `value` as a code of `dtype`, rounded to nearest even.
uint64_t encode(DType dtype, double value) {
  const uint64_t bits = __builtin_bit_cast(uint64_t, value);
  switch (dtype) {
    case DType::kFloat64: return bits;
    case DType::kBool: return bits << 1 != 0;
    case DType::kInt32: {
      const Rounded r = fp::to_int32(kBinary64, bits, Semantics::ieee());
      if (r.flags & kInvalid)
        throw std::invalid_argument(shortest_decimal(value) + " is no int32: expected a number from -2^31 to 2^31 - 1");
      return r.code;
    }
    case DType::kInt64: return static_cast<uint64_t>(whole(dtype, value, -0x1p63, 0x1p63));
    case DType::kUint8: return static_cast<uint64_t>(whole(dtype, value, 0, 0x1p8));
    default: return fp::from_double(format_of(dtype), value);
  }
}

void store(void* data, DType dtype, int64_t i, uint64_t code) {
  const size_t size = size_of(dtype);
  std::memcpy(static_cast<std::byte*>(data) + static_cast<size_t>(i) * size, &code, size);  // little-endian
}

/// Large tensors in huge pages, where the system has them on request: what goes over a tensor looks up fewer pages, and
/// so does the kernel that copies it from one process to another (bench/exchange.cpp).
void prefer_huge_pages(void* block, size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr size_t kHuge = size_t{1} << 21;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(block) + kHuge - 1) / kHuge * kHuge;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(block) + bytes) / kHuge * kHuge;
  if (begin >= end) return;
  const int why = errno;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  errno = why;
#endif
}

}  // namespace

void Tensor::Free::operator()(std::byte* p) const { std::free(reinterpret_cast<void**>(p)[-1]); }

Tensor::Tensor(const TensorType& type) : type_(type) {
  if (type.dtype == DType::kString)
    throw std::invalid_argument("a tensor " + type.text() +
                                ": there are no tensors of strings; a graph can only pass " + "them on");
  // calloc, so that a large tensor's zero pages come from the system, untouched. The block's own address is stored
  // before the data.
  void* const block = std::calloc(type.bytes() + 2 * kAlignment, 1);
  if (!block) throw NoMemory(type);
  prefer_huge_pages(block, type.bytes());
  const size_t misfit = (reinterpret_cast<uintptr_t>(block) + sizeof(void*)) % kAlignment;
  std::byte* const data = static_cast<std::byte*>(block) + sizeof(void*) + (misfit ? kAlignment - misfit : 0);
  reinterpret_cast<void**>(data)[-1] = block;
  data_.reset(data);
}

Tensor Tensor::clone() const {
  Tensor copy(type_);
  if (bytes() > 0) std::memcpy(copy.data(), data(), bytes());
  return copy;
}

Tensor Tensor::from_values(DType dtype, const Shape& shape, ListView<double> values) {
  if (static_cast<uint64_t>(shape.elements()) != values.size())
    throw std::invalid_argument(std::to_string(values.size()) + " values for a tensor of shape " + shape.text() +
                                "; expected " + std::to_string(shape.elements()));
  Tensor tensor(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i)
    store(tensor.data(), dtype, static_cast<int64_t>(i), encode(dtype, values[i]));
  return tensor;
}

Tensor Tensor::full(DType dtype, const Shape& shape, double value) {
  Tensor tensor(dtype, shape);
  const uint64_t code = encode(dtype, value);
  if (code != 0)
    for (int64_t i = 0; i < shape.elements(); ++i) store(tensor.data(), dtype, i, code);
  return tensor;
}

uint64_t Tensor::code(int64_t i) const {
  if (i < 0 || i >= elements())
    throw std::out_of_range("element " + std::to_string(i) + " of a tensor " + type_.text());
  const size_t size = size_of(dtype());
  uint64_t code = 0;
  std::memcpy(&code, data_.get() + static_cast<size_t>(i) * size, size);
  return code;
}

double Tensor::value(int64_t i) const {
  const uint64_t bits = code(i);
  switch (dtype()) {
    case DType::kFloat64: return __builtin_bit_cast(double, bits);
    case DType::kInt32: return static_cast<int32_t>(static_cast<uint32_t>(bits));
    case DType::kBool: return bits != 0;
    case DType::kInt64: return static_cast<double>(static_cast<int64_t>(bits));
    case DType::kUint8: return static_cast<double>(bits);
    default: return fp::to_double(format_of(dtype()), bits);
  }
}

std::vector<double> Tensor::values() const {
  std::vector<double> all(static_cast<size_t>(elements()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = value(static_cast<int64_t>(i));
  return all;
}

bool Tensor::same_bits(const Tensor& other) const {
  return type_ == other.type_ && (bytes() == 0 || std::memcmp(data(), other.data(), bytes()) == 0);
}

void Tensor::check_holds(bool fits) const {
  if (!fits)
    throw std::invalid_argument("a tensor " + type_.text() + " does not hold elements of the type that was asked for");
}

}  // namespace softamp
