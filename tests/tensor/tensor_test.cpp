// Tensors: dtypes and their names, shapes and their limits, storage, conversions of the host, and .npy files.
#include "softamp/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "softamp/data/npy.h"
#include "softamp/numerics/convert.h"
#include "tests/files.h"
#include "tests/refusal.h"

using namespace softamp;
namespace fs = std::filesystem;

namespace {

template <class Action>
std::string message(const Action& action) {
  return softamp::test::refusal<std::exception>(action);
}

constexpr DType kAll[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64,
                          DType::kInt32,   DType::kBool,     DType::kInt64,   DType::kUint8};

}  // namespace

TEST(DType, NamesSizesAndSpellings) {
  const struct {
    DType dtype;
    size_t size;
    std::vector<const char*> names;  // ours first
  } rows[] = {{DType::kFloat16, 2, {"float16", "half", "fp16", "f16", "DT_HALF"}},
              {DType::kBFloat16, 2, {"bfloat16", "bf16", "DT_BFLOAT16"}},
              {DType::kFloat32, 4, {"float32", "float", "fp32", "f32", "DT_FLOAT"}},
              {DType::kFloat64, 8, {"float64", "double", "fp64", "f64", "DT_DOUBLE"}},
              {DType::kInt32, 4, {"int32", "int", "DT_INT32"}},
              {DType::kBool, 1, {"bool", "DT_BOOL"}},
              {DType::kInt64, 8, {"int64", "DT_INT64"}},
              {DType::kUint8, 1, {"uint8", "DT_UINT8"}},
              {DType::kString, 1, {"string", "DT_STRING"}}};
  for (const auto& row : rows) {
    EXPECT_STREQ(name_of(row.dtype), row.names[0]);
    EXPECT_EQ(size_of(row.dtype), row.size);
    for (const char* name : row.names) EXPECT_EQ(parse_dtype(name), row.dtype) << name;
  }
  for (const char* word : {"", "float8", "int16", "float3", "float32 ", "uint16", "str"})
    EXPECT_EQ(parse_dtype(word), std::nullopt);
}

