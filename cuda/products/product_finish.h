// The end of a chain: its fp32 result to a code, and the random words that neighbouring outputs share.
#pragma once

#include "cuda/products/product_feed.h"

namespace softamp::cuda {

/// The source of one site's words.
struct WordSource {
  RandomBits random;
  uint32_t step, operation;
  int bits;  ///< 0: none are drawn
  kernel::WordTable table;
};
SOFTAMP_PRIMITIVE WordSource word_source(const ProductLaunch& l, uint32_t site) {
  const kernel::Environment& e = l.environment.environment;
  return {e.random, *l.environment.step, e.operation + site, site == 0 ? l.half_bits : l.result_bits, e.table[site]};
}

namespace detail {
/// The word of one output; bits above the policy's may be anything.
SOFTAMP_PRIMITIVE uint32_t word_singly(const WordSource& s, uint32_t number, uint64_t output) {
  if (s.table.words) return s.table.words[number * s.table.outputs + output];
  const uint64_t index = product_index(number, output);
  const RandomBlock b = s.random.block(s.step, s.operation, s.bits > 16 ? index >> 2 : index >> 3);
  const unsigned at = static_cast<unsigned>(s.bits > 16 ? index & 3 : index >> 1 & 3);
  const uint32_t word = at < 2 ? at == 0 ? b.word[0] : b.word[1] : at == 2 ? b.word[2] : b.word[3];
  return s.bits <= 16 && (index & 1) ? word >> 16 : word;
}
/// Words one by one: from a table, of more than 16 bits, or of outputs in several draw blocks.
SOFTAMP_OUT_OF_LOOPS RandomWords words_singly(WordSource s, uint32_t number, uint64_t output, unsigned count) {
  RandomWords words{};
  for (unsigned j = 0; j < count; ++j) words.word[j] = word_singly(s, number, output + j);
  return words;
}
}  // namespace detail

/// The words of outputs `output` .. `output` + count - 1 (1 .. 8) in block `number`.
SOFTAMP_PRIMITIVE RandomWords words_of(const WordSource& s, uint32_t number, uint64_t output, unsigned count) {
  if (s.bits == 0) return RandomWords{};
  if (s.bits > 16 || (output & 7) != 0 || s.table.words) return detail::words_singly(s, number, output, count);
  const RandomBlock block = random_block(s.random, s.step, s.operation, product_index(number, output) >> 3);
  RandomWords words{};
  for (unsigned j = 0; j < 8; ++j) words.word[j] = j & 1 ? block.word[j >> 1] >> 16 : block.word[j >> 1];
  return words;
}

/// What the end of a chain needs, kept small: a function that is not inlined takes it by value.
struct RowFinish {
  ResultWay way;
  FastRound result;
  WordSource words;
  void* out;
  bool wide;  ///< results of 32 bits
};
SOFTAMP_PRIMITIVE RowFinish row_finish(const ProductLaunch& l) {
  return {l.way, l.result, word_source(l, 1), l.out, l.rules.output.storage_bits() > 16};
}

/// One result's code; sets `rare` if the body must compute it.
SOFTAMP_PRIMITIVE uint32_t finish_one(ResultWay way, const FastRound& result, float x, uint32_t word, bool& rare) {
  if (way == ResultWay::kHalfAlready) {
    rare |= !(magnitude_of(x) <= 65504.0f);
    return half_of_rn(x);
  }
  return result(x, word, rare);
}

struct Row8 {
  float v[8];
};

/// Stores `count` (1 .. 8) neighbouring results from place `output` on; bit j of the result: the body must compute j.
SOFTAMP_OUT_OF_LOOPS uint32_t finish_row(RowFinish f, Row8 row, uint64_t output, unsigned count) {
  const RandomWords words = words_of(f.words, 0, output, count);
  uint32_t marks = 0;
  for (unsigned j = 0; j < count; ++j) {
    bool rare = false;
    const uint32_t code = finish_one(f.way, f.result, row.v[j], words.word[j], rare);
    if (f.wide)
      static_cast<uint32_t*>(f.out)[output + j] = code;
    else
      static_cast<uint16_t*>(f.out)[output + j] = static_cast<uint16_t>(code);
    marks |= static_cast<uint32_t>(rare) << j;
  }
  return marks;
}

}  // namespace softamp::cuda
