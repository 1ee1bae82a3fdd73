// The loss-scale machine: the published vectors, every overflow sequence up to length 16 against a model of each system
// as its own source writes it, ends of the range, texts.
#include "softamp/precision/loss_scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "softamp/numerics/convert.h"
#include "tests/graph/executor_check.h"

namespace softamp {
namespace {

using test::refusal;

constexpr float kLargest = std::numeric_limits<float>::max();

LossScaleEvidence step(bool finite) { return {finite, 0, 0}; }

/// The scales after each step, "1 2 2 4"; T or . is a finite step.
std::string scales(LossScale machine, const std::string& steps) {
  std::ostringstream text;
  for (const char c : steps) {
    machine.update(step(c == 'T' || c == '.'));
    text << (text.tellp() > 0 ? " " : "") << machine.scale();
  }
  return text.str();
}

LossScaleOptions with(LossScaleOptions o, double initial, int64_t window) {
  o.initial = initial;
  o.window = window;
  return o;
}

TEST(Vectors, TensorFlow) {
  const LossScaleOptions tf = LossScaleOptions::tensorflow();
  EXPECT_EQ(scales(LossScale(with(tf, 1, 2)), "TTTTTT"), "1 2 2 4 4 8");
  EXPECT_EQ(scales(LossScale(with(tf, 1024, 2)), "FFFFFF"), "512 256 128 64 32 16");
  EXPECT_EQ(scales(LossScale(with(tf, 16, 2)), "FFFFFF"), "8 4 2 1 1 1");
  EXPECT_EQ(scales(LossScale(with(tf, 1, 2)), "TTTFT"), "1 2 2 1 1");
  EXPECT_EQ(scales(LossScale(with(tf, 32, 2)), "TFTFTFT"), "32 16 16 8 8 4 4");
}

TEST(Vectors, Keras) {
  // Dynamic, initial 2, growth 1: finite: scale 4; NaN: 2, and the step is not applied.
  LossScale keras(with(LossScaleOptions::keras(), 2, 1));
  EXPECT_TRUE(keras.update(step(true)));
  EXPECT_EQ(keras.scale(), 4);
  EXPECT_FALSE(keras.update(step(false)));
  EXPECT_EQ(keras.scale(), 2);
}

/// Halves after two overflows in a row, and adds 3 after a finite step.
class Patient : public LossScaleRule {
 public:
  double next(const Step& step) const override {
    if (step.evidence.finite) return static_cast<double>(step.scale) + 3;
    return step.consecutive % 2 == 0 ? static_cast<double>(step.scale) / 2 : static_cast<double>(step.scale);
  }
};

// tests: T02
TEST(Vectors, ARuleOfTheUsersOwn) {
  const LossScaleOptions own = LossScaleOptions::own(std::make_shared<Patient>(), 16, "patient");
  EXPECT_EQ(scales(LossScale(own), "TFFFFTF"), "19 19 9.5 9.5 4.75 7.75 7.75");
  LossScale machine(own);
  EXPECT_FALSE(machine.update(step(false)));
  EXPECT_EQ(machine.state().consecutive, 1);
  LossScale other(own);
  other.set_state(machine.state());
  EXPECT_FALSE(other.update(step(false)));
  EXPECT_EQ(other.scale(), 8) << "all that the rule needs is in the state";
  EXPECT_NE(own.to_json().find("\"rule\":\"patient\""), std::string::npos);
  // What a rule may not give.
  struct Worst : LossScaleRule {
    double next(const Step&) const override { return std::nan(""); }
  };
  LossScale bad(LossScaleOptions::own(std::make_shared<Worst>(), 16));
  EXPECT_EQ(
      refusal<std::invalid_argument>([&] { bad.update(step(true)); }).find("loss scale 'own': its rule gives nan"), 0u);
  EXPECT_EQ(bad.scale(), 16);
  EXPECT_EQ(refusal<std::invalid_argument>([] { LossScaleOptions::own(nullptr, 16); }),
            "loss scale 'own': rule is null; expected a LossScaleRule");
  LossScaleOptions fixed = LossScaleOptions::fixed(2);
  fixed.rule = std::make_shared<Patient>();
  EXPECT_EQ(refusal<std::invalid_argument>([&] { fixed.validate(); }),
            "loss scale 'fixed': rule is given; expected none, because the scale is fixed");
}

TEST(Vectors, MindSpore) {
  const LossScaleOptions ms = LossScaleOptions::mindspore();
  EXPECT_EQ(scales(LossScale(with(ms, 16, 2)), "....O...."), "16 32 32 64 32 32 64 64 128");
  EXPECT_EQ(scales(LossScale(with(ms, 16, 2)), "OOOOOO"), "8 4 2 1 1 1");
}

TEST(Vectors, FixedScalesNeverMoveAndSkipWhereTheySaySo) {
  for (const LossScaleOptions& o : {LossScaleOptions::none(), LossScaleOptions::fixed(10), LossScaleOptions::fixed(),
                                    LossScaleOptions::mindspore_fixed(128, false)}) {
    LossScale machine(o);
    for (const bool finite : {true, false, false, true}) EXPECT_TRUE(machine.update(step(finite))) << o.name;
    EXPECT_EQ(machine.scale(), static_cast<float>(o.initial));
  }
  LossScale drops(LossScaleOptions::mindspore_fixed());
  EXPECT_TRUE(drops.update(step(true)));
  EXPECT_FALSE(drops.update(step(false)));
  EXPECT_EQ(drops.scale(), 128);
}

// ---------------------------------------------------------------------------------------------------------------------
// Models, each in the words of its system.

struct PublishedScaler {
  virtual ~PublishedScaler() = default;
  virtual bool step(bool finite) = 0;  // applied?
  float scale = 1;
};

struct TensorFlowModel : PublishedScaler {
  TensorFlowModel(float initial, int64_t steps) : period(steps) { scale = initial; }
  bool step(bool finite) override {
    if (finite) {
      if (good + 1 >= period) {
        if (std::isfinite(scale * 2.0f)) scale = scale * 2.0f;
        good = 0;
      } else {
        ++good;
      }
      return true;
    }
    scale = std::max(scale / 2.0f, 1.0f);
    good = 0;
    return false;
  }
  int64_t period, good = 0;
};

struct MindSporeModel : PublishedScaler {
  MindSporeModel(float initial, int64_t steps) : window(steps) { scale = initial; }
  bool step(bool finite) override {
    if (!finite) {
      scale = std::max(scale / 2, 1.0f);
      last = current;
    } else if ((current - last) % window == 0) {
      scale = std::min(static_cast<double>(scale) * 2, static_cast<double>(kLargest));  // the one number that is ours
    }
    ++current;
    return finite;
  }
  int64_t window, current = 1, last = 0;
};

struct TorchModel : PublishedScaler {
  TorchModel(float initial, int64_t steps) : interval(steps) { scale = initial; }
  bool step(bool finite) override {
    if (!finite) {
      scale *= 0.5f;
      if (scale == 0) scale = std::numeric_limits<float>::denorm_min();  // ours: torch's scale becomes 0
      tracker = 0;
    } else if (tracker + 1 == interval) {
      if (std::isfinite(scale * 2)) scale *= 2;
      tracker = 0;
    } else {
      ++tracker;
    }
    return finite;
  }
  int64_t interval, tracker = 0;
};

struct ApexModel : PublishedScaler {
  ApexModel(float initial, int64_t steps) : window(steps) { scale = initial; }
  bool step(bool finite) override {
    if (finite) {
      ++unskipped;
    } else {
      scale = scale / 2;
      unskipped = 0;
    }
    if (unskipped == window) {
      scale = std::min(16777216.0f, scale * 2);
      unskipped = 0;
    }
    return finite;
  }
  int64_t window, unskipped = 0;
};

/// "Overflow": one value of a thousand is clipped. The conditions in the vendor's order.
struct GraphcoreModel : PublishedScaler {
  GraphcoreModel(float initial, int64_t steps) : frequency(steps) { scale = initial; }
  bool step(bool finite) override {
    clipped += finite ? 0 : 1;
    total += 1000;
    if (counter % frequency != 0) {
      ++counter;
      return true;
    }
    const float next = clipped / total > 1e-5 ? scale * 0.5f : scale * 2.0f;
    if (std::isfinite(next) && next < 32768 && next >= 1) scale = next;
    clipped = total = 0;
    counter = 1;
    return true;
  }
  int64_t frequency, counter = 1;
  double clipped = 0, total = 0;
};

/// Every sequence of `depth` more steps: the machine is set back by its state, the model by a copy.
template <class M>
void compare_all(LossScale& machine, const M& model, int depth, int64_t& steps) {
  if (depth == 0 || ::testing::Test::HasFailure()) return;
  const LossScale::State before = machine.state();
  for (const bool finite : {true, false}) {
    M next = model;
    const bool applied = machine.update({finite, 1000, finite ? 0 : 1}), expected = next.step(finite);
    ++steps;
    if (machine.scale() != next.scale || applied != expected || machine.scale() > machine.options().max ||
        machine.scale() < machine.options().min)
      FAIL() << machine.options().name << ", window " << machine.options().window << ": from " << before.scale << " to "
             << machine.scale() << ", expected " << next.scale << "; applied " << applied << ", expected " << expected;
    compare_all(machine, next, depth - 1, steps);
    machine.set_state(before);
  }
}

template <class M>
void compare_preset(const LossScaleOptions& preset, const std::vector<double>& initials) {
  int64_t steps = 0;
  for (const int64_t window : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{5}, preset.window})
    for (const double initial : initials) {
      LossScale machine(with(preset, initial, window));
      compare_all(machine, M(static_cast<float>(initial), window), 16, steps);
    }
  EXPECT_EQ(steps, static_cast<int64_t>(5 * initials.size()) * ((1 << 17) - 2));
}

// tests: N250, N251, N253
TEST(AllSequences, TensorFlow) {
  compare_preset<TensorFlowModel>(LossScaleOptions::tensorflow(), {0x1p15, 16, 0x1p120});
}
// tests: N250, N251
TEST(AllSequences, Keras) { compare_preset<TensorFlowModel>(LossScaleOptions::keras(), {0x1p15, 48}); }
// tests: N250, N251
TEST(AllSequences, MindSpore) { compare_preset<MindSporeModel>(LossScaleOptions::mindspore(), {0x1p24, 16, 0x1p124}); }
TEST(AllSequences, Torch) {
  compare_preset<TorchModel>(LossScaleOptions::torch(), {0x1p16, 0x1p-145, 0x1p124, static_cast<double>(kLargest)});
}
TEST(AllSequences, Apex) { compare_preset<ApexModel>(LossScaleOptions::apex(), {0x1p16, 0x1p22, 0x1p-120}); }
TEST(AllSequences, GraphcoreAutomatic) {
  compare_preset<GraphcoreModel>(LossScaleOptions::graphcore_automatic(), {1, 0x1p12, 0x1p14});
}

// ---------------------------------------------------------------------------------------------------------------------

// tests: N252
TEST(Ends, CapsAndFloors) {
  // TensorFlow: the product has to be finite, else the scale stays; MindSpore: ours stops at the largest number.
  EXPECT_EQ(LossScale(with(LossScaleOptions::tensorflow(), 0x1p127, 1)).state().scale, 0x1p127f);
  const auto after = [](const LossScaleOptions& o, bool finite) {
    LossScale machine(o);
    machine.update(step(finite));
    return machine.scale();
  };
  EXPECT_EQ(after(with(LossScaleOptions::tensorflow(), 0x1p127, 1), true), 0x1p127f);
  EXPECT_EQ(after(with(LossScaleOptions::tensorflow(), 0x1p126, 1), true), 0x1p127f);
  EXPECT_EQ(after(with(LossScaleOptions::mindspore(), 0x1p127, 1), true), kLargest);
  EXPECT_EQ(after(with(LossScaleOptions::torch(), 0x1p-149, 1), false), 0x1p-149f);
  EXPECT_EQ(after(with(LossScaleOptions::torch(), 0x1p-148, 1), false), 0x1p-149f);
  EXPECT_EQ(after(with(LossScaleOptions::apex(), 0x1p24, 1), true), 0x1p24f);
  EXPECT_EQ(after(with(LossScaleOptions::apex(), 0x1.8p23, 1), true), 0x1p24f);
  LossScaleOptions stays = with(LossScaleOptions::apex(), 0x1.8p23, 1);
  stays.clamp_at_max = false;
  EXPECT_EQ(after(stays, true), 0x1.8p23f);
  EXPECT_EQ(after(with(LossScaleOptions::tensorflow(), 1.5, 1), false), 1);
}

// tests: N252
TEST(Ends, TheProductIsRoundedToFloat32Once) {
  LossScaleOptions o = with(LossScaleOptions::torch(), 1, 1);
  o.growth = 1.1;
  LossScale machine(o);
  machine.update(step(true));
  EXPECT_EQ(machine.scale(), static_cast<float>(1.1));
  machine.update(step(true));
  EXPECT_EQ(machine.scale(), static_cast<float>(static_cast<double>(static_cast<float>(1.1)) * 1.1));
  // A product that rounds to 2^128 is beyond the range, one just below the midpoint is not.
  o.growth = 0x1.fffffep127 / 0x1p127;
  o.initial = 0x1p127;
  LossScale at_the_end(o);
  at_the_end.update(step(true));
  EXPECT_EQ(at_the_end.scale(), kLargest);
  o.growth = 0x1.ffffff8p0;
  LossScale beyond(o);
  beyond.update(step(true));
  EXPECT_EQ(beyond.scale(), 0x1p127f);
}

// tests: N252
TEST(Ends, MindSporeGivesUpAfterAThousandOverflowsInARow) {
  LossScale machine(LossScaleOptions::mindspore());
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(machine.update(step(false)));
  const LossScale::State before = machine.state();
  EXPECT_EQ(refusal<std::runtime_error>([&] { machine.update(step(false)); }),
            "Dynamic loss scale Continuous overflow 1001 times");
  EXPECT_EQ(machine.state(), before);
  machine.update(step(true));  // a finite step starts the count anew
  EXPECT_EQ(machine.state().consecutive, 0);
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(machine.update(step(false)));
  EXPECT_THROW(machine.update(step(false)), std::runtime_error);
}

TEST(Ends, OthersNeverGiveUp) {
  for (const LossScaleOptions& o : {LossScaleOptions::tensorflow(), LossScaleOptions::keras(),
                                    LossScaleOptions::torch(), LossScaleOptions::apex()}) {
    LossScale machine(o);
    for (int i = 0; i < 5000; ++i) ASSERT_FALSE(machine.update(step(false)));
    EXPECT_EQ(machine.scale(), static_cast<float>(o.min)) << o.name;
    EXPECT_EQ(machine.state().consecutive, 5000);
  }
}

// tests: N253
TEST(Histogram, TheShareDecidesAtTheEndOfAWindow) {
  const LossScaleOptions als = LossScaleOptions::graphcore_automatic();
  // Exactly the threshold: 1 of 100,000 does not exceed 1e-5; 2 do.
  for (const int64_t above : {0, 1, 2}) {
    LossScale machine(with(als, 16, 2));
    machine.update({true, 60000, above});
    EXPECT_EQ(machine.scale(), 16);
    machine.update({true, 40000, 0});
    EXPECT_EQ(machine.scale(), above <= 1 ? 32 : 8);
    EXPECT_EQ(machine.state(), (LossScale::State{machine.scale(), 0, 0, 0, 0}));
  }
  LossScale nothing_seen(with(als, 16, 1));
  EXPECT_TRUE(nothing_seen.update({true, 0, 0}));  // 0 / 0 exceeds nothing
  EXPECT_EQ(nothing_seen.scale(), 32);
  LossScale from_one(als);  // below 32768
  for (int i = 0; i < 8 * 20; ++i) from_one.update({true, 10, 0});
  EXPECT_EQ(from_one.scale(), 16384);
  EXPECT_TRUE(LossScale(als).update({false, 10, 10}));  // the vendor's never skips
}

// tests: N253
TEST(Histogram, ImpossibleCountsAreRefused) {
  LossScale machine(LossScaleOptions::graphcore_automatic());
  for (const auto& [elements, above] : {std::pair<int64_t, int64_t>{-1, 0}, {5, -1}, {5, 6}}) {
    const std::string text = refusal<std::invalid_argument>([&] { machine.update({true, elements, above}); });
    EXPECT_NE(text.find("expected 0 <= above_edge <= elements"), std::string::npos) << text;
  }
  EXPECT_EQ(machine.state(), LossScale::State{});
}

// tests: X6
TEST(Presets, TheTable) {
  struct Row {
    const char* name;
    double initial, min, max;
    int64_t window;
    Unscale unscale;
    bool dynamic, skip, counts;
  };
  const double least = 0x1p-149, most = kLargest;
  using enum Unscale;
  const Row rows[] = {
      {"none", 1, least, most, 2000, kDivide, false, false, false},
      {"fixed", 256, least, most, 2000, kDivide, false, false, false},
      {"graphcore_automatic", 1, 1, std::nextafter(32768.0f, 0.0f), 8, kDivide, true, false, false},
      {"tensorflow", 32768, 1, most, 2000, kReciprocal, true, true, false},
      {"keras", 32768, 1, most, 2000, kReciprocal, true, true, true},
      {"mindspore", 16777216, 1, most, 2000, kReciprocalInGradientDtype, true, true, false},
      {"mindspore_fixed", 128, least, most, 2000, kReciprocalInGradientDtype, false, true, false},
      {"torch", 65536, least, most, 2000, kReciprocal, true, true, false},
      {"apex", 65536, least, 16777216, 2000, kReciprocal, true, true, false},
  };
  for (const Row& r : rows) {
    const LossScaleOptions o = LossScaleOptions::parse(r.name);
    EXPECT_EQ(o.name, r.name);
    EXPECT_EQ(o.initial, r.initial) << r.name;
    EXPECT_EQ(o.min, r.min) << r.name;
    EXPECT_EQ(o.max, r.max) << r.name;
    EXPECT_EQ(o.window, r.window) << r.name;
    EXPECT_EQ(o.unscale, r.unscale) << r.name;
    EXPECT_EQ(o.dynamic, r.dynamic) << r.name;
    EXPECT_EQ(o.skip_overflowed, r.skip) << r.name;
    EXPECT_EQ(o.count_skipped_steps, r.counts) << r.name;  // TUTORIAL X6: Keras alone
    EXPECT_EQ(o.growth, 2) << r.name;
    EXPECT_EQ(o.backoff, 0.5) << r.name;
    EXPECT_EQ(o.overflow_from, OverflowFrom::kGradients) << r.name;
    EXPECT_EQ(o.max_consecutive, o.name == "mindspore" ? 1000 : 0) << r.name;
    EXPECT_EQ(o.histogram, o.name == "graphcore_automatic");
    EXPECT_NO_THROW(o.validate());
    EXPECT_EQ(LossScale(o).scale(), static_cast<float>(r.initial));
  }
  EXPECT_EQ(LossScaleOptions::graphcore_automatic().histogram_edge, 65504);
  EXPECT_EQ(LossScaleOptions::graphcore_automatic().histogram_threshold, 1e-5);
}

TEST(Presets, TextsThatNameThem) {
  EXPECT_EQ(LossScaleOptions::parse("256"), LossScaleOptions::fixed(256));
  EXPECT_EQ(LossScaleOptions::parse("2^15"), LossScaleOptions::fixed(32768));
  EXPECT_EQ(LossScaleOptions::parse("1e3"), LossScaleOptions::fixed(1000));
  EXPECT_EQ(LossScaleOptions::parse("2^0"), LossScaleOptions::fixed(1));
  EXPECT_EQ(LossScaleOptions::parse("1.5"), LossScaleOptions::fixed(1.5));
  EXPECT_EQ(LossScaleOptions::parse("dynamic"), LossScaleOptions::tensorflow());
  EXPECT_EQ(LossScaleOptions::parse("Torch"), LossScaleOptions::torch());
  EXPECT_EQ(LossScaleOptions::parse("none"), LossScaleOptions::none());
  EXPECT_EQ(LossScaleOptions::parse("fixed"), LossScaleOptions::fixed());
  const std::vector<std::string> names = LossScaleOptions::preset_names();
  EXPECT_EQ(names.size(), 10u);
  for (const std::string& name : names) EXPECT_NO_THROW(LossScaleOptions::parse(name)) << name;

  for (const char* text : {"abc", "", "2^", "2^x", "2^-", "2^1000", "256 ", "nan", "inf", "kerass", "^3", "0x"}) {
    const std::string said = refusal<std::invalid_argument>([&] { LossScaleOptions::parse(text); });
    EXPECT_TRUE(said.starts_with(std::string("Could not interpret loss scale identifier: ") + text)) << said;
    EXPECT_NE(said.find("mindspore_fixed torch apex"), std::string::npos) << said;
  }
  EXPECT_NE(refusal<std::invalid_argument>([] { LossScaleOptions::parse("kerass"); }).find("nearest: keras"),
            std::string::npos);
  EXPECT_EQ(LossScaleOptions::parse("0.5").initial, 0.5) << "a scale below 1 is one, too";
  EXPECT_EQ(LossScaleOptions::parse("2^-3").initial, 0.125);
  for (const char* text : {"-2", "0"})
    EXPECT_NE(refusal<std::invalid_argument>([&] {
                LossScaleOptions::parse(text);
              }).find("initial is " + std::string(text) + "; expected a number of min .. max"),
              std::string::npos);
  EXPECT_NE(refusal<std::invalid_argument>([] { LossScaleOptions::parse("1e99"); }).find("initial is 1e+99; expected"),
            std::string::npos);
  EXPECT_NE(refusal<std::invalid_argument>([] { LossScaleOptions::parse("2^999"); }).find("initial is "),
            std::string::npos);
}

TEST(Presets, TextsOfRefusals) {
  EXPECT_EQ(LossScaleOptions::fixed(0.25).initial, 0.25);
  EXPECT_EQ(refusal<std::invalid_argument>([] { LossScaleOptions::fixed(std::nan("")); }),
            "loss_scale_value must be a Python int or float.");
  EXPECT_EQ(refusal<std::invalid_argument>([] { LossScaleOptions::mindspore_fixed(0.5); }),
            "loss_scale must be at least 1, but got loss_scale 0.5");
  const auto refused = [](const std::function<void(LossScaleOptions&)>& change) {
    LossScaleOptions o = LossScaleOptions::mindspore();
    change(o);
    return refusal<std::invalid_argument>([&] { LossScale machine(o); });
  };
  EXPECT_EQ(refused([](auto& o) { o.initial = 0.5; }),
            "loss scale 'mindspore': initial is 0.5; expected a number of min .. max, 1 .. 3.4028234663852886e+38");
  EXPECT_EQ(refused([](auto& o) { o.window = 0; }), "loss scale 'mindspore': window is 0; expected 1 or more");
  EXPECT_EQ(refused([](auto& o) { o.growth = 1; }),
            "loss scale 'mindspore': growth is 1; expected a finite number above 1");
  EXPECT_EQ(refused([](auto& o) { o.growth = std::nan(""); }),
            "loss scale 'mindspore': growth is nan; expected a finite number above 1");
  EXPECT_EQ(refused([](auto& o) { o.backoff = 0; }),
            "loss scale 'mindspore': backoff is 0; expected a number of (0, 1)");
  EXPECT_EQ(refused([](auto& o) { o.backoff = 1; }),
            "loss scale 'mindspore': backoff is 1; expected a number of (0, 1)");
  EXPECT_EQ(refused([](auto& o) { o.min = 0.1; }),
            "loss scale 'mindspore': min is 0.1; expected a positive float32 number");
  EXPECT_EQ(refused([](auto& o) { o.max = 0.5; }),
            "loss scale 'mindspore': max is 0.5; expected a float32 number of at least min, 1");
  EXPECT_EQ(refused([](auto& o) { o.max_consecutive = -1; }),
            "loss scale 'mindspore': max_consecutive is -1; expected 0 (no limit) or more");
  EXPECT_EQ(refused([](auto& o) { o.histogram = true; }),
            "loss scale 'mindspore': histogram_edge is 0; expected a positive finite number");
  EXPECT_EQ(refused([](auto& o) {
              o = LossScaleOptions::fixed();
              o.histogram = true;
            }),
            "loss scale 'fixed': histogram is true; expected false, because the scale is fixed");
}

TEST(State, RoundTripAtEveryStep) {
  std::mt19937 random(7);
  for (const std::string& name : LossScaleOptions::preset_names()) {
    LossScaleOptions o = LossScaleOptions::parse(name);
    o.window = std::min<int64_t>(o.window, 3);
    LossScale machine(o);
    for (int i = 0; i < 200; ++i) {
      LossScale resumed(o);
      resumed.set_state(machine.state());
      const bool finite = random() % 3 != 0;
      const LossScaleEvidence evidence{finite, 100, finite ? 0 : 7};
      ASSERT_EQ(machine.update(evidence), resumed.update(evidence)) << name;
      ASSERT_EQ(machine.state(), resumed.state()) << name;
    }
  }
}

TEST(State, ImpossibleOnesAreRefused) {
  LossScale machine(with(LossScaleOptions::tensorflow(), 4, 5));
  const auto refused = [&](const LossScale::State& s) {
    return refusal<std::invalid_argument>([&] { machine.set_state(s); });
  };
  EXPECT_EQ(refused({0.5f}), "state of loss scale 'tensorflow': scale is 0.5; expected 1 .. 3.4028234663852886e+38");
  EXPECT_NE(refused({std::numeric_limits<float>::quiet_NaN()}), "");
  EXPECT_NE(refused({std::numeric_limits<float>::infinity()}), "");
  EXPECT_EQ(refused({2, 5}), "state of loss scale 'tensorflow': good_steps is 5; expected 0 .. 4");
  EXPECT_NE(refused({2, -1}), "");
  EXPECT_NE(refused({2, 0, -1}), "");
  EXPECT_NE(refused({2, 0, 0, 3, 4}), "");
  EXPECT_EQ(machine.state().scale, 4);
  LossScale fixed(LossScaleOptions::fixed());
  EXPECT_NE(refusal<std::invalid_argument>([&] { fixed.set_state({128}); }).find("scale is 128; expected 256"),
            std::string::npos);
}

TEST(Json, HoldsEveryField) {
  for (const std::string& name : LossScaleOptions::preset_names()) {
    const LossScaleOptions o = LossScaleOptions::parse(name);
    const nlohmann::json json = nlohmann::json::parse(o.to_json());
    EXPECT_EQ(o.to_json().find('\n'), std::string::npos);
    EXPECT_EQ(json.size(), 18u);
    EXPECT_EQ(json["name"], o.name);
    EXPECT_EQ(json["initial"].get<double>(), o.initial);
    EXPECT_EQ(json["min"].get<double>(), o.min);
    EXPECT_EQ(json["max"].get<double>(), o.max);
    EXPECT_EQ(json["window"].get<int64_t>(), o.window);
    EXPECT_EQ(json["histogram_threshold"].get<double>(), o.histogram_threshold);
    EXPECT_EQ(json["skip_overflowed"].get<bool>(), o.skip_overflowed);
    const char* words[] = {"divide", "reciprocal", "reciprocal_in_gradient_dtype", "folded_into_rate"};
    EXPECT_EQ(json["unscale"], words[static_cast<int>(o.unscale)]);
    EXPECT_EQ(json["overflow_from"], "gradients");
  }
}

TEST(Json, OptionsThatAreRefusedHaveNone) {
  LossScaleOptions o;
  o.unscale = static_cast<Unscale>(9);
  EXPECT_EQ(refusal<std::invalid_argument>([&] { o.to_json(); }),
            "loss scale 'fixed': unscale is 9; expected an Unscale");
}

// ---------------------------------------------------------------------------------------------------------------------

/// x to fp16 under IEEE rules: overflows?
bool overflows_fp16(float x) {
  return fp::convert(kFp32, kFp16, std::bit_cast<uint32_t>(x), Semantics::ieee()).flags & kOverflow;
}

// tests: G23
TEST(FindMax, LargestPowerOfTwoThatFits) {
  // TUTORIAL G23, for every positive fp16 number as the largest gradient of a tensor.
  for (uint32_t code = 1; code <= 0x7BFF; ++code) {
    const float greatest =
        std::bit_cast<float>(static_cast<uint32_t>(fp::convert(kFp16, kFp32, code, Semantics::ieee()).code));
    const float gradients[] = {greatest / 3, -greatest, 0, greatest / 1000};
    const double found = find_max_loss_scale([&](double scale) {
      return std::ranges::any_of(gradients, [&](float g) { return overflows_fp16(g * static_cast<float>(scale)); });
    });
    const double limit = 65504.0 / static_cast<double>(greatest);  // a power of two is at most it, or above it
    ASSERT_LE(found, limit) << greatest;
    ASSERT_GT(2 * found, limit) << greatest;
    ASSERT_EQ(std::log2(found), std::floor(std::log2(found)));
  }
}

// tests: G23
TEST(FindMax, Ends) {
  // TUTORIAL G23
  EXPECT_EQ(find_max_loss_scale([](double) { return true; }), 0);
  EXPECT_EQ(find_max_loss_scale([](double) { return false; }), 0x1p64);
  EXPECT_EQ(find_max_loss_scale([](double) { return false; }, 1000), 512);
  EXPECT_EQ(find_max_loss_scale([](double scale) { return scale > 1; }), 1);
}

// tests: X14
TEST(FindMax, MindSporeStartsThreeStepsTooHigh) {
  // TUTORIAL X14: logit gradients of LeNet5 are up to 0.9 / 32; from 2^24 the first scale that is finite in fp16 is
  // 2^21.
  LossScale machine(LossScaleOptions::mindspore());
  std::string applied;
  for (int i = 0; i < 5; ++i) {
    const float gradient = 0.9f / 32 * machine.scale();
    applied += machine.update(step(!overflows_fp16(gradient))) ? 'a' : 's';
  }
  EXPECT_EQ(applied, "sssaa");
  EXPECT_EQ(machine.scale(), 0x1p21f);
}

}  // namespace
}  // namespace softamp
