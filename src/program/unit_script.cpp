#include "src/program/unit_script.h"

#include "softamp/findings/registers.h"
#include "softamp/numbers/number_text.h"
#include "src/program/behaviour_option.h"

#include <algorithm>
#include <sstream>

#include "src/text/hexadecimal.h"
#include "src/text/joined.h"
#include "src/text/lower_case.h"
#include "src/text/word.h"

namespace softamp::program {
namespace {

constexpr uint64_t kWord = 0xFFFFFFFFu;

struct NamedRegister {
  const char* name;
  Csr index;
};
constexpr NamedRegister kRegisters[] = {
    {"$FP_STS", Csr::kFpSts},    {"$FP_CLR", Csr::kFpClr},       {"$FP_CTL", Csr::kFpCtl},
    {"$PRNG_0_0", Csr::kPrng00}, {"$PRNG_0_1", Csr::kPrng01},    {"$PRNG_1_0", Csr::kPrng10},
    {"$PRNG_1_1", Csr::kPrng11}, {"$PRNG_SEED", Csr::kPrngSeed},
};

struct NamedOperation {
  const char* name;
  UnitOp op;
};
constexpr NamedOperation kOperations[] = {
    {"add", UnitOp::kAdd},   {"sub", UnitOp::kSub},
    {"mul", UnitOp::kMul},   {"div", UnitOp::kDiv},
    {"sqrt", UnitOp::kSqrt}, {"fma", UnitOp::kFma},
    {"rem", UnitOp::kRem},   {"reciprocal", UnitOp::kReciprocal},
    {"min", UnitOp::kMin},   {"reciprocal_sqrt", UnitOp::kReciprocalSqrt},
    {"max", UnitOp::kMax},
};

uint32_t word(const std::string& text) { return static_cast<uint32_t>(parse_whole("word", text, 0, kWord)); }

const NamedRegister& find_register(const std::string& text) {
  std::vector<std::string> known;
  for (const NamedRegister& r : kRegisters) {
    const std::string name = lower_case(r.name);
    if (lower_case(text) == name || lower_case("$" + text) == name) return r;
    known.push_back(name);
  }
  throw UsageError(unknown_name_message("register", text, known));
}

/// An operand: a code such as 0x3C00, or a number that rounds to nearest even.
uint64_t operand(const FloatFormat& format, const std::string& text) {
  const bool hexadecimal = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (hexadecimal && text.find_first_of("pP") == std::string::npos)
    return parse_whole("code of " + format_name(format), text, 0, format.code_mask());
  const ParsedNumber number = number_from_text(text);
  const Rounded rounded = to_code(format, number);
  if (number.kind == ParsedNumber::Kind::kFinite && (rounded.flags & kOverflow))
    throw UsageError("'" + text + "': expected a magnitude of at most " +
                     shortest_decimal(format, format.max_finite_code()) + ", the largest number of " +
                     format_name(format));
  return rounded.code;
}
Half half(const std::string& text) { return Half::from_bits(static_cast<uint16_t>(operand(kFp16, text))); }
float single(const std::string& text) { return __builtin_bit_cast(float, static_cast<uint32_t>(operand(kFp32, text))); }

/// Exact if that is short enough to read.
std::string decimal(const FloatFormat& format, uint64_t code) {
  constexpr size_t kReadable = 26;
  const std::string exact = exact_decimal(format, code);
  return exact.size() <= kReadable ? exact : shortest_decimal(format, code);
}

void add_result(ScriptStep& step, const FloatFormat& format, uint64_t code) {
  step.lines.push_back(code_text(format, code) + " (" + decimal(format, code) + ")");
  step.json["results"].push_back({{"hex", code_text(format, code)}, {"decimal", decimal(format, code)}});
}
void add_result(ScriptStep& step, Half x) { add_result(step, kFp16, x.bits()); }
void add_result(ScriptStep& step, float x) { add_result(step, kFp32, __builtin_bit_cast(uint32_t, x)); }

std::string hex(uint64_t value, int digits) { return "0x" + hexadecimal(value, digits); }

}  // namespace

const char* UnitScript::help() {
  return R"(Commands of a script, one a line; # begins a comment. An operand is a number, rounded to nearest, or a code
such as 0x3C00.
  behaviour inv div0 oflo esr nanoo   the flags that are on ($FP_CTL); `behaviour all`, `behaviour off`
  seed 0xdeadbeef                     writes $PRNG_SEED
  set_seed LO HI MODIFIER TILE WORKER seeds the generator as poprand's setSeed does for that worker
  put REGISTER WORD, get REGISTER     $FP_CTL $FP_STS $FP_CLR $PRNG_0_0 $PRNG_0_1 $PRNG_1_0 $PRNG_1_1 $PRNG_SEED
  launch 0x180007                     starts a worker: loads $FP_CTL, resets $FP_STS
  clear                               clears the flags of $FP_STS through $FP_CLR
  add 1.0 0.001                       on halves: add sub mul div rem min max (2 operands), fma (3),
                                      sqrt reciprocal reciprocal_sqrt (1)
  add4 1 1 1 1 0.001 0.002 0.003 0.004  the same on four lanes: all first operands, then all second ones
  add.f32 1.0 0.001                   the same on floats
  to_half 0.1, to_half4 ..., to_float 0x3C00, to_int 2.5, eq 1 1, lt 1 2, le 1 2
  urand32, urand64                    draws from the generator
  print                               $FP_CTL, $FP_STS and the generator's registers)";
}

const std::vector<UnitScript::Command>& UnitScript::commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> c = {
        {"behaviour", 1, 5, "flags that are on (inv div0 oflo esr nanoo), all or off", &UnitScript::behaviour},
        {"seed", 1, 1, "a word", &UnitScript::seed},
        {"set_seed", 5, 5, "LO HI MODIFIER TILE WORKER", &UnitScript::set_seed},
        {"put", 2, 2, "a register and a word", &UnitScript::put},
        {"get", 1, 1, "a register", &UnitScript::get},
        {"launch", 1, 1, "a word for $FP_CTL", &UnitScript::launch},
        {"clear", 0, 0, "nothing", &UnitScript::clear},
        {"print", 0, 0, "nothing", &UnitScript::print},
        {"urand32", 0, 0, "nothing", &UnitScript::urand32},
        {"urand64", 0, 0, "nothing", &UnitScript::urand64},
        {"eq", 2, 2, "two halves", &UnitScript::compare},
        {"lt", 2, 2, "two halves", &UnitScript::compare},
        {"le", 2, 2, "two halves", &UnitScript::compare},
        {"to_half", 1, 1, "a float", &UnitScript::to_half},
        {"to_half4", 4, 4, "four floats", &UnitScript::to_half},
        {"to_float", 1, 1, "a half", &UnitScript::to_float},
        {"to_int", 1, 1, "a float", &UnitScript::to_int},
    };
    static std::vector<std::string> names;  // outlives the commands, which point into it
    names.reserve(3 * std::size(kOperations));
    for (const NamedOperation& o : kOperations)
      for (const char* suffix : {"", "4", ".f32"}) {
        names.push_back(std::string(o.name) + suffix);
        const int count = arity(o.op) * (std::string(suffix) == "4" ? FpUnit::kLanes : 1);
        c.push_back({names.back().c_str(), count, count, "operands", &UnitScript::arithmetic});
      }
    return c;
  }();
  return all;
}

