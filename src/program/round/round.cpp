// softamp round: an array in a .npy file, rounded to a format.
#include "src/program/backend_option.h"
#include "src/program/idle_options.h"
#include "src/program/program.h"
#include "src/program/provenance.h"
#include "src/program/round/round_block_pieces.h"

#include "softamp/machine/interrupt.h"
#include "softamp/names/block_format_names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/decimal.h"
#include "src/files/run_files.h"

#include <csignal>
#include <iostream>
#include <sstream>

namespace softamp::program {

template <>
Words names_of_all<p3109::Saturation>() {
  return {"finite", "propagate", "none"};
}

namespace {

constexpr const char* kBlockOptions[] = {"--scale-rule", "--block", "--rows", "--axis",
                                         "--scales",     "--amax",  "--shape"};

/// An array may be rounded in its file, which is replaced by a complete one.
void check_round_files(const RoundOptions& o) {
  constexpr const char* kArray = "the array that is read";
  files::RunFiles files;
  const std::string out = ArrayName(o.out).file;
  files.reads(kArray, ArrayName(o.in).file).reads("the file of --random-words", ArrayName(o.random_bits).file);
  if (o.back)
    files.reads("the file of --scales", ArrayName(o.scales).file);
  else
    files.writes("--scales", o.scales);
  // A file of tensors would lose the others.
  (o.into_tensors() ? files.writes("OUT", out) : files.replaces("OUT", out, kArray)).check();
  if (o.json) remember_inputs(files);
}

/// Options that only formats of blocks have.
void refuse_block_options(const cli::App& app, const std::string& format) {
  for (const char* option : kBlockOptions)
    if (app.option(option).count() > 0)
      throw UsageError(std::string(option) + ": expected a format of blocks, such as mxfp4 or nvfp4, not " + format);
}

/// --rounding and the like go into the text of a format of blocks, which refuses what it has no use for.
void take_block_options(RoundOptions& o, const cli::App& app) {
  const auto given = [&app](const char* option) { return app.option(option).count() > 0; };
  const auto add = [&](const char* option, const char* key, const std::string& value) {
    if (given(option)) o.block_options.emplace_back(key, value);
  };
  if (!o.back) add("--rounding", "rounding", name_of(o.rounding.mode));
  check_block_options(o, app);
  if (o.back) return;
  const detail::RandomUse use{.stochastic = block_format_of(o).rounding().stochastic()};
  refuse_idle_random(app, {&use, 1});
  add("--bits", "bits", std::to_string(o.rounding.bits));
  add("--variant", "variant", name_of(o.rounding.variant));
}

void check_round_options(RoundOptions& o, const cli::App& app) {
  if (o.choice.blocks.empty()) refuse_block_options(app, app.option("--format").text());
  for (const char* other : {"--random-words", "--chip", "--cast", "--values", "--rounding", "--bits", "--variant",
                            "--overflow", "--preset", "--saturation", "--random", "--seed", "--step"})
    if (o.back) refuse_idle(app, other, "--dequantize rounds nothing", "no " + std::string(other));
  if (!o.choice.blocks.empty()) return take_block_options(o, app);
  if (o.choice.is_number()) {
    if (app.option("--saturation").count() > 0)
      throw UsageError("--saturation: expected one of P3109's formats, such as Binary8p4se; others have --overflow");
    o.format = o.choice.number;
    if (o.format == kBinary64)
      throw UsageError("--format: '" + app.option("--format").text() +
                       "': expected a format of at most 24 bits of precision; fp64 is for conversions only");
    if (!o.back) check_number_options(o, app);
    if (o.back && o.packed)
      throw UsageError("--packed: expected a format of blocks beside --dequantize, such as mxfp4");
    return;
  }
  check_small_options(o, app);
  check_random_options(o, app, o.rounding.mode == RoundingMode::kStochastic,
                       o.choice.e8m0 ? "a format that is rounded stochastically" : "--rounding stochastic");
}

void carry_out(const RoundOptions& o) {
  if (!o.choice.blocks.empty()) return o.back ? block_values_file(o) : round_blocks_file(o);
  if (o.back) return values_file(o);
  return o.choice.is_number() ? round_number_file(o) : round_small_file(o);
}

int run_round(RoundOptions& o, const cli::App& app) {
  check_round_options(o, app);
  if (o.choice.is_number() && !o.back)
    settle_round_device(o);
  else if (o.backend == "cuda")
    throw UsageError("--backend: 'cuda': expected emu, or auto, which is emu here");
  check_round_files(o);
  try {
    const InterruptGuard guard;
    carry_out(o);
    return kSuccess;
  } catch (const RoundInterrupted& stop) {
    std::cerr << "softamp round: interrupted; " << o.out << " was not written\n";
    std::raise(stop.signal);  // ends the program by the signal, now that the temporary file is gone
    return kUsage;
  }
}

constexpr name_rows::Row<p3109::Saturation> kSaturations[] = {{p3109::Saturation::kFinite, {"finite"}},
                                                              {p3109::Saturation::kPropagate, {"propagate"}},
                                                              {p3109::Saturation::kNone, {"none"}}};

/// A magnitude as a number or as an fp32 code: "0.02", "0x3ca3d70a".
uint32_t amax_from_text(const std::string& text) {
  const bool is_code = (text.starts_with("0x") || text.starts_with("0X")) && text.find_first_of("pP.") == text.npos;
  const uint64_t code = is_code ? parse_whole("--amax", text, 0, 0xFFFFFFFFu)
                                : to_code(kFp32, number_from_text(text), RoundingPolicy{}).code;
  if (code > 0x7F800000u) throw UsageError("--amax: '" + text + "': expected a magnitude, 0 or more, or its fp32 code");
  return static_cast<uint32_t>(code);
}

/// Options of formats of blocks alone; kBlockOptions has their names.
void add_block_options(const cli::App& app, const std::shared_ptr<RoundOptions>& o) {
  const auto into_text = [o](const char* name) {
    return [o, name](const std::string& value) { o->block_options.emplace_back(name, value); };
  };
  app.add_option_function(
         "--scale-rule", into_text("scale_rule"),
         "how a scale follows from its block: floor, ceil, even, rceil, microxcaling (MX) [=floor]; "
         "transformer_engine, "
         "torchao, one_level (NVFP4) [=transformer_engine]; transformer_engine, deepseek, deepgemm (FP8) "
         "[=transformer_engine]")
      .type_name("WORD");
  offer(app, "--scale-rule",
        Words{"floor", "ceil", "even", "rceil", "microxcaling", "transformer_engine", "torchao", "one_level",
              "deepseek", "deepgemm"});
  app.add_option_function("--block", into_text("block"), "elements of a block along the axis [=the format's]")
      .type_name("N");
  app.add_option_function("--rows", into_text("rows"),
                          "rows that share a scale, the axis being the last: 16 for NVFP4's tiles "
                          "[=the format's]")
      .type_name("N");
  app.add_option_function(
         "--axis",
         [o](const std::string& text) {
           const bool negative = text.starts_with('-');
           const int magnitude =
               static_cast<int>(parse_whole("--axis", negative ? text.substr(1) : text, 0, npy::kMaxRank));
           o->axis = negative ? -magnitude : magnitude;
         },
         "axis along which blocks lie; -1: the last [=-1]")
      .type_name("N");
  app.add_option("--scales", o->scales,
                 "file of the scales: 'u1', E8M0 or NVFP4's e4m3; 'f4', what FP8 is multiplied by. Written; read by "
                 "--dequantize, a tensor too [=NAME_scale beside the codes in a .safetensors file]")
      .type_name("S.npy");
  app.add_option_function(
         "--amax", [o](const std::string& text) { o->amax = amax_from_text(text); },
         "NVFP4: the greatest magnitude that the scales refer to, a number or its fp32 code [=that of the array]; with "
         "--dequantize needed [=NAME_amax beside the codes in a .safetensors file]")
      .type_name("X");
  app.add_option_function(
         "--shape",
         [o](const std::string& text) {
           std::istringstream list(text);
           for (std::string extent; std::getline(list, extent, ',');)
             o->shape.push_back(parse_whole("--shape", extent, 0, uint64_t{1} << 48));
           if (o->shape.empty()) throw UsageError("--shape: '" + text + "': expected extents, such as 3,5");
         },
         "--dequantize --packed: the shape of the array [=that of the codes, the last extent doubled]")
      .type_name("N,N");
}

}  // namespace

Verb add_round(const cli::App& program) {
  cli::App app = program.add_subcommand("round", "Round an array in a .npy or .safetensors file to a format");
  const auto o = std::make_shared<RoundOptions>();
  app.add_option("IN", o->in,
                 "the array: float32 or float64, of blocks float32, C order; with --dequantize codes. "
                 "Or a tensor, FILE.safetensors:NAME, of F64, F32, F16, BF16 or F8_...")
      .required()
      .type_name("IN.npy");
  app.add_option("OUT", o->out,
                 "the codes: fp16 as 'f2', other formats as 'u1', 'u2' or 'u4'; an existing file is replaced only by "
                 "a complete one. Or FILE.safetensors[:NAME] [=IN's name]: codes as F16, BF16, F8_E4M3, F8_E5M2, "
                 "F8_E4M3FNUZ, F8_E5M2FNUZ; of blocks as F4, F8_..., of mxint8 I8, of 6 bits U8, with NAME_scale "
                 "(F8_E8M0, F8_E4M3, F32) and, of nvfp4, NAME_amax (F32) beside; others U8, U16 or U32")
      .required()
      .type_name("OUT.npy");
  add_format_choice(app, o->choice,
                    "target, see `softamp formats`: of numbers (fp16), of P3109's (Binary8p4se), e8m0, or of blocks "
                    "(mxfp4, nvfp4:rounding=stochastic)")
      .required();
  offer(app, "--format", [] {
    Words words = words_of_format_choice();
    std::erase(words, format_name(kBinary64));
    return words;
  });
  o->rounding.add_rounding(app);
  o->rounding.add_bits(app);
  o->rounding.add_seed(app);
  add_word(app, "--random", o->rounding.engine, engine_from_name, "philox (10 rounds), philox7 [=philox]");
  offer(app, "--random", {"philox", "philox7"});
  app.add_option(
         "--random-words", o->random_bits,
         "one unsigned number ('u1', 'u2', 'u4') per element instead of the generator: its low --bits bits are read; "
         "with --chip it is the chip's random word, of which the chip reads its part (AMD's the top bits of 32)")
      .type_name("R.npy");
  o->rounding.add_overflow(app);
  o->rounding.add_preset(app);
  o->rounding.add_chip(app);
  o->rounding.add_cast(app);
  add_word(app, "--saturation", o->saturation, "saturation", kSaturations,
           "P3109: what is too large becomes: finite (the last number, infinities too), propagate (numbers do, "
           "infinities stay), none (infinity where there is one) [=none]");
  app.add_flag("--packed", o->packed,
               "with a format of blocks of 4 bits: two codes a byte, the even index low, in a .safetensors file as U8 "
               "instead of F4; with --chip: a random word "
               "of 32 bits serves as many neighbours as in the chip's instruction, each by "
               "its part of it; --random-words then has one 'u4' for so many");
  add_backend(app, o->backend);
  add_block_options(app, o);
  app.add_flag("--dequantize", o->back,
               "the way back: IN has codes, OUT gets their values as float32; blocks with --scales");
  add_whole(app, "--step", o->rounding_step, 0, 0xFFFFFFFFu, "step of the random bits, 32 bits [=0]");
  app.add_flag("--values", o->values, "write the rounded values as float32 instead of codes");
  add_whole(app, "--threads", o->threads, 0, 1024, "threads; 0: all [=0]. The result does not depend on it");
  app.add_flag("--json", o->json, "print a summary as one JSON document (otherwise to standard error, for people)");
  app.footer(
      "Element i takes the random bits of index i, operation 0, --step; with --packed value\n"
      "i mod n of word i / n, where a word serves n. Examples:\n"
      "  softamp round in.npy out.npy --format fp16\n"
      "  softamp round in.npy out.npy --format fp16 --rounding stochastic --bits 13 --seed 1\n"
      "  softamp round in.npy out.npy --format e4m3 --overflow saturate --values\n"
      "  softamp round in.npy out.npy --format fp16 --rounding stochastic --bits 8 --random-words r.npy\n"
      "  softamp round in.npy out.npy --format e4m3 --cast onnx_saturate\n"
      "  softamp round in.npy out.npy --format e4m3 --chip amd_cdna4 --overflow saturate\n"
      "  softamp round in.npy out.npy --format e4m3 --chip nvidia_sm100 --packed\n"
      "  softamp round in.npy codes.npy --format mxfp4 --scale-rule rceil --packed --scales scales.npy\n"
      "  softamp round codes.npy out.npy --format mxfp4 --packed --scales scales.npy --dequantize\n"
      "  softamp round in.npy w.safetensors --format mxfp8_e4m3 --scale-rule rceil\n"
      "  softamp round model.safetensors:layer.0.weight out.safetensors --format nvfp4\n"
      "  softamp round in.npy out.npy --format nvfp4 --rounding stochastic --bits 8 --values --json\n"
      "  softamp round in.npy out.npy --format Binary8p4se --saturation finite");
  return {app, [o, app] { return run_round(*o, app); }};
}

}  // namespace softamp::program
