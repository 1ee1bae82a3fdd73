// Tiled products equal the chain of kernel/products.h bit for bit: values, flags, lowest offending index; forwards and
// backwards; operands that lie in every way that maps of places can say.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tests/emu/product_check.h"

#define cuda serial_grid  // as the library of this folder has it
#include "cuda/products/product_tile.h"
#undef cuda

namespace softamp::test {
namespace {

namespace grid = softamp::serial_grid;

/// Where operands and results lie.
enum class Lay { kDense, kPadded, kTables, kThreeAxes };

template <class T>
class OnDevice {
 public:
  OnDevice(grid::Device& device, const T* data, size_t count) : device_(device), bytes_(count * sizeof(T)) {
    data_ = device.allocate(std::max<size_t>(bytes_, 1));
    if (bytes_) device.upload(data_, data, bytes_);
  }
  ~OnDevice() { device_.release(data_); }
  void* data() const { return data_; }
  void fetch(T* to) const {
    if (bytes_) device_.download(to, data_, bytes_);
  }

 private:
  grid::Device& device_;
  size_t bytes_;
  void* data_;
};

struct Places {
  grid::PlaceMap map;
  std::vector<int64_t> at;
};

/// Places of `count` indices, `stride` apart as a dense matrix has them.
Places places_of(grid::ProductParts& parts, Lay lay, size_t count, int64_t stride) {
  Places p;
  if (lay == Lay::kDense || lay == Lay::kPadded) p.map = grid::PlaceMap::strided(stride);
  if (lay == Lay::kThreeAxes) {
    p.map = grid::PlaceMap::strided(stride * 6);
    p.map.height = 2, p.map.width = 3;
    p.map.row = 3 * stride, p.map.column = stride;
  }
  if (lay == Lay::kTables) {
    std::vector<int64_t> list;
    for (size_t i = 0; i < count; ++i) list.push_back(static_cast<int64_t>(i) * stride);
    p.map = parts.places(list);
  }
  for (size_t i = 0; i < count; ++i) p.at.push_back(p.map.place(parts.table.data(), static_cast<uint32_t>(i)));
  return p;
}

/// Runs the case on the device; compares with the chain.
bool check_tiles(const ProductCase& c, Lay lay = Lay::kDense, bool with_status = true) {
  const ProductExpectation e(c);
  grid::Device device;
  grid::ProductParts parts;
  parts.schedules.push_back(e.schedule);
  const auto rows = static_cast<int64_t>(c.m), columns = static_cast<int64_t>(c.n), k = static_cast<int64_t>(c.k);
  grid::ProductPart part;
  part.rows = static_cast<uint32_t>(c.m);
  part.columns = static_cast<uint32_t>(c.n);
  part.a_rows = places_of(parts, lay, c.m, c.transpose_a ? 1 : k).map;
  part.a_k = places_of(parts, lay, c.k, c.transpose_a ? rows : 1).map;
  part.b_k = places_of(parts, lay, c.k, c.transpose_b ? 1 : columns).map;
  part.b_columns = places_of(parts, lay == Lay::kPadded ? Lay::kDense : lay, c.n, c.transpose_b ? k : 1).map;
  part.out_rows = places_of(parts, lay, c.m, columns).map;
  part.out = static_cast<int64_t>(c.first_output);
  parts.add(part);

  const size_t width = e.a.width(), out_width = c.rules.output.storage_bits() <= 16 ? 2 : 4;
  const OnDevice<uint8_t> a(device, e.a.data(), c.m * c.k * width), b(device, e.b.data(), c.k * c.n * e.b.width());
  std::vector<uint8_t> out((c.first_output + c.m * c.n) * out_width, 0x5A);
  const OnDevice<uint8_t> result(device, out.data(), out.size());
  grid::DeviceStatus status{};
  for (uint64_t& place : status.first_index) place = FpStatus::kNever;
  const OnDevice<grid::DeviceStatus> noted(device, &status, 1);
  const OnDevice<uint32_t> step(device, &e.environment.step, 1);
  const grid::TiledProduct product(device, c.rules, c.semantics, parts);
  const std::vector<uint8_t> junk(product.scratch_bytes(), 0xEE);
  const OnDevice<uint8_t> scratch(device, junk.data(), junk.size());
  const grid::DeviceCall call{nullptr,
                              nullptr,
                              scratch.data(),
                              {e.environment, static_cast<const uint32_t*>(step.data())},
                              with_status ? static_cast<grid::DeviceStatus*>(noted.data()) : nullptr,
                              device};
  product.enqueue(call, a.data(), b.data(), result.data(), scratch.data());
  result.fetch(out.data());
  noted.fetch(&status);
  FpStatus found;
  found.flags = static_cast<uint8_t>(status.flags);
  for (int f = 0; f < kFlagCount; ++f) found.first_index[f] = status.first_index[f];
  for (size_t i = 0; i < c.m * c.n; ++i) {
    uint32_t code = 0;
    std::memcpy(&code, out.data() + (c.first_output + i) * out_width, out_width);
    if (code != e.codes[i]) {
      ADD_FAILURE() << describe(c) << " lay " << static_cast<int>(lay) << "\n  output " << i / c.n << "," << i % c.n
                    << ": " << hex(code) << " instead of " << hex(e.codes[i]);
      return false;
    }
  }
  if (with_status && show(found) != show(e.status)) {
    ADD_FAILURE() << describe(c) << "\n  status " << show(found) << " instead of " << show(e.status);
    return false;
  }
  return true;
}

Semantics policy(int which) {
  FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
  IpuSwitches w;
  b.esr = which >= 2 && which <= 5;
  b.nanoo = which == 1 || which == 3;
  if (which == 4) w.sr_bits = 16;
  if (which == 5) w.sr_bits = 12, w.sr_form = StochasticVariant::kHalf;
  Semantics s = Semantics::ipu(b, w);
  if (which == 6) s = Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kTowardZero));
  if (which == 7) s = Semantics::ieee();
  return s;
}

