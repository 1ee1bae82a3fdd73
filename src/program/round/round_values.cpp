// softamp round --dequantize: codes of a format without blocks, to float32.
#include "src/program/round/round.h"

#include "softamp/numbers/number_text.h"
#include "softamp/tensor/bulk.h"
#include "src/machine/progress.h"
#include "src/text/hexadecimal.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace softamp::program {
namespace {

using npy::ElementType;

std::string choice_name(const FormatChoice& c) {
  return c.e8m0 ? "e8m0" : c.p3109 ? p3109_name(*c.p3109) : format_name(c.number);
}
int width_of(const FormatChoice& c) { return c.e8m0 ? 8 : c.p3109 ? c.p3109->width : c.number.storage_bits(); }

void widen_codes(const RoundOptions& o, const std::vector<uint32_t>& codes, size_t count, std::vector<float>& out) {
  if (o.choice.is_number()) {
    bulk::BulkOptions options;
    options.threads = o.threads;
    bulk::widen(std::span(codes.data(), count), o.format, std::span(out.data(), count), Semantics::ieee(), options);
    return;
  }
  const SmallValues table(o.choice);
  for (size_t i = 0; i < count; ++i) out[i] = table.value(codes[i]);
}

template <typename Code>
void widen_pieces(const RoundOptions& o, ArrayReader& reader, RoundOutput& out_file) {
  const uint64_t total = reader.header().elements;
  const size_t room = std::min<uint64_t>(kRoundChunk, total);
  std::vector<Code> narrow(room);
  std::vector<uint32_t> codes(room);
  std::vector<float> out(room);
  const uint64_t most = (uint64_t{1} << width_of(o.choice)) - 1;
  Progress progress("round", total, "elements");
  for (uint64_t done = 0; done < total;) {
    stop_if_interrupted();
    const size_t count = reader.read(narrow.data(), room);
    for (size_t i = 0; i < count; ++i) {
      codes[i] = narrow[i];
      if (codes[i] > most) refuse_code(o.in, done + i, codes[i], choice_name(o.choice), static_cast<uint32_t>(most));
    }
    widen_codes(o, codes, count, out);
    out_file.write(0, out.data(), count);
    done += count;
    progress.update(done);
  }
}

}  // namespace

void refuse_code(const std::string& path, uint64_t index, uint32_t code, const std::string& format, uint32_t most) {
  throw UsageError(path + ": element " + std::to_string(index) + ": 0x" + hexadecimal(code, 2) +
                   ": expected a code of " + format + ", 0x00..0x" + hexadecimal(most, 2));
}

void values_file(const RoundOptions& o) {
  ArrayReader reader(o.in, tensors_of_codes(tensor_type(o.choice)));
  const npy::Header& header = reader.header();
  const bool half = o.choice.is_number() && o.format == kFp16 && header.type == ElementType::kFloat16;
  if (header.type < ElementType::kUint8 && !half)
    throw UsageError(o.in + ": type " + type_text(reader) + "; expected codes: '|u1', '<u2' or '<u4'" +
                     (o.choice.is_number() && o.format == kFp16 ? ", or '<f2'" : ""));
  const std::string description = choice_name(o.choice) + ", codes to values";
  RoundOutput out(o, {{o.out, "", ElementType::kFloat32, TensorElement::kF32, header.shape}}, description);
  switch (npy::size_of(header.type)) {
    case 1: widen_pieces<uint8_t>(o, reader, out); break;
    case 2: widen_pieces<uint16_t>(o, reader, out); break;
    default: widen_pieces<uint32_t>(o, reader, out);
  }
  out.commit();
  RoundSummary s = summary_of(reader, out, "values");
  s.description = description;
  s.settings["format"] = choice_name(o.choice);
  if (o.json)
    print_json(summary_start(o, s));
  else
    print_summary_start(o, s);
}

}  // namespace softamp::program
