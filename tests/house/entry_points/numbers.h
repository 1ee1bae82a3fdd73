// Entry points of tensor/, data/ and the small rooms.
#pragma once

#include "softamp/chips/chip_table.h"
#include "softamp/data/images.h"
#include "softamp/findings/exception.h"
#include "softamp/findings/statistics.h"
#include "softamp/findings/tensor_difference.h"
#include "softamp/findings/tensor_text.h"
#include "softamp/numbers/number_text.h"
#include "softamp/pictures/exponent_histogram.h"
#include "softamp/pictures/plot.h"
#include "softamp/sums/running_sum.h"
#include "softamp/tensor/block_bulk.h"
#include "softamp/tensor/chip_round.h"
#include "softamp/tensor/device_round.h"
#include "tests/house/entry_points/entry_point.h"

namespace softamp::house {

inline std::string tensors_of_every_dtype() {
  std::string text;
  const std::vector<double>& x = awkward_numbers();
  const Shape shape{static_cast<int64_t>(x.size())};
  for (const DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kBool}) {
    const Tensor tensor = Tensor::from_values(t, shape, x);
    text += all(tensor, tensor.values(), tensor.value(0), Tensor::full(t, {2}, 5e-324), tensor_text(tensor, 20));
  }
  return text +
         all(Tensor::full(DType::kInt32, {2}, 2.5), error_of([] { Tensor::full(DType::kInt32, {}, 3e9 + 0.1); }));
}

inline std::string bulk_operations() {
  constexpr size_t kMany = 40000;
  const std::vector<double>& x = awkward_numbers();
  std::vector<float> in(kMany), wide(kMany);
  std::vector<uint16_t> a(kMany), b(kMany), c(kMany);
  std::string text;
  for (size_t i = 0; i < kMany; ++i) {
    in[i] = __builtin_bit_cast(float, static_cast<uint32_t>(i * 107339));
    b[i] = static_cast<uint16_t>(i * 991);
  }
  for (const bool stochastic : {false, true}) {
    const Semantics s =
        Semantics::ieee(stochastic ? RoundingPolicy::stochastic_carry(13) : RoundingPolicy::ieee(RoundingMode::kUp));
    FpStatus status;
    bulk::BulkOptions o;
    o.threads = 3;
    o.status = &status;
    const auto note = [&](const auto& array) { text += hash_text(array.data(), sizeof array[0] * kMany); };
    bulk::round(in, kFp16, std::span<uint16_t>(a), s, o), note(a);
    bulk::round(in, kE4m3, std::span<uint16_t>(c), s, o), note(c);
    bulk::widen(a, kFp16, std::span<float>(wide), s, o), note(wide);
    bulk::round_values(in, kBf16, std::span<float>(wide), s, o), note(wide);
    bulk::add(a, b, c, s, o), note(c);
    bulk::mul(a, b, c, s, o), note(c);
    bulk::div(a, b, c, s, o), note(c);
    bulk::fma(a, b, a, c, s, o), note(c);
    std::vector<uint32_t> codes(x.size());
    bulk::round(x, kFp32, std::span<uint32_t>(codes), s, o);
    for (const uint32_t code : codes) text += shown(uint64_t{code});
    text += all(uint64_t{status.flags}, status.first_index[0], status.first_index[1], status.first_index[2]);
  }
  return text;
}

inline std::string texts_of_numbers() {
  std::string text;
  for (const double x : awkward_numbers()) {
    const uint64_t bits = __builtin_bit_cast(uint64_t, x);
    text += all(shortest_decimal(x), exact_decimal(kBinary64, bits), hex_float(kBinary64, bits));
    for (const FloatFormat& f : {kFp16, kBf16, kFp32, kE4m3}) {
      const uint64_t code = fp::from_double(f, x);
      text += all(code, value_of(f, code), shortest_decimal(f, code), hex_float(f, code), exact_decimal(f, code));
    }
  }
  return text;
}

inline std::string a_running_sum() {
  RunningSumSetup s;
  s.addend = fp::from_double(kFp16, 0.0001);
  s.start = fp::from_double(kFp16, 0.1);
  s.count = 300;
  s.replicas = 1200;
  s.semantics = Semantics::ieee(RoundingPolicy::stochastic_carry(13));
  s.trace_points = 5;
  const RunningSum sum = running_sum(s);
  s.format = kBf16;  // in chunks, on other threads
  return all(sum.codes, sum.last_change, sum.exact, sum.exact_text, sum.traces, running_sum(s).codes);
}

inline std::string an_exception() {
  ExceptionSite site;
  site.operation = "f16_div";
  site.operands = {0x0001, 0x2E66};
  const FloatingPointError e(kOverflow, kOverflow, site);
  return all(e.what(), e.report(DumpFormat::kJson), e.report(DumpFormat::kOneLine));
}

inline std::string a_plot() {
  if (!plots_can_be_drawn()) return "";
  Plot plot;
  plot.title = "awkward";
  plot.curves = {{"a", CurveStyle::kBold, {0.1, 0.2, 1.0 / 3}, {0.7, 1e-310, 0.1}}};
  write_plot(plot, scratch_file("p.svg"));
  return test::read_text(scratch_file("p.svg"));
}