ScriptStep UnitScript::execute(const std::string& line) {
  std::istringstream in(line.substr(0, line.find('#')));
  Words words;
  for (std::string w; in >> w;) words.push_back(w);
  ScriptStep step;
  if (words.empty()) return step;
  step.command = joined(words, " ");
  step.json["command"] = step.command;

  std::vector<std::string> known;
  for (const Command& command : commands()) {
    known.push_back(command.name);
    if (!same_word(words[0], command.name)) continue;
    const int count = static_cast<int>(words.size()) - 1;
    if (count < command.least || count > command.most)
      throw UsageError(words[0] + ": " + std::to_string(count) + " words follow; expected " + command.expected +
                       (command.least == command.most ? ", " + std::to_string(command.least) + " words" : ""));
    words[0] = command.name;
    (this->*command.action)(words, step);
    return step;
  }
  throw UsageError(unknown_name_message("command", words[0], known));
}

void UnitScript::behaviour(const Words& words, ScriptStep& step) {
  unit_.set_behaviour(behaviour_from_words("behaviour", {words.begin() + 1, words.end()}));
  step.lines.push_back(control_line(unit_.get(Csr::kFpCtl)));
}

void UnitScript::seed(const Words& words, ScriptStep&) { unit_.put(Csr::kPrngSeed, word(words[1])); }

void UnitScript::set_seed(const Words& words, ScriptStep&) {
  const uint64_t low = word(words[1]), high = word(words[2]);
  const uint32_t modifier = word(words[3]);
  const uint32_t tile = static_cast<uint32_t>(parse_whole("tile", words[4], 0, (1u << 28) - 1));
  const uint32_t worker = static_cast<uint32_t>(parse_whole("worker", words[5], 0, Xoroshiro128aox::kWorkers - 1));
  unit_.set_prng(Xoroshiro128aox::for_worker(high << 32 | low, modifier, tile, worker));
  tile_ = tile;
  worker_ = worker;
}

