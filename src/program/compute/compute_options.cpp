#include "src/program/compute/compute_options.h"
#include "src/program/behaviour_option.h"

#include "softamp/numerics/convert.h"
#include "src/program/idle_options.h"
#include "src/program/unit_script.h"
#include "src/text/comma_list.h"

namespace softamp::program {
namespace {

bool given(const cli::App& app, const char* option) { return app.option(option).count() > 0; }

FloatingPointBehaviour behaviour_of(const ComputeOptions& o, const cli::App& app) {
  const bool behaviour_given = given(app, "--behaviour");
  if (o.rounding.preset == Preset::kIeee || o.rounding.chip) {
    if (behaviour_given)
      throw UsageError("--behaviour: expected --preset ipu beside it; " +
                       (o.rounding.chip ? "a chip's rounding" : std::string("ieee")) + " has no behaviour flags");
    return FloatingPointBehaviour::all_off();
  }
  FloatingPointBehaviour b = behaviour_given ? behaviour_from_words("--behaviour", split_at_commas(o.behaviour))
                                             : FloatingPointBehaviour::all_off();
  const bool stochastic = o.rounding.mode == RoundingMode::kStochastic;
  if (b.esr && given(app, "--rounding") && !stochastic)
    throw UsageError("--behaviour esr rounds stochastically; expected --rounding stochastic or none, not " +
                     name_of(o.rounding.mode));
  if (b.nanoo && o.rounding.overflow == Overflow::kSaturate)
    throw UsageError("--behaviour nanoo makes NaN of an overflow; expected --overflow nan or none, not saturate");
  b.esr = b.esr || stochastic;
  b.nanoo = b.nanoo || o.rounding.overflow == Overflow::kNan;
  return b;
}

Semantics semantics_of(const ComputeOptions& o, const FloatFormat& to, const FloatingPointBehaviour& behaviour) {
  Semantics s = o.rounding.semantics(to);  // refuses modes that the preset does not have, formats that the chip lacks
  if (o.rounding.preset == Preset::kIpu && !o.rounding.chip) {
    IpuSwitches switches;
    switches.sr_bits = o.rounding.random_bits();
    switches.sr_form = o.rounding.variant;
    s = Semantics::ipu(behaviour, switches);
  }
  if (!o.tininess) return s;
  if ((s.rounding(to).flags & kUnderflow) == 0)
    throw UsageError("--tininess: expected --preset ieee beside it; the IPU has no underflow flag");
  s.wide.tininess = s.narrow.tininess = s.quarter.tininess = *o.tininess;
  return s;
}

RandomField random_field(const ComputeOptions& o, const ComputeOperation& operation, const Semantics& s) {
  RandomField field;
  const RoundingPolicy* const policy = operation.policy(s);
  if (!policy || !policy->stochastic()) return field;
  field.number_bits = field.bits = policy->random_bits;
  if (!o.rounding.chip || *o.rounding.chip >= Chip::kP3109Fastest) return field;  // no hardware: R itself
  field.chip = chip_rounding(*o.rounding.chip, operation.to, o.rounding.bits);
  field.bits = 32;
  return field;
}

/// Options that change nothing in results or flags of the operation.
void check_operation(const ComputeOperation& operation, const cli::App& app) {
  if (operation.rounds != Rounds::kToInteger)
    refuse_idle(app, "--exact", operation.name + " rounds to no integer", "T_roundToInt or T_to_i32");
  const bool widens = operation.kind == "to" && operation.to == kBinary64;  // which holds all numbers of all formats
  if (operation.rounds == Rounds::kNever || widens)
    for (const char* option : {"--rounding", "--overflow", "--bits", "--variant"})
      refuse_idle(app, option, operation.name + " rounds nothing", "an operation that rounds");
  const bool holds_integers = operation.from.max_exponent() >= operation.from.mantissa_bits();
  if (operation.rounds == Rounds::kToInteger && (operation.kind == "to_i32" || holds_integers))
    refuse_idle(app, "--overflow", operation.name + " does not overflow", "an operation that does, such as T_add");
  // A sum, a difference or a remainder that is tiny is exact.
  const bool is_exact = operation.kind == "add" || operation.kind == "sub" || operation.kind == "rem";
  if (operation.rounds != Rounds::kToFormat || operation.from_int || is_exact || widens)
    refuse_idle(app, "--tininess", operation.name + " does not underflow", "an operation that does, such as T_mul");
}

}  // namespace

const char* const kComputeOperationsHelp =
    R"(Operations, T being any format (f16, bf16, tf32, f32, e4m3, e5m2, f143, f152, e2m1, e5p11, ... as `softamp formats` names them):
T_add T_sub T_mul T_div T_rem T_sqrt T_mulAdd T_min T_max T_roundToInt T_eq T_le T_lt T_eq_signaling T_le_quiet
T_lt_quiet T_to_T T_to_i32 i32_to_T; f64 only in T_to_T. With --chip the exact result is rounded once, as the chip's
conversion to its format rounds; a chip that makes it from fp32 rounds to that first, as `softamp inspect --chip` does.)";