inline std::string images() {
  ImageSet set;
  set.count = 1, set.height = 16, set.width = 16, set.channels = 1;
  for (int x = 0; x < 256; ++x) set.pixels.push_back(static_cast<uint8_t>(x));
  set.labels = {7};
  const std::vector<int64_t> first = {0};
  std::string text = all(labels_of(set, first));
  for (const DType t : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64})
    text += all(normalise(set, first, t));
  const ImageSet made = generated_images(8, 8, 1, 3, 1, 5).train;
  return text + all(hash_text(made.pixels.data(), made.pixels.size()));
}

inline std::string arrays_of_chips() {
  std::vector<float> in(40000);
  for (size_t i = 0; i < in.size(); ++i) in[i] = __builtin_bit_cast(float, static_cast<uint32_t>(i * 107339));
  std::string text;
  for (const Chip chip : {Chip::kNvidiaSm103, Chip::kAmdCdna4, Chip::kExact}) {
    std::vector<uint8_t> codes(in.size());
    FpStatus status;
    bulk::BulkOptions o;
    o.threads = 2;
    o.status = &status;
    bulk::round_as({chip, kE4m3, ChipOverflow::kUsual, 0}, in, std::span<uint8_t>(codes), o);
    text += all(hash_text(codes.data(), codes.size()), uint64_t{status.flags}, status.first_index[0]);
  }
  return text;
}

inline std::string arrays_in_blocks() {
  std::vector<float> in(40000), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = __builtin_bit_cast(float, static_cast<uint32_t>(i * 107339));
  const int64_t shape[] = {40, 1000};
  const bulk::BlockLayout layout = bulk::BlockLayout::of(shape);
  std::string text;
  for (const bool nvfp4 : {false, true}) {
    const block::BlockFormat f =
        nvfp4 ? block::BlockFormat::of_nvfp4() : block::BlockFormat::of_mx(block::Element(kE3m2));
    std::vector<uint8_t> codes(in.size()), scales(bulk::scale_count(layout, f));
    const uint32_t amax = bulk::quantize(in, layout, f, codes, scales);
    bulk::dequantize(codes, scales, layout, f, amax, out);
    text += all(hash_text(codes.data(), codes.size()), hash_text(scales.data(), scales.size()),
                hash_text(out.data(), 4 * out.size()), uint64_t{bulk::greatest_magnitude(in)});
    bulk::fake_quantize(in, layout, f, out);
    text += hash_text(out.data(), 4 * out.size());
  }
  return text;
}

inline std::string chips() {
  std::string text;
  for (const ChipRow& row : chip_rows(Chip::kExact, 5)) text += dyadic_text(row.bias) + dyadic_text(row.subnormal_bias);
  return text;
}

inline std::vector<EntryPoint> numbers() {
  return {
      {"tensor/tensor.h", "from_values, full, values", tensors_of_every_dtype},
      {"tensor/bulk.h", "round, widen, add, ...", bulk_operations},
      {"tensor/chip_round.h", "round_as", arrays_of_chips},
      {"tensor/device_round.h", "round_on_device",
       [] {
         try {
           bulk::round_on_device({.size = 1}, Semantics::ieee());
         } catch (const std::invalid_argument& refused) {
           return std::string(refused.what());
         }
         return std::string();
       }},
      {"tensor/block_bulk.h", "quantize, dequantize, fake_quantize", arrays_in_blocks},
      {"findings/tensor_difference.h", "difference_text",
       [] {
         return difference_text(Tensor::full(DType::kFloat32, {3}, 0x1p-140), Tensor::full(DType::kFloat32, {3}, 0.1),
                                1);
       }},
      {"findings/tensor_text.h", "tensor_text", [] { return tensor_text(Tensor::full(DType::kFloat64, {3}, 5e-324)); }},
      {"numbers/number_text.h", "shortest_decimal, ...", texts_of_numbers},
      {"sums/running_sum.h", "running_sum", a_running_sum},
      {"sums/running_sum.h", "mean_and_deviation",
       [] {
         const auto [mean, sd] = mean_and_deviation(std::vector<double>{0.1, 0.7, 0.3, 5e-324});
         return all(mean, sd);
       }},
      {"findings/statistics.h", "statistics_of, json",
       [] {
         const std::vector<double> tiny = {5e-324, -5e-324, 1e-310, 0.1, 0.0};
         std::string text;
         for (const DType t : {DType::kFloat64, DType::kFloat32, DType::kFloat16}) {
           const TensorStatistics s = statistics_of(Tensor::from_values(t, {5}, tiny));
           text += all(s.minimum, s.maximum, s.subnormals, s.zeros, s.json());
         }
         return text;
       }},
      {"pictures/exponent_histogram.h", "exponents_of, exponents_of_quotients",
       [] {
         const std::vector<double> values = {5e-324, -1e-310, 0.1, 3.0, 1e300};
         std::string text;
         for (const DType t : {DType::kFloat64, DType::kFloat32, DType::kFloat16}) {
           const Tensor tensor = Tensor::from_values(t, {5}, values);
           text += exponents_of(tensor.type(), tensor.data()).json() +
                   exponents_of_quotients(tensor.type(), tensor.data(), 3.0).json();
         }
         return text;
       }},
      {"findings/exception.h", "FloatingPointError::report", an_exception},
      {"chips/chip_table.h", "chip_rows", chips},
      {"pictures/plot.h", "write_plot", a_plot},
      {"data/images.h", "normalise, generated_images", images},
  };
}

}  // namespace softamp::house
