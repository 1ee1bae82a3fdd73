// MindSpore's managers of loss scales and their update cells, ours and strict ones (MIXED_PRECISION M11).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/train/cell_networks.h"

namespace softamp::test {
namespace {

struct ScaleModel {
  double scale, factor;
  int64_t window, cur = 1, last = 0;
};
/// The host's machine, as its source counts: from the definitions, with an if for each.
struct HostModel : ScaleModel {
  void update(bool overflow) {
    if (overflow) {
      scale = std::max(scale / factor, 1.0);
      last = cur;
    } else if ((cur - last) % window == 0) {
      scale *= factor;
    }
    ++cur;
  }
};
/// The device's cell.
struct DeviceModel : ScaleModel {
  void update(bool overflow) {
    if (overflow) {
      scale = std::max(scale / factor, 1.0);
      last = cur;
    } else if (window <= cur - last) {
      scale *= factor;
      last = cur;
    }
    ++cur;
  }
};

// tests: M11
TEST(Managers, VectorsOfTheTable) {
  const auto scales = [](const std::string& steps, auto&& machine, const auto& update) {
    std::vector<double> all;
    for (const char c : steps) {
      update(machine, c == 'O');
      all.push_back(machine.get_loss_scale());
    }
    return all;
  };
  for (const auto& [steps, expected] : std::vector<std::pair<std::string, std::vector<double>>>{
           {"....O....", {16, 32, 32, 64, 32, 32, 64, 64, 128}}, {"OOOOOO", {8, 4, 2, 1, 1, 1}}}) {
    EXPECT_EQ(scales(steps, DynamicLossScaleManager(16, 2, 2), [](auto& m, bool o) { m.update_loss_scale(o); }),
              expected);
    EXPECT_EQ(scales(steps, DynamicLossScaleUpdateCell(16, 2, 2), [](auto& m, bool o) { m(o); }), expected);
  }
}

// tests: M11
TEST(Managers, HostAndDeviceAgreeOnAllShortSequences) {
  for (const int64_t window : {1, 2, 3, 5})
    for (int sequence = 0; sequence < 1 << 12; ++sequence) {
      DynamicLossScaleManager manager(8, 2, window);
      const auto cell = manager.get_update_cell();
      HostModel host{8, 2, window};
      DeviceModel device{8, 2, window};
      for (int i = 0; i < 12; ++i) {
        const bool overflow = sequence >> i & 1;
        manager.update_loss_scale(overflow);
        EXPECT_EQ((*cell)(overflow), overflow);
        host.update(overflow);
        device.update(overflow);
        ASSERT_EQ(manager.get_loss_scale(), host.scale) << sequence;
        ASSERT_EQ(cell->get_loss_scale(), device.scale) << sequence;
        ASSERT_EQ(host.scale, device.scale) << sequence;
      }
    }
}

// tests: M11
TEST(Managers, DefaultsAndErrors) {
  const DynamicLossScaleManager dynamic;
  EXPECT_EQ(dynamic.get_loss_scale(), 0x1p24f);
  EXPECT_TRUE(dynamic.get_drop_overflow_update());
  EXPECT_EQ(dynamic.machine().options().window, 2000);
  EXPECT_EQ(dynamic.machine().options().growth, 2);
  FixedLossScaleManager fixed;
  EXPECT_EQ(fixed.get_loss_scale(), 128);
  fixed.update_loss_scale(true);
  EXPECT_EQ(fixed.get_loss_scale(), 128);
  ASSERT_NE(fixed.get_update_cell(), nullptr);
  EXPECT_EQ((*fixed.get_update_cell())(true), true);
  EXPECT_EQ(FixedLossScaleManager(64, false).get_update_cell(), nullptr);
  EXPECT_FALSE(FixedLossScaleManager(64, false).get_drop_overflow_update());
  EXPECT_EQ(invalid([] { FixedLossScaleManager(0.5); }), "loss_scale must be at least 1, but got loss_scale 0.5");
  EXPECT_TRUE(invalid([] { DynamicLossScaleManager(0.5); }).find("initial is 0.5") != std::string::npos);
  EXPECT_TRUE(invalid([] { DynamicLossScaleManager(16, 2, 0); }).find("window is 0") != std::string::npos);
  for (const double factor : {0.0, -2.0, 1.0})
    EXPECT_TRUE(invalid([&] { DynamicLossScaleManager(16, factor); }).starts_with("scale_factor is"));
  EXPECT_EQ(invalid([] { DynamicLossScaleManager(16, 0.99999999999); }),
            "scale_factor is 0.99999999999; expected a number above 1");
  // The host gives up after a thousand overflows in a row, the device's cell never.
  DynamicLossScaleManager patient;
  DynamicLossScaleUpdateCell cell(0x1p24, 2, 2000);
  for (int i = 0; i < 1000; ++i) {
    patient.update_loss_scale(true);
    cell(true);
  }
  EXPECT_EQ(refusal<std::runtime_error>([&] { patient.update_loss_scale(true); }),
            "Dynamic loss scale Continuous overflow 1001 times");
  EXPECT_NO_THROW(cell(true));
  EXPECT_EQ(cell.get_loss_scale(), 1);
}

// tests: M11
TEST(Managers, M11StrictOnesTakeWhatMindSporeTakes) {
  // Every positive factor; the models count as MindSpore's sources do.
  for (const double factor : {1.0, 0.5, 2.0, 4.0})
    for (const int64_t window : {1, 2, 3})
      for (int sequence = 0; sequence < 1 << 10; ++sequence) {
        DynamicLossScaleManager manager(8, factor, window, true);
        DynamicLossScaleUpdateCell cell(8, factor, window, true);
        HostModel host{8, factor, window};
        DeviceModel device{8, factor, window};
        for (int i = 0; i < 10; ++i) {
          const bool overflow = sequence >> i & 1;
          manager.update_loss_scale(overflow);
          cell(overflow);
          host.update(overflow);
          device.update(overflow);
          ASSERT_EQ(manager.get_loss_scale(), host.scale) << factor << " " << sequence;
          ASSERT_EQ(cell.get_loss_scale(), device.scale) << factor << " " << sequence;
        }
        if (factor == 1) {
          ASSERT_EQ(cell.get_loss_scale(), 8);
        }
      }
  // A factor of 1/2 falls in finite steps and rises on overflows.
  DynamicLossScaleUpdateCell falls(8, 0.5, 1, true);
  falls(false);
  EXPECT_EQ(falls.get_loss_scale(), 4);
  falls(true);
  EXPECT_EQ(falls.get_loss_scale(), 8);
  for (const double factor : {0.0, -2.0, std::nan("")})
    EXPECT_TRUE(
        invalid([&] { DynamicLossScaleManager(16, factor, 2, true); }).ends_with("; expected a number above 0"));
  for (const double factor : {1.0, 0.5})
    EXPECT_TRUE(invalid([&] { DynamicLossScaleManager(16, factor, 2); }).ends_with("; expected a number above 1"));
  EXPECT_TRUE(invalid([] { DynamicLossScaleManager(0.5, 2, 2, true); }).find("initial is 0.5") != std::string::npos);
  EXPECT_TRUE(invalid([] { DynamicLossScaleManager(16, 2, 0, true); }).find("window is 0") != std::string::npos);
}

// tests: M11
TEST(Managers, M11AStrictScaleHasNoCap) {
  DynamicLossScaleManager strict(0x1p126, 2, 1, true), ours(0x1p126, 2, 1);
  for (int i = 0; i < 3; ++i) {
    strict.update_loss_scale(false);
    ours.update_loss_scale(false);
  }
  EXPECT_TRUE(std::isinf(strict.get_loss_scale()));
  EXPECT_EQ(ours.get_loss_scale(), 0x1.fffffep127f);
  strict.update_loss_scale(true);
  EXPECT_TRUE(std::isinf(strict.get_loss_scale()));  // half of it is infinite, too
  // A step under such a scale overflows, and all that follow.
  Scalar net(times);
  TrainOneStepWithLossScaleCell step(net, sgd(1), std::make_shared<DynamicLossScaleUpdateCell>(0x1p127, 2, 1, true));
  EXPECT_FALSE(step(scalar_batch(0x1p-100)).overflow);
  for (int i = 0; i < 2; ++i) {
    const LossScaleStep r = step(scalar_batch(0x1p-100));
    EXPECT_TRUE(r.overflow);
    EXPECT_TRUE(std::isinf(r.scale));
  }
}

}  // namespace
}  // namespace softamp::test