void UnitScript::put(const Words& words, ScriptStep&) {
  const NamedRegister& r = find_register(words[1]);
  const uint32_t value = word(words[2]);
  if (unit_.put(r.index, value)) return;
  const char* expected = r.index == Csr::kFpSts   ? "no write: the register is read only, clear it through $FP_CLR"
                         : r.index == Csr::kFpClr ? "bits 0..3"
                                                  : "INV b0, DIV0 b1, OFLO b2, ESR b19, NANOO b20, and RND (b16..18) 0";
  throw UsageError(std::string(r.name) + ": '" + words[2] + "': expected " + expected);
}

void UnitScript::get(const Words& words, ScriptStep& step) {
  const NamedRegister& r = find_register(words[1]);
  const uint32_t value = unit_.get(r.index);
  step.lines.push_back(std::string(r.name) + ": " + hex(value, 8));
  step.json["register"] = {{"name", r.name}, {"value", hex(value, 8)}};
}

void UnitScript::launch(const Words& words, ScriptStep&) {
  if (!unit_.launch(word(words[1])))
    throw UsageError("launch: '" + words[1] +
                     "': expected INV b0, DIV0 b1, OFLO b2, ESR b19, NANOO b20, and RND (b16..18) 0");
}

void UnitScript::clear(const Words&, ScriptStep&) {
  unit_.put(Csr::kFpClr, StatusRegister::kInv | StatusRegister::kDiv0 | StatusRegister::kOflo);
}

void UnitScript::print(const Words&, ScriptStep& step) {
  step.lines = {control_line(unit_.get(Csr::kFpCtl)), status_line(StatusRegister::decode(unit_.get(Csr::kFpSts)))};
  std::istringstream prng(prng_lines(unit_.prng().registers()));
  for (std::string line; std::getline(prng, line);) step.lines.push_back(line);
  for (const NamedRegister& r : kRegisters)
    if (r.index != Csr::kFpClr && r.index != Csr::kPrngSeed)
      step.json["registers"][r.name] = hex(unit_.get(r.index), 8);
}

void UnitScript::urand32(const Words&, ScriptStep& step) {
  step.lines.push_back(hex(unit_.urand32(), 8));
  step.json["random"] = step.lines.back();
}
void UnitScript::urand64(const Words&, ScriptStep& step) {
  step.lines.push_back(hex(unit_.urand64(), 16));
  step.json["random"] = step.lines.back();
}

void UnitScript::compare(const Words& words, ScriptStep& step) {
  const Half a = half(words[1]), b = half(words[2]);
  const bool value = words[0] == "eq"   ? unit_.equal(a, b)
                     : words[0] == "lt" ? unit_.less(a, b)
                                        : unit_.less_equal(a, b);
  step.lines.push_back(value ? "true" : "false");
  step.json["results"].push_back(value);
}

void UnitScript::to_half(const Words& words, ScriptStep& step) {
  const int lanes = static_cast<int>(words.size()) - 1;
  float in[FpUnit::kLanes] = {};
  Half out[FpUnit::kLanes];
  for (int i = 0; i < lanes; ++i) in[i] = single(words[static_cast<size_t>(i) + 1]);
  unit_.to_half(lanes, out, in);
  for (int i = 0; i < lanes; ++i) add_result(step, out[i]);
}

void UnitScript::to_float(const Words& words, ScriptStep& step) { add_result(step, unit_.to_float(half(words[1]))); }

void UnitScript::to_int(const Words& words, ScriptStep& step) {
  const int32_t value = unit_.to_int32(single(words[1]));
  step.lines.push_back(hex(static_cast<uint32_t>(value), 8) + " (" + std::to_string(value) + ")");
  step.json["results"].push_back(value);
}

void UnitScript::arithmetic(const Words& words, ScriptStep& step) {
  const std::string base = words[0].substr(0, words[0].find_first_of("4."));
  const UnitOp op =
      std::find_if(std::begin(kOperations), std::end(kOperations), [&](const auto& o) { return base == o.name; })->op;
  if (words[0].ends_with(".f32")) {
    float v[3] = {};
    for (size_t i = 0; i + 1 < words.size(); ++i) v[i] = single(words[i + 1]);
    return add_result(step, unit_.execute(op, v[0], v[1], v[2]));
  }
  const int lanes = words[0].ends_with('4') ? FpUnit::kLanes : 1;
  Half v[3][FpUnit::kLanes], out[FpUnit::kLanes];
  for (int i = 0; i < arity(op); ++i)
    for (int lane = 0; lane < lanes; ++lane) v[i][lane] = half(words[static_cast<size_t>(i * lanes + lane) + 1]);
  unit_.execute(op, lanes, out, v[0], v[1], v[2]);
  for (int lane = 0; lane < lanes; ++lane) add_result(step, out[lane]);
}

}  // namespace softamp::program
