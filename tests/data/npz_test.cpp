// .npz files: NumPy's own, stored and deflated; what is refused, by file, array and expectation.
#include "softamp/data/npz.h"

#include <gtest/gtest.h>

#include "src/data/archive.h"
#include "src/data/npy_types.h"
#include "tests/data/file_bytes.h"
#include "tests/refusal.h"

namespace fs = std::filesystem;
using namespace softamp;
using namespace softamp::test;

namespace {

/// numpy.savez and numpy.savez_compressed of NumPy 1.26.4, of {"dense/kernel": float32 [[1, 2, 3], [4, 5, 6]], "flags":
/// [True, False]}: local headers with zip64's fields, others without.
constexpr const char* kSavez =
    "504b03042d0000000000000021007c9cdea2ffffffffffffffff1000140064656e73652f6b65726e656c2e6e707901001000"
    "98000000000000009800000000000000934e554d5059010076007b276465736372273a20273c6634272c2027666f72747261"
    "6e5f6f72646572273a2046616c73652c20277368617065273a2028322c2033292c207d202020202020202020202020202020"
    "202020202020202020202020202020202020202020202020202020202020202020202020202020202020200a0000803f0000"
    "004000004040000080400000a0400000c040504b03042d000000000000002100ee19bb5dffffffffffffffff09001400666c"
    "6167732e6e70790100100082000000000000008200000000000000934e554d5059010076007b276465736372273a20277c62"
    "31272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028322c292c207d202020202020"
    "2020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
    "202020200a0100504b01022d032d0000000000000021007c9cdea29800000098000000100000000000000000000000800100"
    "00000064656e73652f6b65726e656c2e6e7079504b01022d032d000000000000002100ee19bb5d8200000082000000090000"
    "0000000000000000008001da000000666c6167732e6e7079504b0506000000000200020075000000970100000000";
constexpr const char* kSavezCompressed =
    "504b03042d0000000800000021007c9cdea2ffffffffffffffff1000140064656e73652f6b65726e656c2e6e707901001000"
    "980000000000000058000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f545294"
    "98179f5f94920a12774bcc294e058a17672416a402f91a463a0ac69a3a0ab50a64032e0686067b060606072002e206205e00"
    "c4071c00504b03042d000000080000002100ee19bb5dffffffffffffffff09001400666c6167732e6e707901001000820000"
    "000000000046000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e9364a8aea3a09e965f54529498179f"
    "5f94920a12774bcc294e058a17672416a402f91a463a9a3a0ab50a14002e460600504b01022d032d0000000800000021007c"
    "9cdea2580000009800000010000000000000000000000080010000000064656e73652f6b65726e656c2e6e7079504b01022d"
    "032d000000080000002100ee19bb5d460000008200000009000000000000000000000080019a000000666c6167732e6e7079"
    "504b05060000000002000200750000001b0100000000";

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::string refused(const fs::path& file, uint64_t most = npz::kMostBytes) {
  return refusal<npy::Error>([&] { npz::Reader reader(file, most); });
}

/// An archive of one deflated entry whose directory promises `size` bytes.
std::string deflated(const std::string& name, const std::string& deflate, uint32_t crc, uint32_t size) {
  const std::string shared = little(20, 2) + little(0, 2) + little(8, 2) + little(0, 2) + little(0x21, 2) +
                             little(crc, 4) + little(deflate.size(), 4) + little(size, 4) + little(name.size(), 2) +
                             little(0, 2);
  const std::string entry = "PK\3\4" + shared + name + deflate;
  const std::string directory = "PK\1\2" + little(20, 2) + shared + little(0, 10) + little(0, 4) + name;
  return entry + directory + "PK\5\6" + little(0, 4) + little(1, 2) + little(1, 2) + little(directory.size(), 4) +
         little(entry.size(), 4) + little(0, 2);
}

/// The deflate data of these bytes.
std::string deflate(const std::string& bytes) {
  const std::string packed = gzip(bytes);
  return packed.substr(10, packed.size() - 18);
}

std::string text_of(const Tensor& tensor) {
  const std::vector<std::byte> bytes = npy_bytes(tensor);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST(Npz, NumPysOwnFiles) {
  const Folder folder;
  for (const char* hex : {kSavez, kSavezCompressed}) {
    const npz::Reader reader(folder.write("a.npz", from_hex(hex)));
    EXPECT_EQ(reader.names(), (std::vector<std::string>{"dense/kernel", "flags"}));
    EXPECT_TRUE(reader.has("flags"));
    EXPECT_FALSE(reader.has("flags.npy"));
    EXPECT_EQ(reader.header("dense/kernel").shape, (std::vector<uint64_t>{2, 3}));
    const Tensor kernel = reader.tensor("dense/kernel");
    EXPECT_EQ(kernel.type(), (TensorType{DType::kFloat32, {2, 3}}));
    EXPECT_EQ(kernel.values(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(reader.tensor("flags", {DType::kBool, {2}}).values(), (std::vector<double>{1, 0}));
  }
}

TEST(Npz, WrittenArraysReadBack) {
  const Folder folder;
  const fs::path file = folder.path() / "b.npz";
  const Tensor half = Tensor::from_values(DType::kFloat16, {3}, std::vector<double>{1, -0.5, 65504});
  const Tensor brain = Tensor::from_values(DType::kBFloat16, {1, 2}, std::vector<double>{0.1, 3});
  const Tensor none(DType::kInt64, {0, 4}), one = Tensor::full(DType::kFloat64, {}, 0.1);
  const npz::Array arrays[] = {{"half", &half}, {"a/brain", &brain}, {"none", &none}, {"one", &one}};
  npz::write(file, arrays);
  const std::string first = read_text(file);
  npz::write(file, arrays);
  EXPECT_EQ(read_text(file), first);
  const npz::Reader reader(file);
  for (const npz::Array& a : arrays) {
    EXPECT_TRUE(reader.tensor(a.name, a.value->type()).same_bits(*a.value)) << a.name;
    EXPECT_TRUE(reader.tensor(a.name, true).same_bits(*a.value)) << a.name;
  }
  expect_text(refusal<npy::Error>([&] { reader.tensor("a/brain"); }),
              "b.npz: a/brain: elements of type '<u2'; expected '<f2'");
  EXPECT_EQ(archive::read_zip(file, 10000).at(1).name, "a/brain.npy");

  const npz::Array twice[] = {{"half", &half}, {"half", &half}}, nameless[] = {{"", &half}};
  expect_text(refusal<npy::Error>([&] { npz::write(file, twice); }), "b.npz: two entries are called \"half.npy\"");
  expect_text(refusal<npy::Error>([&] { npz::write(file, nameless); }), "b.npz: an array without a name");
  expect_text(refusal<npy::Error>([&] { npz::write(folder.path() / "no" / "b.npz", arrays); }), "no/b.npz");
  EXPECT_EQ(read_text(file), first);
}

TEST(Npz, EntriesThatAreNoArraysAreLeftOut) {
  const Folder folder;
  files::OutputFile out(folder.path() / "c.npz");
  const archive::Entry entries[] = {{"checkpoint.json", {}}, {"x.npy", npy_bytes(Tensor(DType::kInt32, {2}))}};
  archive::write_zip(out, entries);
  out.commit();
  EXPECT_EQ(npz::Reader(folder.path() / "c.npz").names(), (std::vector<std::string>{"x"}));
}

TEST(Npz, RefusesByFileArrayAndExpectation) {
  const Folder folder;
  const std::string good = from_hex(kSavezCompressed);
  const fs::path file = folder.write("a.npz", good);
  const npz::Reader reader(file);
  expect_text(refusal<npy::Error>([&] { reader.tensor("dense/kernal"); }),
              "a.npz: there is no array \"dense/kernal\". Did you mean \"dense/kernel\"?");
  expect_text(refusal<npy::Error>([&] { reader.header("x"); }),
              "a.npz: there is no array \"x\"; expected one of its 2 arrays, the first of them \"dense/kernel\"");
  expect_text(refusal<npy::Error>([&] {
                reader.tensor("dense/kernel", {DType::kFloat32, {3, 2}});
              }),
              "a.npz: dense/kernel: an array of '<f4' (2, 3); expected '<f4' (3, 2), for float32");
  expect_text(refusal<npy::Error>([&] {
                reader.tensor("dense/kernel", {DType::kBFloat16, {2, 3}});
              }),
              "a.npz: dense/kernel: an array of '<f4' (2, 3); expected '<u2' (2, 3), for bfloat16");
  EXPECT_EQ(refused(file), "");
  expect_text(refused(file, 300), "a.npz: has 422 bytes; expected at most 300");
  expect_text(refused(folder.path() / "none.npz"), "none.npz: cannot open: No such file or directory");
  expect_text(refused(folder.write("z.npz", "PK")), "z.npz: byte 2: not a zip archive, or cut off");

  const std::string zeros = text_of(Tensor(DType::kUint8, {1000}));
  const auto of = [&](const std::string& packed, uint32_t crc, uint32_t size) {
    const fs::path written = folder.write("d.npz", deflated("x.npy", packed, crc, size));
    return refusal<npy::Error>([&] { npz::Reader(written).tensor("x"); });
  };
  const uint32_t crc = slow_crc32(zeros), size = static_cast<uint32_t>(zeros.size());
  EXPECT_EQ(of(deflate(zeros), crc, size), "");
  expect_text(of(deflate(zeros), crc ^ 1, size), "d.npz: entry \"x.npy\": the gzip data do not agree with");
  expect_text(of(deflate(zeros), crc, size + 1), "d.npz: entry \"x.npy\": the gzip data do not agree with");
  expect_text(of(deflate(zeros), crc, size - 1),
              "d.npz: byte 35: entry \"x.npy\" unpacks to more bytes; the directory promises 1127");
  expect_text(of(deflate(zeros).substr(0, 500), crc, size), "d.npz: entry \"x.npy\": byte ");
  expect_text(of(deflate("no array"), slow_crc32("no array"), 8), "d.npz: x: byte 0: not a .npy file");
}

TEST(Npz, ASmallFileCannotDemandMuchMemory) {
  const Folder folder;
  const std::string huge = npy::make_header(npy::ElementType::kUint8, std::vector<uint64_t>{4000000000});
  const auto promising = [&](uint32_t size) {
    return folder.write("e.npz", deflated("x.npy", deflate(huge), 0, size));
  };
  expect_text(refused(promising(4000000128)),
              "e.npz: byte 188: entry \"x.npy\" promises 4000000128 bytes from 133 "
              "deflated ones; expected at most 1032 from one");
  expect_text(refused(promising(133 * 1032), 133 * 1032 - 1),
              "e.npz: entry \"x.npy\": the archive unpacks to more than the 137255 bytes");
  // What does not fit is refused by its header alone: the data behind it are damaged, and are not looked at.
  const std::string thousand = npy::make_header(npy::ElementType::kUint8, std::vector<uint64_t>{100000});
  const npz::Reader reader(
      folder.write("f.npz", deflated("x.npy", deflate(thousand + std::string(80000, ' ')), 0, 100128)));
  expect_text(refusal<npy::Error>([&] {
                reader.tensor("x", {DType::kUint8, {5}});
              }),
              "f.npz: x: an array of '|u1' (100000,); expected '|u1' (5,), for uint8");
  expect_text(refusal<npy::Error>([&] { reader.tensor("x", {DType::kUint8, {100000}}); }), "f.npz: entry \"x.npy\": ");
}
