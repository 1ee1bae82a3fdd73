#include "emu/blocks/block_call.h"

#include <stdexcept>
#include <string>

#include "emu/bulk/dispatch.h"

namespace softamp::emu {
namespace {

using std::to_string;

constexpr uint64_t kPlainPiece = 64;  // without scales blocks only say what special numbers are beside

uint64_t blocks_in(uint64_t a, uint64_t b) { return b == 0 ? 0 : (a + b - 1) / b; }

std::string rows_by_size(const block::BlockFormat& f) { return to_string(f.rows) + " x " + to_string(f.size); }

void check_nvfp4(const char* function, const block::Nvfp4Rules& r) {
  if (r.four_over_six != block::FourOverSix::kNone) {
    if (r.rule != block::Nvfp4Rule::kTransformerEngine)
      refuse_blocks(function, "four_over_six chooses among scales of kTransformerEngine, not of another rule");
    if (r.rounding.stochastic())
      refuse_blocks(function, "four_over_six compares errors, which a stochastic rounding makes random");
  }
  if (r.e4m3_max != 0 && r.e4m3_max != 256 && r.e4m3_max != 448)
    refuse_blocks(function, "e4m3_max is 0, 256 or 448, not " + to_string(r.e4m3_max));
}

void check_block_format(const char* function, const bulk::BlockLayout& l, const block::BlockFormat& f) {
  const block::Element& e = f.element;
  if (!e.integer && !e.format.valid())
    refuse_blocks(function, "the element, of " + to_string(e.format.exponent_bits) + " exponent bits and precision " +
                                to_string(e.format.precision) + ", is no format");
  if (e.storage_bits() > 8)
    refuse_blocks(function, "a code has at most 8 bits; the element's has " + to_string(e.storage_bits()));
  if (f.family == block::BlockFamily::kFp8 && e.integer)
    refuse_blocks(function, "elements with scales of fp32 are small floats, not integers");
  if (f.family == block::BlockFamily::kNvfp4) check_nvfp4(function, f.nvfp4);
  if (f.family == block::BlockFamily::kPlain) return;
  if (f.size < 0 || f.rows < 0) refuse_blocks(function, "a block has at least one element, not " + rows_by_size(f));
  if (f.rows == 0 && f.size != 0)
    refuse_blocks(function,
                  "all rows (0) are those of a block that has the whole array, 0 x 0, not " + rows_by_size(f));
  if (f.rows > 1 && l.inner != 1)
    refuse_blocks(function, "tiles of " + to_string(f.rows) + " rows lie along the last axis; " + to_string(l.inner) +
                                " elements lie behind this one");
}

void check_block_options(const char* function, const RoundingPolicy& p, const bulk::BulkOptions& o) {
  kernels_of(o.isa);  // refuses a set that is not there
  if (o.threads < 0 || o.threads > 1024)
    refuse_blocks(function, "threads is 0 (all) or 1..1024, not " + to_string(o.threads));
  if (!p.stochastic()) return;
  if (p.random_bits < 1 || p.random_bits > 32)
    refuse_blocks(function, "random_bits is 1..32, not " + to_string(p.random_bits));
  if (o.random.words || o.random.slice)
    refuse_blocks(function, "random words come from the generator here, not from an array or a slice");
  if (o.random.engine != RandomEngine::kPhilox && o.random.engine != RandomEngine::kPhilox7)
    refuse_blocks(function, "the random engine must be kPhilox or kPhilox7");
  if (o.random.operation >= RandomBits::kOperations)
    refuse_blocks(function, "random operation is below 2^24, not " + to_string(o.random.operation));
  if (o.random.replica >= RandomBits::kReplicas)
    refuse_blocks(function, "random replica is 0..255, not " + to_string(o.random.replica));
}

}  // namespace

void refuse_blocks(const char* function, const std::string& what) {
  throw std::invalid_argument(std::string("bulk::") + function + ": " + what);
}

// implements: N466
BlockCall::BlockCall(const char* function, const bulk::BlockLayout& l, const block::BlockFormat& f, size_t in,
                     size_t out, size_t scale_bytes, const bulk::BulkOptions& o)
    : format(f),
      options(o),
      family(f.family),
      element(f.family == Family::kNvfp4 ? block::Element(FloatFormat::e2m1()) : f.element),
      outer(l.outer),
      length(l.length),
      inner(l.inner),
      rounding(f.rounding()),
      nan_counts(f.nan_poisons_block()),
      random(o.random.bits()) {
  check_block_format(function, l, f);
  check_block_options(function, rounding, o);
  if (l.elements() != in || out != in)
    refuse_blocks(function, "the layout has " + to_string(l.elements()) + " elements, the arrays " + to_string(in) +
                                " and " + to_string(out));
  const uint64_t scales = bulk::scale_count(l, f), bytes = scales * static_cast<uint64_t>(f.scale_bytes());
  if (scale_bytes != bytes)
    refuse_blocks(function, "expected " + to_string(scales) + " scales" +
                                (f.scale_bytes() == 1 ? "" : " of " + to_string(f.scale_bytes()) + " bytes") +
                                ", not " + to_string(scale_bytes) + (f.scale_bytes() == 1 ? "" : " bytes"));
  const bool whole = family == Family::kPlain || (f.size == 0 && f.rows == 0);
  if (whole) outer = inner = 1, length = in;
  size = family == Family::kPlain ? kPlainPiece : whole || f.size == 0 ? length : static_cast<uint64_t>(f.size);
  rows = whole ? 1 : static_cast<uint64_t>(f.rows);
  blocks = blocks_in(length, size);
  bands = blocks_in(outer, rows);
  rounding.overflow = Overflow::kSaturate;
  rounding.infinity = InfinityResult::kSaturate;
}

}  // namespace softamp::emu

namespace softamp::bulk {

BlockLayout BlockLayout::of(std::span<const int64_t> shape, int axis) {
  const int rank = static_cast<int>(shape.size());
  if (axis < -rank || axis >= rank)
    emu::refuse_blocks("BlockLayout", "axis is " + std::to_string(-rank) + ".." + std::to_string(rank - 1) + ", not " +
                                          std::to_string(axis));
  BlockLayout l;
  for (int i = 0; i < rank; ++i) {
    const uint64_t extent = static_cast<uint64_t>(shape[static_cast<size_t>(i)]);
    const int at = axis < 0 ? axis + rank : axis;
    (i < at ? l.outer : i > at ? l.inner : l.length) = (i == at ? 1 : i < at ? l.outer : l.inner) * extent;
  }
  return l;
}

// implements: N466
uint64_t scale_count(const BlockLayout& l, const BlockFormat& f) {
  if (f.family == BlockFamily::kPlain || l.elements() == 0) return 0;
  if (f.size == 0 && f.rows == 0) return 1;
  const uint64_t size = f.size > 0 ? static_cast<uint64_t>(f.size) : l.length;
  const uint64_t rows = f.rows > 0 ? static_cast<uint64_t>(f.rows) : l.outer;
  return emu::blocks_in(l.outer, rows) * emu::blocks_in(l.length, size) * l.inner;
}

}  // namespace softamp::bulk
