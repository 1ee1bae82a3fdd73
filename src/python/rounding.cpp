#include "src/python/rounding.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "src/python/calls.h"
#include "src/python/errors.h"

namespace softamp::python {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }

/// None stands for what is not given.
bool given(nb::handle value) { return !value.is_none(); }

/// The context variable: a tuple of the behaviours of the `with` blocks around, the innermost last. Tuples do not
/// change, so that a task of asyncio, which has a copy of its maker's context, does not see what another one enters.
/// Made with the module; never let go of, for the interpreter may end before the module does.
nb::handle& context_variable() {
  static nb::handle variable;
  return variable;
}

nb::tuple behaviours_around() { return nb::cast<nb::tuple>(context_variable().attr("get")()); }

void enter_behaviour(nb::handle behaviour) {
  context_variable().attr("set")(behaviours_around() + nb::make_tuple(behaviour));
}

constexpr std::pair<const char*, bool FloatingPointBehaviour::*> kFlags[] = {{"inv", &FloatingPointBehaviour::inv},
                                                                             {"div0", &FloatingPointBehaviour::div0},
                                                                             {"oflo", &FloatingPointBehaviour::oflo},
                                                                             {"esr", &FloatingPointBehaviour::esr},
                                                                             {"nanoo", &FloatingPointBehaviour::nanoo}};

/// The arguments of behaviour(): all off but those that are given.
FloatingPointBehaviour behaviour_of(nb::args positional, nb::kwargs flags) {
  using B = FloatingPointBehaviour;
  if (nb::len(positional) > 0) throw nb::type_error("behaviour() takes its arguments by name: inv=True");
  B behaviour = B::all_off();
  for (const auto& [key, value] : flags) {
    const std::string name(word(key, "behaviour"));
    const auto at = std::ranges::find_if(kFlags, [&](const auto& flag) { return name == flag.first; });
    if (at == std::end(kFlags))
      throw nb::type_error(
          ("behaviour() has no argument '" + name + "'; it has inv, div0, oflo, esr and nanoo").c_str());
    behaviour.*at->second = truth(value, at->first);
  }
  return behaviour;
}

/// Takes out the innermost entry that is this object: blocks of generators do not end in the order in which they began.
void leave_behaviour(nb::handle behaviour) {
  nb::list around(behaviours_around());
  for (size_t i = nb::len(around); i-- > 0;) {
    if (!around[i].is(behaviour)) continue;
    nb::del(around[i]);
    break;
  }
  context_variable().attr("set")(nb::tuple(around));
}

}  // namespace

Rounding Rounding::from(nb::tuple values) { return from(values, active_behaviour()); }

Rounding Rounding::from(nb::tuple values, std::optional<FloatingPointBehaviour> around) {
  Rounding r;
  if (around) {
    const FloatingPointBehaviour& b = *around;
    r.preset = Preset::kIpu;
    r.mode = b.esr ? RoundingMode::kStochastic : RoundingMode::kNearestEven;
    r.overflow = b.nanoo ? Overflow::kNan : Overflow::kSaturate;
    r.stops = b;
  }
  const auto [mode, bits, variant, overflow, preset, chip, random] =
      std::array<nb::handle, 7>{values[0], values[1], values[2], values[3], values[4], values[5], values[6]};
  if (given(preset)) {
    const Preset p = named(preset, "preset", preset_from_name);
    if (p != r.preset) r.overflow.reset();
    r.preset = p;
  }
  r.mode_given = given(mode);
  r.overflow_given = given(overflow);
  if (r.mode_given) r.mode = named(mode, "rounding", rounding_from_name);
  if (given(bits)) r.bits = static_cast<int>(whole(bits, "bits", 1, 32));
  if (given(variant)) r.variant = named(variant, "variant", variant_from_name);
  if (given(overflow)) r.overflow = named(overflow, "overflow", overflow_from_name);
  if (given(random)) r.engine = named(random, "random", engine_from_name);
  for (const auto& [name, value] : {std::pair{"bits", bits}, {"variant", variant}, {"random", random}})
    if (given(value)) r.asked.emplace_back(name);
  if (given(chip)) {
    if (given(mode) || given(variant) || given(preset))
      refuse("chip: expected no rounding, variant or preset beside it, which the chip decides");
    if (!given(overflow)) r.overflow.reset();
    r.chip = named(chip, "chip", chip_from_name);
  }
  if (nb::len(values) > 7 && given(values[7])) {
    for (const nb::handle other : {mode, bits, variant, overflow, preset, chip, random})
      if (given(other))
        refuse(
            "cast: expected no rounding, bits, variant, overflow, preset, chip or random beside it, which it decides");
    r.mode = RoundingMode::kNearestEven;
    r.overflow.reset();
    r.preset = Preset::kIeee;
    r.cast = named(values[7], "cast", cast_from_name);
  }
  return r;
}

