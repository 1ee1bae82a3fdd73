// Tiled products equal the chain of kernel/products.h bit for bit: values, flags, lowest offending index; forwards and
// backwards; operands that lie in every way that maps of places can say.
#include <gtest/gtest.h>
#include <algorithm>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tests/emu/product_check.h"
#include "tests/serial_grid/serial_grid.h"
#include "tests/slice.h"

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
  part.start_row = static_cast<int64_t>(e.start_row);
  parts.have_start = !e.start.empty();
  parts.add(part);

  const size_t width = e.a.width(), out_width = c.rules.output.storage_bits() <= 16 ? 2 : 4;
  const OnDevice<uint8_t> a(device, e.a.data(), c.m * c.k * width), b(device, e.b.data(), c.k * c.n * e.b.width());
  std::vector<uint8_t> out((c.first_output + c.m * c.n) * out_width, 0x5A);
  const OnDevice<uint8_t> result(device, out.data(), out.size());
  grid::DeviceStatus status = grid::DeviceStatus::none();
  const OnDevice<grid::DeviceStatus> noted(device, &status, 1);
  const OnDevice<uint32_t> step(device, &e.environment.step, 1);
  std::vector<uint32_t> numbers = e.start;
  numbers.resize(std::max<size_t>(numbers.size(), 1));
  const OnDevice<uint32_t> start(device, numbers.data(), numbers.size());
  const grid::TiledProduct product(device, c.rules, c.semantics, parts);
  const std::vector<uint8_t> junk(product.scratch_bytes(), 0xEE);
  const OnDevice<uint8_t> scratch(device, junk.data(), junk.size());
  const grid::DeviceCall call{nullptr,
                              nullptr,
                              scratch.data(),
                              {e.environment, static_cast<const uint32_t*>(step.data())},
                              with_status ? static_cast<grid::DeviceStatus*>(noted.data()) : nullptr,
                              device};
  product.enqueue(call, a.data(), b.data(), result.data(), scratch.data(), parts.have_start ? start.data() : nullptr);
  result.fetch(out.data());
  noted.fetch(&status);
  const FpStatus found = status.status();
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

ProductCase random_case(Mixer& mix, uint64_t number) {
  ProductCase c;
  c.seed = number;
  c.semantics = product_policy(static_cast<int>(mix() % kPolicies), 12);
  c.m = mix() % 70, c.n = mix() % 70, c.k = mix() % 70;
  if (mix() % 6 == 0) c.m = 1 + mix() % 14, c.n = 1 + mix() % 14, c.k = 1 + mix() % 2100;
  if (mix() % 6 == 0) c.m = 1 + mix() % 280, c.n = 1 + mix() % 16;
  if (mix() % 8 == 0) c.m = 120 + mix() % 20, c.n = 120 + mix() % 20, c.k = 1 + mix() % 20;
  c.block = kBlocks[mix() % 4];
  c.transpose_a = mix() & 1, c.transpose_b = mix() & 1;
  c.batch_sum = mix() % 5 == 0;
  c.first_output = mix() % 3 == 0 ? 0 : mix() % 1000;
  draw_data(c, mix);
  const FloatFormat formats[] = {kFp16, kFp16, kFp16, kBf16, kFp32};
  c.rules.a = c.rules.b = formats[mix() % 5];
  draw_partials(c, mix);
  return c;
}

/// The order in which blocks and threads run: one of the two by the slice.
class ProductTile : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!Slice(2).is(GetParam() == std::string_view("backwards"))) GTEST_SKIP() << "in another slice";
    setenv("SOFTAMP_SERIAL_GRID", GetParam(), 1);
  }
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
  for (int which = 0; which < kPolicies; ++which)
    for (const size_t block : kBlocks)
      for (const size_t columns : {size_t{13}, size_t{40}})
        for (int data = 0; data < kDataKinds; ++data) {
          ProductCase c;
          c.seed = ++number;
          c.semantics = product_policy(which, 12);
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
    make_rare(c, mix, number);
    if (!check_tiles(c)) return;
  }
}