ProductCase random_case(Mixer& mix, uint64_t number) {
  ProductCase c;
  c.seed = number;
  c.semantics = policy(static_cast<int>(mix() % 8));
  c.m = mix() % 70, c.n = mix() % 70, c.k = mix() % 70;
  if (mix() % 6 == 0) c.m = 1 + mix() % 14, c.n = 1 + mix() % 14, c.k = 1 + mix() % 2100;
  if (mix() % 6 == 0) c.m = 1 + mix() % 280, c.n = 1 + mix() % 16;
  if (mix() % 8 == 0) c.m = 120 + mix() % 20, c.n = 120 + mix() % 20, c.k = 1 + mix() % 20;
  const size_t blocks[] = {1, 4, 16, 0};
  c.block = blocks[mix() % 4];
  c.transpose_a = mix() & 1, c.transpose_b = mix() & 1;
  c.batch_sum = mix() % 5 == 0;
  c.first_output = mix() % 3 == 0 ? 0 : mix() % 1000;
  c.data = static_cast<ProductData>(mix() % kDataKinds);
  c.random.seed = mix();
  c.random.rounds = mix() % 4 == 0 ? 7 : 10;
  c.random.replica = mix() % 3;
  const FloatFormat formats[] = {kFp16, kFp16, kFp16, kBf16, kFp32};
  c.rules.a = c.rules.b = formats[mix() % 5];
  const FloatFormat outputs[] = {kFp16, kFp32, kBf16};
  c.rules.partials = mix() % 3 == 0 ? PartialsType::kFloat : PartialsType::kHalf;
  c.rules.output = outputs[c.rules.partials == PartialsType::kFloat ? mix() % 3 : mix() % 8 / 7];
  c.rules.independent = c.batch_sum;
  c.rules.round_partials = c.batch_sum && mix() % 2;
  c.rules.exact_each = c.block == 1 && c.rules.partials == PartialsType::kHalf && mix() % 4 != 0;
  if (c.block == 1 && !c.rules.exact_each) c.rules.inner = AmpInner::kRn32Each;
  return c;
}