bool Rounding::draws(const FloatFormat& to) const {
  const RoundingPolicy applied = mode_given ? policy(to) : semantics(to).rounding(to);
  if (overflow_given) require_overflow(to, applied);
  return applied.stochastic();
}

void refuse_idle(const std::vector<std::string_view>& asked, const detail::RandomUse& use, const char* stochastic) {
  const auto name_if_asked = [&](std::string_view key) {
    return std::ranges::find(asked, key) == asked.end() ? std::string() : std::string(key);
  };
  const detail::Door door = {name_if_asked, stochastic, "random_words"};
  if (const auto message = detail::idle_random_setting(door, {&use, 1})) refuse(*message);
}

Addresses::Addresses(nb::tuple values, const Rounding& rounding, const FloatFormat& to, size_t size)
    : Addresses(values, rounding, to, size, rounding.draws(to), kStochasticHere) {}

Addresses::Addresses(nb::tuple values, const Rounding& rounding, const FloatFormat& to, size_t size, bool draws,
                     const char* stochastic) {
  bulk::RandomSource& random = options.random;
  random.engine = rounding.engine;
  random.seed = whole(values[0], "seed", 0, std::numeric_limits<uint64_t>::max());
  random.step = static_cast<uint32_t>(whole(values[1], "step", 0, std::numeric_limits<uint32_t>::max()));
  random.operation = static_cast<uint32_t>(whole(values[2], "operation", 0, (1u << 24) - 1));
  random.first_index = whole(values[3], "first_index", 0, std::numeric_limits<uint64_t>::max());
  options.threads = static_cast<int>(whole(values[5], "threads", 0, 1024));
  std::vector<std::string_view> asked = rounding.asked;
  for (const auto& [name, value] : {std::pair<const char*, uint64_t>{"seed", random.seed},
                                    {"step", random.step},
                                    {"operation", random.operation},
                                    {"first_index", random.first_index}})
    if (value != 0) asked.emplace_back(name);
  const bool words_given = given(values[4]);
  if (words_given) asked.emplace_back("random_words");
  // The numbers of a hardware's generator are given as words.
  if (words_given && random.engine == RandomEngine::kXoroshiro128aox) std::erase(asked, "random");
  refuse_idle(asked, {.stochastic = draws, .generator = !words_given}, stochastic);
  const bool packed = nb::len(values) > 6 && values[6].ptr() != Py_False;
  if (packed && values[6].ptr() != Py_True) throw nb::type_error("packed: expected True or False");
  if (packed) {
    if (!rounding.chip) refuse("packed: expected chip beside it, whose words they are");
    random.slice = chip_rounding(*rounding.chip, to, rounding.bits).slice;
  }
  if (words_given) {
    const Array words(values[4], "random_words");
    const auto each = static_cast<size_t>(packed ? lanes_of(*random.slice) : 1);
    if (words.size() != (size + each - 1) / each)
      refuse("random_words: has " + std::to_string(words.size()) + " words; expected " +
             std::to_string((size + each - 1) / each) + ", one for " +
             (each == 1 ? "each element" : std::to_string(each) + " elements"));
    if (packed && words.elements() != Elements::kUint32) words.refuse_type("uint32, whole words of the chip");
    const auto take = [this](auto elements) { words_.assign(elements.begin(), elements.end()); };
    switch (words.elements()) {
      case Elements::kUint8: take(words.as<uint8_t>()); break;
      case Elements::kUint16: take(words.as<uint16_t>()); break;
      case Elements::kUint32: take(words.as<uint32_t>()); break;
      default: words.refuse_type("uint8, uint16 or uint32");
    }
    if (rounding.chip && !packed) {
      const ChipRounding part = chip_rounding(*rounding.chip, to, rounding.bits);
      for (uint32_t& w : words_) w = chip_random(part, w);
    }
    if (words_.empty()) words_.push_back(0);
    random.words = words_.data();
  } else if (rounding.engine == RandomEngine::kXoroshiro128aox) {
    refuse(
        "random: 'xoroshiro128aox': expected philox or philox7; its numbers come in the order of the hardware: pass "
        "them as random_words");
  }
}