// Policies that no preset has.
TEST_P(ProductTile, Policies) {
  for (uint64_t number = 0; number < 100; ++number) {
    Mixer mix(number + 31);
    ProductCase c = random_case(mix, number + 30000);
    draw_policy(c, mix);
    if (!check_tiles(c)) return;
  }
}

/// The fast kernels, by name, in tiles of one size.
class FastTiles : public ProductTile {
 protected:
  void SetUp() override {
    ProductTile::SetUp();
    if (!IsSkipped()) grid::launched().clear();
  }
  void TearDown() override {
    grid::product_choice() = {};
    ProductTile::TearDown();
  }
  /// Whether the case's outputs come from that kernel, and are right; without C, which is of no fast kernel.
  static bool check_by(const char* kernel, ProductCase c, Lay lay = Lay::kDense) {
    c.may_start = false;
    grid::launched().clear();
    if (!check_tiles(c, lay)) return false;
    EXPECT_EQ(grid::launched().count(kernel), 1u) << describe(c) << " was not computed by: " << kernel;
    return grid::launched().count(kernel) == 1;
  }
  static constexpr grid::TileSize kSizes[] = {grid::TileSize::kLarge, grid::TileSize::kSmall, grid::TileSize::kNarrow,
                                              grid::TileSize::kTiny};
  /// Rows and columns that end inside a tile, and begin a second one in every size; columns are multiples of eight.
  static constexpr size_t kExtents[][2] = {{131, 24}, {5, 136}};
};
INSTANTIATE_TEST_SUITE_P(Orders, FastTiles, ::testing::Values("forwards", "backwards"));

constexpr const char kFloatKernel[] = "fast product, no rounding inside";
constexpr const char kCopyingKernel[] = "fast product, operands by asynchronous copies";
constexpr const char kBlockKernel[] = "fast product, roundings to halves at the ends of blocks";
constexpr const char kEachKernel[] = "fast product, a rounding to half after every product";

// Every size of tile and width of operands, along k and along the other index, odd ends of k. Operands of fp32 are
// copied, unless that is forbidden.
TEST_P(FastTiles, NoRoundingInside) {
  uint64_t number = 40000;
  struct Way {
    const FloatFormat& format;
    bool copies;
  };
  for (const grid::TileSize size : kSizes)
    for (const auto& [format, copies] : {Way{kFp16, true}, Way{kBf16, true}, Way{kFp32, true}, Way{kFp32, false}})
      for (int lay = 0; lay < 4; ++lay) {
        grid::product_choice().size = size, grid::product_choice().copies = copies;
        ProductCase c;
        c.seed = ++number;
        c.m = kExtents[lay & 1][0], c.n = kExtents[lay & 1][1] - (lay == 3 ? 3 : 0), c.k = 16 + number % 13;
        c.rules.a = c.rules.b = c.rules.output = format;
        c.semantics = product_policy(static_cast<int>(number % kPolicies), 12);
        c.transpose_a = lay & 1, c.transpose_b = number & 1;
        c.data = static_cast<ProductData>(number % kDataKinds);
        c.random.seed = number;
        if (c.semantics.narrow.mode == RoundingMode::kOdd) {  // a result of no fast kernel
          if (!check_tiles(c, static_cast<Lay>(lay))) return;
          continue;
        }
        const bool by_copies = copies && format == kFp32;
        if (!check_by(by_copies ? kCopyingKernel : kFloatKernel, c, static_cast<Lay>(lay))) return;
      }
}

// Chains of many steps, and of fewer than are on their way at once; subnormals that are kept, flushed with their sign,
// and flushed to +0.
TEST_P(FastTiles, AsynchronousCopies) {
  uint64_t number = 0;
  for (const grid::TileSize size : kSizes)
    for (const size_t k : {0u, 1u, 16u, 17u, 33u, 48u, 120u})
      for (const bool transposed : {false, true}) {
        grid::product_choice().size = size;
        ProductCase c;
        c.seed = ++number;
        c.m = 35, c.n = number % 4 < 2 ? 40 : 43, c.k = k;
        c.rules.a = c.rules.b = c.rules.output = kFp32;
        c.semantics = product_policy(number % 3 == 0 ? 7 : 0, 12);
        if (number % 3 == 2) c.semantics.operand_flush_sign = FlushSign::kPositive;
        c.transpose_a = transposed, c.transpose_b = !transposed;
        c.data = number / 2 % 2 ? ProductData::kSubnormal : ProductData::kOrdinary;
        if (!check_by(kCopyingKernel, c)) return;
      }
}

