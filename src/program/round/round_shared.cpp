#include "src/program/round/round.h"

#include "softamp/machine/interrupt.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace softamp::program {

using npy::ElementType;

ChipRounding round_conversion(const RoundOptions& o) {
  return chip_rounding(*o.rounding.chip, o.format, o.rounding.bits);
}

void stop_if_interrupted() {
  if (const int signal = InterruptGuard::pending()) throw RoundInterrupted{signal};
}

std::string type_text(ElementType type) { return std::string("'") + npy::descr(type) + "'"; }
std::string type_text(const ArrayReader& reader) { return "'" + reader.type_name() + "'"; }

void check_input_type(const ArrayReader& reader, bool only_float32, const std::string& for_what) {
  const ElementType type = reader.header().type;
  if (type == ElementType::kFloat32 || (type == ElementType::kFloat64 && !only_float32)) return;
  throw UsageError(reader.name() + ": type " + type_text(reader) + "; expected " +
                   (reader.is_tensor() ? "'F32' or a narrower float" : "'<f4'") + (only_float32 ? "" : " or '<f8'") +
                   (for_what.empty() ? "" : ", " + for_what));
}

RandomWords::RandomWords(const std::string& path, const npy::Header& like, const RoundOptions& o, int bits)
    : reader_(path, tensors_of_words()) {
  const npy::Header& header = reader_.header();
  if (header.type < ElementType::kUint8)
    throw UsageError(path + ": type " + type_text(reader_) + "; expected unsigned numbers: '|u1', '<u2' or '<u4'");
  if (o.packed) {
    per_word_ = static_cast<size_t>(round_conversion(o).lanes());
    const uint64_t words = (like.elements + per_word_ - 1) / per_word_;
    if (header.type != ElementType::kUint32)
      throw UsageError(path + ": type " + type_text(reader_) + "; expected whole words with --packed, '<u4'");
    if (header.elements != words)
      throw UsageError(path + ": " + std::to_string(header.elements) + " words; expected " + std::to_string(words) +
                       ", one for every " + std::to_string(per_word_) + " of " + std::to_string(like.elements) +
                       " elements");
    return;
  }
  if (header.shape != like.shape)
    throw UsageError(path + ": shape " + npy::shape_text(header.shape) + "; expected one number per element, shape " +
                     npy::shape_text(like.shape));
  if (o.rounding.chip) part_ = round_conversion(o);
  const int first = part_ ? part_->first_bit() : 0;
  const int last = part_ ? part_->last_bit() : bits - 1;
  if (last >= 8 * static_cast<int>(npy::size_of(header.type)))
    throw UsageError(path + ": type " + type_text(reader_) + "; expected " + (last < 16 ? "'<u2' or '<u4'" : "'<u4'") +
                     ": bits " + std::to_string(first) + " to " + std::to_string(last) + " are read");
}

template <typename T>
void RandomWords::read() {
  std::vector<T> narrow(words_.size());
  reader_.read(narrow.data(), narrow.size());
  words_.assign(narrow.begin(), narrow.end());
}

const uint32_t* RandomWords::next(size_t count) {
  words_.resize((count + per_word_ - 1) / per_word_);
  switch (npy::size_of(reader_.header().type)) {
    case 1: read<uint8_t>(); break;
    case 2: read<uint16_t>(); break;
    default: reader_.read(words_.data(), words_.size());
  }
  if (part_)
    for (uint32_t& word : words_) word = chip_random(*part_, word);
  return words_.data();
}
static_assert(kRoundChunk % 4 == 0, "a chunk ends with a word");

Json summary_start(const RoundOptions& o, const RoundSummary& s) {
  Json json;
  json["input"] = o.in;
  json["output"] = s.out;
  json["shape"] = s.in.shape;
  json["elements"] = s.in.elements;
  json["input_type"] = s.in_type;
  json["output_type"] = s.out_type;
  json["content"] = s.content;
  json["settings"] = s.settings;
  if (!o.random_bits.empty()) {
    json["settings"]["random"] = o.random_bits;
    json["settings"].erase("seed");
  }
  return json;
}

void print_summary_start(const RoundOptions& o, const RoundSummary& s) {
  std::cerr << o.in << ": " << s.in.elements << " elements, '" << s.in_type << "' of shape "
            << npy::shape_text(s.in.shape) << '\n'
            << s.out << ": " << s.content << " as '" << s.out_type << "'\n"
            << s.description << '\n';
}

RoundSummary summary_of(const ArrayReader& in, const RoundOutput& out, const char* content) {
  return {in.header(), in.type_name(), out.type_name(0), out.place(0), content, {}, {}};
}

}  // namespace softamp::program