std::optional<FloatingPointBehaviour> active_behaviour() {
  const nb::tuple around = behaviours_around();
  if (nb::len(around) == 0) return std::nullopt;
  return nb::cast<FloatingPointBehaviour>(around[nb::len(around) - 1]);
}

FloatingPointBehaviour behaviour_from(nb::handle object, const FloatingPointBehaviour& otherwise) {
  if (object.is_none()) return active_behaviour().value_or(otherwise);
  if (!nb::isinstance<FloatingPointBehaviour>(object))
    throw nb::type_error(("behaviour: expected softamp.behaviour(...), not " + shown(object)).c_str());
  return nb::cast<const FloatingPointBehaviour&>(object);
}

void bind_behaviour(nb::module_& m) {
  using B = FloatingPointBehaviour;
  context_variable() =
      nb::object(
          nb::module_::import_("contextvars").attr("ContextVar")("softamp.behaviour", nb::arg("default") = nb::tuple()))
          .release();
  nb::class_<B>(
      m, "behaviour",
      "behaviour() has all five flags off; in C++, FloatingPointBehaviour{} has all on.\n\n"
      "What the accelerator does on floating-point exceptions, and how it rounds:\n\n"
      "behaviour(inv=False, div0=False, oflo=False, esr=False, nanoo=False)\n\n"
      "inv, div0, oflo: stop on an invalid operation, a division by zero, an overflow; esr: fp16 results are\n"
      "rounded stochastically; nanoo: fp16 overflow gives NaN and raises inv, otherwise it saturates.\n\n"
      "As a context manager it is the default of every call within, in this thread or task of asyncio: the preset is\n"
      "then `ipu`, and an enabled exception is raised as softamp.FloatingPointException.")
      .def("__init__",
           [](B* self, nb::args positional, nb::kwargs flags) { new (self) B(behaviour_of(positional, flags)); })
      .def_ro("inv", &B::inv)
      .def_ro("div0", &B::div0)
      .def_ro("oflo", &B::oflo)
      .def_ro("esr", &B::esr)
      .def_ro("nanoo", &B::nanoo)
      .def(
          "__eq__", [](const B& a, const B& b) { return a == b; }, nb::is_operator())
      .def("__reduce__",
           [](const B& b) {
             nb::dict flags;
             for (const auto& [name, flag] : kFlags) flags[name] = b.*flag;
             return nb::make_tuple(imported("functools").attr("partial")(nb::type<B>(), **flags), nb::tuple());
           })
      .def("__hash__", [](const B& b) { return ControlRegister::encode(b); })
      .def("__enter__",
           [](nb::handle self) {
             enter_behaviour(self);
             return nb::borrow(self);
           })
      .def("__exit__", [](nb::handle self, nb::args) { leave_behaviour(self); })
      .def("__repr__", [](const B& b) {
        std::string on;
        for (const auto& [name, flag] : kFlags)
          if (b.*flag) on += (on.empty() ? "" : ", ") + std::string(name) + "=True";
        return "softamp.behaviour(" + on + ")";
      });
}

}  // namespace softamp::python
