// Arrays in blocks past the caches, against memcpy in the same run: quantize and dequantize move 5 bytes an element,
// fake_quantize and memcpy 8, so a rate of 0.6 of memcpy's bytes is 0.96 of its elements, or 0.6. Stochastic rounding
// is measured against bulk::round's, under the same policy.
//
//   bench_blocks [threads [=1]]     SOFTAMP_BENCH_ISA=avx2: instead of the best instruction set

#include "bench/measure.h"
#include "bench/normal_values.h"
#include "bench/sets.h"
#include "softamp/tensor/block_bulk.h"

namespace {

using namespace softamp;
using namespace softamp::bench;
using block::BlockFormat;
using bulk::BlockLayout;

constexpr size_t kSize = kPastCache, kColumns = size_t{8} << 10, kRows = kSize / kColumns;

struct Named {
  const char* name;
  BlockFormat format;
};

BlockFormat rceil(BlockFormat f) {
  f.mx.scale = block::ScaleRule::kRceil;
  return f;
}

BlockFormat four_over_six(BlockFormat f) {
  f.nvfp4.four_over_six = block::FourOverSix::kMae;
  return f;
}

std::vector<Named> formats() {
  return {{"mxfp8_e4m3 floor", BlockFormat::of_mx(block::Element(kE4m3))},
          {"mxfp8_e4m3 rceil", rceil(BlockFormat::of_mx(block::Element(kE4m3)))},
          {"mxfp4", BlockFormat::of_mx(block::Element(kE2m1))},
          {"mxint8", BlockFormat::of_mx(block::Element::int8())},
          {"nvfp4", BlockFormat::of_nvfp4()},
          {"nvfp4 16x16", BlockFormat::of_nvfp4(16)},
          {"nvfp4 4over6", four_over_six(BlockFormat::of_nvfp4())},
          {"e4m3 1x128", BlockFormat::of_fp8(kE4m3, 1, 128)},
          {"e4m3 by tensor", BlockFormat::of_fp8(kE4m3)},
          {"e4m3", BlockFormat::of_plain(block::Element(kE4m3))}};
}

const Array<float>& input() {
  static const Array<float> values = [] {
    Array<float> v(kSize);
    fill_normal<float>(v);
    return v;
  }();
  return values;
}
Array<uint8_t>& codes() {
  static Array<uint8_t> codes(kSize);
  return codes;
}
Array<float>& output() {
  static Array<float> values(kSize);
  return values;
}

void add_format(const Named& named, bool stochastic, bool first_axis, int threads) {
  // Scales are not chosen beside stochastic roundings, and along other axes one by one.
  if (named.format.chooses_scale() && (stochastic || first_axis)) return;
  BlockFormat f = named.format;
  if (first_axis && (f.rows != 1)) return;
  const char* const axis = first_axis ? " first axis" : " last axis";
  const BlockLayout l = first_axis ? BlockLayout{1, kRows, kColumns} : BlockLayout{kRows, kColumns, 1};
  if (stochastic) f.rounding() = RoundingPolicy::stochastic_carry(13);
  bulk::BulkOptions o;
  o.isa = chosen_set();
  o.threads = threads;
  const auto scales =
      std::make_shared<std::vector<uint8_t>>(bulk::scale_count(l, f) * static_cast<size_t>(f.scale_bytes()));
  const std::string tail = std::string("/") + named.name + (stochastic ? " stochastic" : "") + axis + "/" +
                           std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  std::function<void()> round;
  Goal of_codes{0.96, false, ""}, of_values{0.6, false, ""};
  if (stochastic) {
    RoundingPolicy p = f.rounding();
    const FloatFormat to = f.element.format;
    round = [=] {
      bulk::round(std::span<const float>(input()), to, std::span<uint8_t>(codes()), Semantics::ieee(p), o);
    };
    of_codes = of_values = {1, true, ""};
    if (f.element.integer) return;
  }
  add(
      "quantize" + tail, kSize, threads, [=] { bulk::quantize(input(), l, f, codes(), *scales, o); }, round, of_codes);
  add(
      "fake_quantize" + tail, kSize, threads, [=] { bulk::fake_quantize(input(), l, f, output(), o); }, round,
      of_values);
  if (stochastic) return;
  add(
      "dequantize" + tail, kSize, threads,
      [=] {
        static std::string filled;
        static uint32_t amax;
        if (filled != tail) amax = bulk::quantize(input(), l, f, codes(), *scales, o), filled = tail;
        bulk::dequantize(codes(), *scales, l, f, amax, output(), o);
      },
      {}, of_codes);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<int> given = arguments(argc, argv, {{"the number of threads", 1}});
  for (const bool stochastic : {false, true})
    for (const bool first_axis : {false, true})
      for (const Named& named : formats()) add_format(named, stochastic, first_axis, given[0]);
  return finish();
}