class ProductTile : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { setenv("SOFTAMP_SERIAL_GRID", GetParam(), 1); }
  void TearDown() override { unsetenv("SOFTAMP_SERIAL_GRID"); }
};
INSTANTIATE_TEST_SUITE_P(Orders, ProductTile, ::testing::Values("forwards", "backwards"));

TEST_P(ProductTile, RandomShapes) {
  Mixer mix(7);
  for (uint64_t number = 0; number < 150; ++number) {
    const ProductCase c = random_case(mix, number);
    if (!check_tiles(c, static_cast<Lay>(number % 4), number % 7 != 0)) return;
  }
}

// Every partials type, block, policy and kind of data, on shapes with odd ends everywhere.
TEST_P(ProductTile, EveryPolicy) {
  uint64_t number = 10000;
  for (int which = 0; which < 8; ++which)
    for (const size_t block : {size_t{1}, size_t{4}, size_t{16}, size_t{0}})
      for (const size_t columns : {size_t{13}, size_t{40}})
        for (int data = 0; data < kDataKinds; ++data) {
          ProductCase c;
          c.seed = ++number;
          c.semantics = policy(which);
          c.m = 19, c.n = columns, c.k = 41, c.block = block;
          c.rules.partials = PartialsType::kHalf;
          c.rules.exact_each = block == 1;
          c.data = static_cast<ProductData>(data);
          c.random.seed = number;
          if (!check_tiles(c)) return;
        }
}

TEST_P(ProductTile, RareRules) {
  for (uint64_t number = 0; number < 20; ++number) {
    Mixer mix(number);
    ProductCase c = random_case(mix, number + 20000);
    c.m = 1 + mix() % 9, c.n = 1 + mix() % 40, c.k = 1 + mix() % 40;
    switch (number % 5) {
      case 0: c.rules.inner = AmpInner::kExactDot4, c.rules.exact_each = false; break;
      case 1: c.rules.flush_inner = true; break;
      case 2: c.semantics.narrow.nan = c.semantics.wide.nan = NanPattern::kPropagate; break;
      case 3: c.semantics.wide.overflow = Overflow::kSaturate; break;
      case 4: c.semantics.narrow_infinity = static_cast<InfinityOperand>(1 + number / 5 % 3); break;
    }
    if (number % 2) c.data = ProductData::kAnything;
    if (!check_tiles(c)) return;
  }
}

// Policies that no preset has.
TEST_P(ProductTile, Policies) {
  for (uint64_t number = 0; number < 100; ++number) {
    Mixer mix(number + 31);
    ProductCase c = random_case(mix, number + 30000);
    RoundingPolicy& p = c.semantics.narrow;
    p.mode = static_cast<RoundingMode>(mix() % 6);
    const int bits[] = {1, 2, 7, 11, 12, 13, 14, 15, 16, 17, 24, 31, 32};
    p.random_bits = bits[mix() % 13];
    p.variant = static_cast<StochasticVariant>(mix() % 4);
    p.overflow = static_cast<Overflow>(mix() % 3);
    p.overflow_rule = static_cast<OverflowRule>(mix() % 4);
    p.infinity = static_cast<InfinityResult>(mix() % 3);
    p.infinity_flags = mix() % 2 ? kInvalid : kOverflow;
    p.subnormals = static_cast<Subnormals>(mix() % 3);
    p.nan = static_cast<NanPattern>(mix() % 3);
    c.semantics.operand_flush_sign = static_cast<FlushSign>(mix() % 2);
    c.m = 1 + mix() % 20, c.n = 1 + mix() % 40, c.k = 1 + mix() % 50;
    if (!check_tiles(c)) return;
  }
}

}  // namespace
}  // namespace softamp::test
