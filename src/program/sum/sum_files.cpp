#include "src/program/sum/sum_files.h"

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace softamp::program {
namespace {

using npy::ElementType;

constexpr size_t kMostPiece = size_t{1} << 16;  // elements: so that pieces of two arrays stay in the second-level cache
constexpr size_t kLeastPiece = 16;
constexpr uint64_t kAdditions = uint64_t{1} << 23;  // of all sums in a piece: a fraction of a second
constexpr uint64_t kMostElements = std::numeric_limits<uint32_t>::max();

bool is_unsigned(ElementType type) { return type >= ElementType::kUint8; }
bool is_float(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kFloat32 || type == ElementType::kFloat64;
}

void check_type(const std::string& path, ElementType type, const std::optional<FloatFormat>& codes) {
  const std::string found = path + ": type '" + npy::descr(type) + "'; expected ";
  if (codes && !is_unsigned(type)) throw UsageError(found + "unsigned numbers with --codes: '|u1', '<u2' or '<u4'");
  if (!codes && !is_float(type))
    throw UsageError(found + "'<f2', '<f4' or '<f8'" +
                     (is_unsigned(type) ? ", or --codes FORMAT beside codes of a format" : ""));
}

template <typename T, typename Value>
void convert(const std::vector<std::byte>& bytes, std::vector<double>& out, const Value& value) {
  for (size_t i = 0; i < out.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = value(element, i);
  }
}

}  // namespace

ArrayFiles::ArrayFiles(SumInput& input, uint64_t replicas)
    : input_(input), piece_(std::clamp<size_t>(kAdditions / replicas, kLeastPiece, kMostPiece)) {
  input_.types.clear();
  input_.shapes.clear();
  for (const std::string& path : input.files) {
    File& file = files_.emplace_back();
    file.path = path;
    file.reader = std::make_unique<npy::Reader>(path);
    const npy::Header& header = file.reader->header();
    check_type(path, header.type, input.codes);
    if (header.elements > kMostElements)
      throw UsageError(path + ": " + std::to_string(header.elements) + " elements; expected at most " +
                       std::to_string(kMostElements));
    input_.types.emplace_back(npy::descr(header.type));
    input_.shapes.push_back(header.shape);
    const uint64_t first = files_[0].reader->header().elements;
    if (header.elements != first)
      throw UsageError(path + ": " + std::to_string(header.elements) + " elements; expected " + std::to_string(first) +
                       ", as many as " + input.files[0] + " has");
    input_.elements = first;
  }
}

bool ArrayFiles::next() {
  for (File& file : files_) read(file);
  done_ += files_[0].piece.size();
  return !files_[0].piece.empty();
}

void ArrayFiles::read(File& file) const {
  const ElementType type = file.reader->header().type;
  file.bytes.resize(piece_ * npy::size_of(type));
  file.piece.resize(file.reader->read(file.bytes.data(), piece_));
  const auto number_of_code = [&](uint64_t code, size_t i) {
    if (code > input_.codes->code_mask())
      throw UsageError(file.path + ": element " + std::to_string(done_ + i) + " is " + std::to_string(code) +
                       "; expected a code of " + format_name(*input_.codes) + ", at most " +
                       code_text(*input_.codes, input_.codes->code_mask()));
    return fp::to_double(*input_.codes, code);
  };
  switch (type) {
    case ElementType::kFloat16:
      return convert<uint16_t>(file.bytes, file.piece, [](uint16_t x, size_t) { return fp::to_double(kFp16, x); });
    case ElementType::kFloat32:
      return convert<float>(file.bytes, file.piece, [](float x, size_t) { return static_cast<double>(x); });
    case ElementType::kFloat64: return convert<double>(file.bytes, file.piece, [](double x, size_t) { return x; });
    case ElementType::kUint8: return convert<uint8_t>(file.bytes, file.piece, number_of_code);
    case ElementType::kUint16: return convert<uint16_t>(file.bytes, file.piece, number_of_code);
    default: return convert<uint32_t>(file.bytes, file.piece, number_of_code);
  }
}

}  // namespace softamp::program