TEST(DType, WholeNumbersOfOtherWidths) {
  const Tensor wide =
      Tensor::from_values(DType::kInt64, {6}, std::vector<double>{-0x1p63, 0x1p62 + 0x1p10, 2.5, 3.5, -2.5, -0.25});
  EXPECT_EQ(wide.as<int64_t>()[0], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(wide.as<int64_t>()[1], (int64_t{1} << 62) + 1024);
  const std::vector<double> values = wide.values();
  EXPECT_EQ(std::vector<double>(values.begin() + 2, values.end()), (std::vector<double>{2, 4, -2, 0}));
  const Tensor bytes = Tensor::from_values(DType::kUint8, {3}, std::vector<double>{0, 254.5, 255.25});
  EXPECT_EQ(bytes.values(), (std::vector<double>{0, 254, 255}));
  EXPECT_EQ(message([] { Tensor::from_values(DType::kInt64, {1}, std::vector<double>{0x1p63}); }),
            "9.223372036854776e+18 is no int64: expected a number from -2^63 to 2^63 - 1");
  EXPECT_EQ(message([] { Tensor::from_values(DType::kUint8, {1}, std::vector<double>{-1}); }),
            "-1 is no uint8: expected a number from 0 to 255");
  EXPECT_EQ(message([] { Tensor::from_values(DType::kUint8, {1}, std::vector<double>{255.5}); }),
            "255.5 is no uint8: expected a number from 0 to 255");
  for (const double none : std::vector<double>{std::nan(""), INFINITY, -INFINITY, -0x1.8p63, 0x1p64})
    for (const DType t : {DType::kInt64, DType::kUint8})
      EXPECT_NE(message([&] { Tensor::from_values(t, {1}, std::vector<double>{none}); }).find(" is no "),
                std::string::npos)
          << none;
  // Every quarter on both sides of the range: ties to even.
  for (int64_t quarters = -12; quarters <= 4 * 258; ++quarters) {
    const int64_t up = (quarters + 2 + 16) / 4 - 4, nearest = up - ((quarters & 3) == 2 && up % 2 != 0);
    const std::vector<double> value = {static_cast<double>(quarters) / 4};
    EXPECT_EQ(Tensor::from_values(DType::kInt64, {1}, value).as<int64_t>()[0], nearest) << value[0];
    const std::string refused = message([&] { Tensor::from_values(DType::kUint8, {1}, value); });
    EXPECT_EQ(refused.empty(), nearest >= 0 && nearest <= 255) << value[0];
    if (refused.empty()) {
      EXPECT_EQ(Tensor::from_values(DType::kUint8, {1}, value).value(0), static_cast<double>(nearest));
    }
  }
  EXPECT_EQ(message([] { Tensor(DType::kString, {2}); }),
            "a tensor string[2]: there are no tensors of strings; a graph can only pass them on");
}

TEST(Shape, ElementsTextAndLimits) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ(Shape{}.text(), "[]");
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ((Shape{2, 3, 4}).text(), "[2,3,4]");
  EXPECT_EQ((Shape{2, 0, 4}).elements(), 0);
  EXPECT_EQ((Shape{1 << 20, 1 << 20}).elements(), Shape::kMaxElements);
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_EQ(message([] { Shape{2, -1}; }), "dimension -1 of shape [2,-1] is negative");
  EXPECT_EQ(message([] { Shape{1 << 20, 1 << 20, 2}; }), "shape [1048576,1048576,2] has more than 2^40 elements");
  EXPECT_EQ(message([] {
              Shape{INT64_MAX, INT64_MAX};
            }),
            "shape [9223372036854775807,9223372036854775807] has more than 2^40 elements");
  EXPECT_EQ(message([] {
              Shape{INT64_MAX, 0, INT64_MAX};
            }),
            "shape [9223372036854775807,0,9223372036854775807] has more than 2^40 elements")
      << "strides of an empty tensor must not overflow either";
  EXPECT_EQ(message([] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }), "a shape of 9 dimensions; expected at most 8");
}