// Every block, to nearest and stochastic, in each size of tile; ten rounds of Philox, and seven, which is not theirs.
TEST_P(FastTiles, RoundingsInside) {
  uint64_t number = 50000;
  for (const grid::TileSize size : kSizes)
    for (const size_t block : kBlocks)
      for (const int policy : {0, 3, 5, 4}) {
        grid::product_choice().size = size;
        ProductCase c;
        c.seed = ++number;
        c.m = kExtents[number / 2 & 1][0], c.n = kExtents[number / 2 & 1][1], c.k = 17 + number % 9, c.block = block;
        c.rules.partials = PartialsType::kHalf;
        c.rules.exact_each = block == 1;
        c.semantics = product_policy(policy, 12);
        c.transpose_a = number & 1, c.transpose_b = number >> 2 & 1;
        c.data = static_cast<ProductData>(number % kDataKinds);
        c.random.seed = number;
        c.first_output = number % 3 * 8;
        if (block == 1 && policy == 4) continue;  // sixteen bits read more than the truncated sum
        if (!check_by(block == 1 ? kEachKernel : kBlockKernel, c)) return;
      }
  ProductCase seven;
  seven.m = seven.n = seven.k = 24;
  seven.rules.partials = PartialsType::kHalf;
  seven.semantics = product_policy(3, 12);
  seven.random.rounds = 7;
  EXPECT_TRUE(check_by("product, roundings to halves at the ends of blocks", seven));
  seven.random.rounds = 10, seven.first_output = 4;
  EXPECT_TRUE(check_by("product, roundings to halves at the ends of blocks", seven));
}

// Products of zeros of both signs, chains that end at -0, and what follows a chain's last product within a step.
// tests: N101
TEST_P(FastTiles, MissingProductsChangeNoSign) {
  for (const grid::TileSize size : kSizes)
    for (const size_t k : {1u, 3u, 15u, 17u})
      for (const bool each : {false, true}) {
        grid::product_choice().size = size;
        ProductCase c;
        c.m = 18, c.n = 16, c.k = k, c.seed = k;
        c.semantics = Semantics::ieee();
        if (each) {
          c.block = 1, c.rules.exact_each = true, c.rules.partials = PartialsType::kHalf;
          c.data = ProductData::kSmall;  // products that round to -0
        } else {
          c.rules.a = c.rules.b = c.rules.output = kFp32;
          c.data = ProductData::kAnything;  // products that underflow to -0
        }
        if (!check_by(each ? kEachKernel : kCopyingKernel, c)) return;
      }
}

// Independent partials: the values that are left to the body pass through the sum.
TEST_P(FastTiles, IndependentPartials) {
  for (const grid::TileSize size : kSizes)
    for (const size_t block : {size_t{1}, size_t{16}})
      for (const bool half : {false, true}) {
        grid::product_choice().size = size;
        ProductCase c;
        c.seed = block, c.m = 2, c.n = 8, c.k = 2070, c.block = block;
        c.batch_sum = c.rules.independent = true;
        c.rules.round_partials = !half && block == 16;
        c.rules.partials = half ? PartialsType::kHalf : PartialsType::kFloat;
        c.rules.exact_each = half && block == 1;
        c.semantics = product_policy(3, 12);
        c.data = half ? ProductData::kNearOverflow : ProductData::kOrdinary;
        c.random.seed = 3;
        const bool rounds = half || c.rules.round_partials;
        if (!check_by(!rounds ? kFloatKernel : c.rules.exact_each ? kEachKernel : kBlockKernel, c)) return;
      }
}

}  // namespace
}  // namespace softamp::test
