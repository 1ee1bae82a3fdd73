#include "src/program/round/array_reader.h"

#include "src/program/usage.h"
#include "src/text/printable.h"

#include "softamp/numerics/block/e8m0.h"
#include "softamp/numerics/block/layout.h"
#include "softamp/tensor/bulk.h"

#include <algorithm>
#include <span>

namespace softamp::program {
namespace {

using Array = npy::ElementType;

constexpr std::string_view kEnding = ".safetensors";

template <typename Code>
void widen_all(const std::vector<std::byte>& raw, const FloatFormat& from, std::span<float> out) {
  bulk::widen(std::span(reinterpret_cast<const Code*>(raw.data()), out.size()), from, out, Semantics::ieee());
}

/// Elements narrower than float32, as float32.
// implements: N507
void widen_tensor(TensorElement type, const std::vector<std::byte>& raw, std::span<float> out) {
  switch (type) {
    case TensorElement::kF16: return widen_all<uint16_t>(raw, kFp16, out);
    case TensorElement::kBf16: return widen_all<uint16_t>(raw, kBf16, out);
    case TensorElement::kF8E4M3: return widen_all<uint8_t>(raw, kE4m3, out);
    case TensorElement::kF8E5M2: return widen_all<uint8_t>(raw, kE5m2, out);
    case TensorElement::kF8E4M3Fnuz: return widen_all<uint8_t>(raw, kF143, out);
    case TensorElement::kF8E5M2Fnuz: return widen_all<uint8_t>(raw, kF152, out);
    default:
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = __builtin_bit_cast(float, e8m0::fp32_code(static_cast<uint32_t>(raw[i])));
  }
}

}  // namespace

ArrayName::ArrayName(const std::string& text) : file(text), in_safetensors(text.ends_with(kEnding)) {
  const size_t at = text.find(std::string(kEnding) + ":");
  if (at == std::string::npos) return;
  in_safetensors = true;
  file = text.substr(0, at + kEnding.size());
  tensor = text.substr(at + kEnding.size() + 1);
}

// implements: N507
std::vector<TensorAs> tensors_of_values() {
  std::vector<TensorAs> known = {{TensorElement::kF64, Array::kFloat64}};
  for (const TensorElement type :
       {TensorElement::kF32, TensorElement::kF16, TensorElement::kBf16, TensorElement::kF8E4M3, TensorElement::kF8E5M2,
        TensorElement::kF8E4M3Fnuz, TensorElement::kF8E5M2Fnuz, TensorElement::kF8E8M0})
    known.push_back({type, Array::kFloat32});
  return known;
}

std::vector<TensorAs> tensors_of_words() {
  return {{TensorElement::kU8, Array::kUint8},
          {TensorElement::kU16, Array::kUint16},
          {TensorElement::kU32, Array::kUint32}};
}

std::vector<TensorAs> tensors_of_codes(TensorElement own) {
  std::vector<TensorAs> known = tensors_of_words();
  if (std::any_of(known.begin(), known.end(), [own](const TensorAs& k) { return k.type == own; })) return known;
  const int bits = safetensors::bits_of(own);
  known.insert(known.begin(), {own, bits <= 8 ? Array::kUint8 : bits == 16 ? Array::kUint16 : Array::kUint32});
  return known;
}

ArrayReader::ArrayReader(const std::string& name, std::vector<TensorAs> known) : name_(name) {
  const ArrayName place(name);
  if (place.in_safetensors) {
    open_tensor(place, known);
  } else {
    array_.emplace(name);
    header_ = array_->header();
  }
}

void ArrayReader::open_tensor(const ArrayName& place, const std::vector<TensorAs>& known) {
  tensors_.emplace(place.file);
  if (place.tensor.empty()) {
    std::string names;
    for (const safetensors::Entry& e : tensors_->header().tensors)
      if (names.size() < 200) names += (names.empty() ? "" : ", ") + files::excerpt(e.name);
    throw UsageError(place.file + ": expected the name of a tensor behind it, as in " + place.file + ":NAME; it has " +
                     (names.empty() ? "none" : names) + (names.size() >= 200 ? " and more" : ""));
  }
  tensor_ = place.tensor;
  const safetensors::Entry& e = tensors_->entry(tensor_);
  type_ = e.type;
  header_.shape = e.shape;
  header_.elements = e.elements;
  std::string types;
  for (const TensorAs& k : known) {
    header_.type = k.as;
    if (k.type == type_) return;
    types += (types.empty() ? "" : ", ") + std::string(safetensors::name_of(k.type));
  }
  throw UsageError(name_ + ": type " + safetensors::name_of(type_) + "; expected " +
                   (known.size() > 1 ? "one of " : "") + types);
}

std::string ArrayReader::type_name() const {
  return is_tensor() ? safetensors::name_of(type_) : npy::descr(header_.type);
}

size_t ArrayReader::read(void* out, size_t capacity) {
  if (!is_tensor()) return array_->read(out, capacity);
  const size_t count = static_cast<size_t>(std::min<uint64_t>(capacity, header_.elements - next_));
  if (count > 0) read_tensor(out, count);
  next_ += count;
  return count;
}

void ArrayReader::read_tensor(void* out, size_t count) {
  const uint64_t bits = static_cast<uint64_t>(safetensors::bits_of(type_));
  const uint64_t first = next_ * bits / 8, end = ((next_ + count) * bits + 7) / 8;
  if (bits == 8 * npy::size_of(header_.type))
    return tensors_->read(tensor_, first, {static_cast<std::byte*>(out), static_cast<size_t>(end - first)});
  std::vector<std::byte> raw(static_cast<size_t>(end - first));
  tensors_->read(tensor_, first, raw);
  if (bits != 4) return widen_tensor(type_, raw, {static_cast<float*>(out), count});
  std::vector<uint8_t> codes(2 * raw.size());
  block::unpack_nibbles(reinterpret_cast<const uint8_t*>(raw.data()), codes.size(), codes.data());
  std::copy_n(codes.begin() + static_cast<ptrdiff_t>(next_ % 2), count, static_cast<uint8_t*>(out));
}

}  // namespace softamp::program