TEST(Shape, BroadcastIsNumPys) {
  EXPECT_EQ(broadcast({2, 3}, {3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast({}, {5}), (Shape{5}));
  EXPECT_EQ(broadcast({0}, {1}), (Shape{0}));
  EXPECT_EQ(message([] { broadcast({2, 3}, {4}); }), "Incompatible shapes: [2,3] vs. [4]");
  EXPECT_EQ(message([] { broadcast({0}, {2}); }), "Incompatible shapes: [0] vs. [2]");
  EXPECT_EQ(message([] {
              broadcast({1 << 30, 1}, {1 << 30});
            }),
            "shape [1073741824,1073741824] has more than 2^40 elements");
}

TEST(Tensor, AMovedOneIsEmpty) {
  Tensor from = Tensor::full(DType::kFloat16, {2, 3}, 1.5);
  const Tensor to = std::move(from);
  EXPECT_EQ(to.type(), (TensorType{DType::kFloat16, {2, 3}}));
  const auto expect_empty = [](const Tensor& t, DType dtype) {
    EXPECT_EQ(t.type(), (TensorType{dtype, Shape{0}}));
    EXPECT_EQ(t.bytes(), 0u);
    EXPECT_EQ(t.data(), nullptr);
    EXPECT_TRUE(t.values().empty());
    EXPECT_TRUE(t.clone().same_bits(t));
    EXPECT_EQ(message([&] { t.value(0); }), std::string("element 0 of a tensor ") + name_of(dtype) + "[0]");
  };
  expect_empty(from, DType::kFloat16);  // NOLINT: what a moved tensor is
  Tensor other = Tensor::full(DType::kInt32, {4}, 7);
  from = std::move(other);
  expect_empty(other, DType::kInt32);  // NOLINT
  EXPECT_EQ(from.value(3), 7);
  Tensor& self = from;
  from = std::move(self);
  EXPECT_EQ(from.value(3), 7) << "moved onto itself";
}

TEST(Tensor, StartsAsZerosAlignedTo64Bytes) {
  for (const DType dtype : kAll)
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{3, 5}, Shape{1000, 1000}}) {
      const Tensor t(dtype, shape);
      ASSERT_NE(t.data(), nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
      EXPECT_EQ(t.bytes(), static_cast<size_t>(shape.elements()) * size_of(dtype));
      for (int64_t i = 0; i < t.elements(); i += 997) ASSERT_EQ(t.code(i), 0u);
    }
  const Tensor empty;
  EXPECT_EQ(empty.elements(), 0);
  EXPECT_TRUE(empty.same_bits(Tensor(DType::kFloat32, {0})));
  EXPECT_TRUE(empty.clone().same_bits(empty));
}

TEST(Tensor, OutOfMemoryNamesTheTensor) {
  EXPECT_EQ(message([] {
              Tensor(DType::kFloat64, {1 << 20, 1 << 20});
            }),
            "out of memory: 8796093022208 bytes for a tensor float64[1048576,1048576]");
  EXPECT_THROW(Tensor(DType::kFloat64, {1 << 20, 1 << 20}), std::bad_alloc);
}

// tests: G04
TEST(Tensor, HostConversionsRoundToNearestEvenOnce) {
  // TUTORIAL G04
  const std::vector<double> values = {1, -0.0, 65519.99, 65520, 0x1p-25, 0x1.8p-24, 1 + 0x1p-11, 1 + 0x3p-11};
  const Tensor half = Tensor::from_values(DType::kFloat16, {8}, values);
  const uint16_t codes[] = {0x3c00, 0x8000, 0x7bff, 0x7c00, 0, 2, 0x3c00, 0x3c02};
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(half.as<uint16_t>()[i], codes[i]) << i;
  const Tensor brain = Tensor::from_values(DType::kBFloat16, {2}, std::vector<double>{1 + 0x1p-8, 1 + 0x3p-8});
  EXPECT_EQ(brain.code(0), 0x3f80u);
  EXPECT_EQ(brain.code(1), 0x3f82u);
  const Tensor wide = Tensor::from_values(DType::kFloat32, {2}, std::vector<double>{1 + 0x1p-24, 0x1p-149});
  EXPECT_EQ(wide.code(0), 0x3f800000u);
  EXPECT_EQ(wide.code(1), 1u) << "a host conversion flushes nothing";
  const Tensor whole = Tensor::from_values(DType::kInt32, {4}, std::vector<double>{-2147483648.0, 2.5, 3.5, -7});
  EXPECT_EQ(whole.values(), (std::vector<double>{-2147483648.0, 2, 4, -7}));
  EXPECT_NE(message([] { Tensor::full(DType::kInt32, {}, 2147483648.0); }).find("is no int32"), std::string::npos);
  EXPECT_NE(message([] { Tensor::full(DType::kInt32, {}, std::nan("")); }).find("is no int32"), std::string::npos);
  EXPECT_EQ(Tensor::from_values(DType::kBool, {3}, std::vector<double>{0, 1, -2}).values(),
            (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(message([] {
              Tensor::from_values(DType::kInt32, {2, 2}, std::vector<double>{1, 2, 3});
            }),
            "3 values for a tensor of shape [2,2]; expected 4");
}

TEST(Tensor, EveryHalfIsReadAndMadeExactly) {
  Tensor all(DType::kFloat16, {65536});
  for (uint32_t c = 0; c < 65536; ++c) all.as<uint16_t>()[c] = static_cast<uint16_t>(c);
  const std::vector<double> values = all.values();
  const Tensor back = Tensor::from_values(DType::kFloat16, {65536}, values);
  for (uint32_t c = 0; c < 65536; ++c) {
    if (kFp16.is_nan(c))
      ASSERT_TRUE(kFp16.is_nan(back.code(c))) << c;
    else
      ASSERT_EQ(back.code(c), c);
  }
}

TEST(Tensor, AccessIsTyped) {
  Tensor t = Tensor::full(DType::kFloat16, {2}, 1.5);
  EXPECT_EQ(static_cast<float>(t.as<Half>()[1]), 1.5F);
  EXPECT_EQ(t.as<uint16_t>()[1], 0x3e00);
  EXPECT_EQ(message([&] { t.as<float>(); }),
            "a tensor float16[2] does not hold elements of the type that was asked for");
  EXPECT_THROW(t.as<BFloat16>(), std::invalid_argument);
  EXPECT_EQ(message([&] { t.value(2); }), "element 2 of a tensor float16[2]");
  EXPECT_THROW(t.code(-1), std::out_of_range);
  EXPECT_EQ((Tensor::full(DType::kFloat64, {2}, 0.1).as<double>()[1]), 0.1);
  EXPECT_EQ((Tensor::full(DType::kInt32, {2}, -3).as<int32_t>()[0]), -3);
}

TEST(Tensor, ClonesAreApartAndBitsAreCompared) {
  Tensor a = Tensor::full(DType::kFloat32, {3}, std::nan(""));
  const Tensor b = a.clone();
  EXPECT_TRUE(a.same_bits(b)) << "NaNs too";
  a.as<uint32_t>()[2] ^= 1;
  EXPECT_FALSE(a.same_bits(b));
  EXPECT_FALSE(Tensor(DType::kFloat16, {2}).same_bits(Tensor(DType::kBFloat16, {2})));
  EXPECT_FALSE(Tensor(DType::kFloat16, {2}).same_bits(Tensor(DType::kFloat16, {2, 1})));
}

TEST(TensorNpy, EveryDtypeRoundTrips) {
  const softamp::test::TemporaryFolder folder;
  for (const DType dtype : kAll)
    for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{2, 3}}) {
      Tensor t(dtype, shape);
      for (size_t i = 0; i < t.bytes(); ++i)
        static_cast<uint8_t*>(t.data())[i] = static_cast<uint8_t>(dtype == DType::kBool ? i & 1 : 37 * i + 11);
      const fs::path file = folder.path() / "t.npy";
      save_npy(t, file);
      EXPECT_TRUE(load_npy(file, dtype == DType::kBFloat16).same_bits(t)) << name_of(dtype) << shape.text();
    }
}

TEST(TensorNpy, RefusesWhatNoTensorIs) {
  const softamp::test::TemporaryFolder folder;
  const fs::path file = folder.path() / "t.npy";
  save_npy(Tensor(DType::kBFloat16, {2}), file);
  EXPECT_EQ(
      message([&] { load_npy(file); }),
      file.string() +
          ": elements of type '<u2'; expected '<f2', '<f4', '<f8', '<i4', '<i8', '|b1' or '|u1', or '<u2' where a "
          "bfloat16 tensor is read");
  const uint64_t nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  npy::Writer writer(file.string(), npy::ElementType::kFloat32, nine);
  writer.write("abcd", 1);
  writer.commit();
  EXPECT_EQ(message([&] { load_npy(file); }),
            file.string() + ": shape (1, 1, 1, 1, 1, 1, 1, 1, 1): a shape of 9 dimensions; expected at most 8");
  EXPECT_THROW(load_npy(folder.path() / "none.npy"), npy::Error);
}

TEST(TensorNpy, AByteThatIsNotZeroIsTrue) {
  const softamp::test::TemporaryFolder folder;
  const fs::path file = folder.path() / "b.npy";
  const uint64_t three[] = {3};
  npy::Writer writer(file.string(), npy::ElementType::kBool, three);
  writer.write("\x00\x01\x07", 3);
  writer.commit();
  EXPECT_EQ(load_npy(file).values(), (std::vector<double>{0, 1, 1}));
}
