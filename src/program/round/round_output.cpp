#include "src/program/round/round_output.h"

#include "src/program/round/round.h"

#include <filesystem>

namespace softamp::program {
namespace {

TensorElement unsigned_type(int bits) {
  return bits <= 8 ? TensorElement::kU8 : bits <= 16 ? TensorElement::kU16 : TensorElement::kU32;
}

TensorElement float_type(const FloatFormat& f) {
  if (f == kFp16) return TensorElement::kF16;
  if (f == kBf16) return TensorElement::kBf16;
  if (f == kFp32) return TensorElement::kF32;
  if (f == kE4m3) return TensorElement::kF8E4M3;
  if (f == kE5m2) return TensorElement::kF8E5M2;
  if (f == kF143) return TensorElement::kF8E4M3Fnuz;
  if (f == kF152) return TensorElement::kF8E5M2Fnuz;
  return unsigned_type(f.storage_bits());
}

}  // namespace

// implements: N507
TensorElement tensor_type(const FormatChoice& choice) {
  if (choice.e8m0) return TensorElement::kF8E8M0;
  return choice.p3109 ? unsigned_type(choice.p3109->width) : float_type(choice.number);
}

TensorElement tensor_type(const block::Element& element) {
  if (element.integer) return TensorElement::kI8;
  return element.storage_bits() == 4 ? TensorElement::kF4 : float_type(element.format);
}

// implements: N507
TensorElement scale_tensor_type(const block::BlockFormat& format) {
  return format.scale_bytes() == 4                     ? TensorElement::kF32
         : format.family == block::BlockFamily::kNvfp4 ? TensorElement::kF8E4M3
                                                       : TensorElement::kF8E8M0;
}

std::string tensor_name(const RoundOptions& o) {
  const ArrayName out(o.out), in(o.in);
  return !out.tensor.empty()  ? out.tensor
         : !in.tensor.empty() ? in.tensor
                              : std::filesystem::path(in.file).stem().string();
}

RoundOutput::RoundOutput(const RoundOptions& o, std::vector<RoundResult> results, const std::string& settings)
    : results_(std::move(results)) {
  const ArrayName out(o.out);
  if (!out.in_safetensors) {
    for (const RoundResult& r : results_) {
      arrays_.push_back(std::make_unique<npy::Writer>(r.file, r.type, r.shape));
      places_.push_back(r.file);
    }
    return;
  }
  name_ = tensor_name(o);
  std::vector<safetensors::Entry> entries;
  for (const RoundResult& r : results_) {
    entries.push_back({name_ + r.suffix, r.tensor_type, r.shape});
    places_.push_back(out.file + ":" + name_ + r.suffix);
  }
  tensors_.emplace(out.file, std::move(entries), safetensors::Metadata{{"softamp", settings}});
}

void RoundOutput::write(size_t i, const void* elements, size_t count) {
  if (!tensors_) return arrays_[i]->write(elements, count);
  const RoundResult& r = results_[i];
  tensors_->write(name_ + r.suffix, {static_cast<const std::byte*>(elements), count * npy::size_of(r.type)});
}

void RoundOutput::commit() {
  if (tensors_) tensors_->commit();
  for (size_t i = arrays_.size(); i-- > 0;) arrays_[i]->commit();
}

std::string RoundOutput::type_name(size_t i) const {
  return tensors_ ? safetensors::name_of(results_[i].tensor_type) : npy::descr(results_[i].type);
}

}  // namespace softamp::program
