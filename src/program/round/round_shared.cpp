#include "src/program/round/round.h"

#include "softamp/report/interrupt.h"

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

void check_input_type(const std::string& path, ElementType type, bool only_float32, const std::string& for_what) {
  if (type == ElementType::kFloat32 || (type == ElementType::kFloat64 && !only_float32)) return;
  throw UsageError(path + ": type " + type_text(type) + "; expected '<f4'" + (only_float32 ? "" : " or '<f8'") +
                   (for_what.empty() ? "" : ", " + for_what));
}

RandomWords::RandomWords(const std::string& path, const npy::Header& like, const RoundOptions& o, int bits)
    : reader_(path) {
  const npy::Header& header = reader_.header();
  if (header.type < ElementType::kUint8)
    throw UsageError(path + ": type " + type_text(header.type) + "; expected unsigned numbers: '|u1', '<u2' or '<u4'");
  if (o.packed) {
    per_word_ = static_cast<size_t>(round_conversion(o).lanes());
    const uint64_t words = (like.elements + per_word_ - 1) / per_word_;
    if (header.type != ElementType::kUint32)
      throw UsageError(path + ": type " + type_text(header.type) + "; expected whole words with --packed, '<u4'");
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
    throw UsageError(path + ": type " + type_text(header.type) + "; expected " +
                     (last < 16 ? "'<u2' or '<u4'" : "'<u4'") + ": bits " + std::to_string(first) + " to " +
                     std::to_string(last) + " are read");
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
  json["output"] = o.out;
  json["shape"] = s.in.shape;
  json["elements"] = s.in.elements;
  json["input_type"] = npy::descr(s.in.type);
  json["output_type"] = npy::descr(s.out_type);
  json["content"] = s.content;
  json["settings"] = s.settings;
  if (!o.random_bits.empty()) {
    json["settings"]["random"] = o.random_bits;
    json["settings"].erase("seed");
  }
  return json;
}

void print_summary_start(const RoundOptions& o, const RoundSummary& s) {
  std::cerr << o.in << ": " << s.in.elements << " elements, " << type_text(s.in.type) << " of shape "
            << npy::shape_text(s.in.shape) << '\n'
            << o.out << ": " << s.content << " as " << type_text(s.out_type) << '\n'
            << s.description;
  if (!o.random_bits.empty()) std::cerr << "; random bits from " << o.random_bits;
  std::cerr << '\n';
}

}  // namespace softamp::program