uint32_t RandomField::number(uint64_t field) const {
  const uint32_t word = static_cast<uint32_t>(field);
  return chip ? chip_random(*chip, word) : word;
}

uint64_t RandomField::field(uint32_t number, uint32_t others) const {
  if (!chip) return number;
  const uint32_t place = (~uint32_t{0} >> (32 - number_bits)) << chip->first_bit();
  return (others & ~place) | number << chip->first_bit();
}

void add_compute_options(const cli::App& app, ComputeOptions& o) {
  app.add_option("operation", o.operation, "f16_add, f16_mulAdd, f32_to_f16, ...; see below")
      .required()
      .type_name("OP");
  o.rounding.add_preset(app);
  o.rounding.add_rounding(app);
  app.add_option("--behaviour", o.behaviour,
                 "flags that are on in the preset ipu: inv,div0,oflo,esr,nanoo; all; off [=off]")
      .type_name("LIST");
  o.rounding.add_bits(app);
  o.rounding.add_overflow(app);
  o.rounding.add_chip(app);
  o.rounding.add_cast(app);
  add_word(app, "--tininess", o.tininess, tininess_from_name,
           "a result is tiny, and so underflows, by what it is after rounding or before [=after]");
  app.add_flag("--exact", o.exact, "rounding to an integer raises inexact");
  offer_behaviours(app);
  offer(app, "operation", compute_operation_names);
}

ComputePlan compute_plan(const ComputeOptions& o, const cli::App& app) {
  const ComputeOperation operation = find_compute_operation(o.operation);
  if (o.rounding.chip && operation.rounds != Rounds::kToFormat)
    throw UsageError("--chip: '" + name_of(*o.rounding.chip) + "': expected an operation that rounds to a format, as " +
                     operation.name.substr(0, operation.name.find('_')) + "_add, not " + operation.name);
  if (o.rounding.cast && operation.kind != "to")
    throw UsageError(std::string("--cast: '") + name_of(*o.rounding.cast) +
                     "': expected a conversion between formats, as f32_to_e4m3, not " + operation.name);
  check_operation(operation, app);
  const FloatingPointBehaviour behaviour = behaviour_of(o, app);
  const Semantics semantics = semantics_of(o, operation.to, behaviour);
  return {operation, {semantics, o.exact}, behaviour, random_field(o, operation, semantics)};
}

void refuse_idle_random(const cli::App& app, const ComputePlan& plan, bool generator, const std::string& words,
                        bool draws_operands) {
  RandomOptions how{.stochastic = "--rounding stochastic, --chip or --behaviour esr", .words = words};
  if (draws_operands) how.used_otherwise = {"seed"};
  const detail::RandomUse use{.stochastic = plan.random.number_bits > 0, .generator = generator};
  refuse_idle_random(app, {&use, 1}, how);
}

}  // namespace softamp::program
