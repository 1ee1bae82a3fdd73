// The .npy reader and writer: what is read, what is refused and with which words, and that no file is left half
// written.
#include "softamp/data/npy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/files.h"
#include "tests/refusal.h"

namespace npy = softamp::npy;
namespace fs = std::filesystem;
using softamp::test::read_text;
using softamp::test::refusal;
using softamp::test::TemporaryFolder;

namespace {

/// A file's bytes: version, header text as given, data of zeros.
std::string file_bytes(const std::string& text, size_t data_bytes, int major = 1) {
  std::string bytes("\x93NUMPY");
  bytes += {static_cast<char>(major), '\0', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  if (major > 1) bytes += std::string(2, '\0');
  return bytes + text + std::string(data_bytes, '\0');
}

std::string dictionary(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

npy::Header parse(const std::string& bytes) {
  return npy::parse_header({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, bytes.size(), "a.npy");
}

/// The message with which the bytes are refused.
std::string refusal_of_bytes(const std::string& bytes) {
  return refusal<npy::Error>([&] { parse(bytes); });
}

}  // namespace

TEST(NpyHeader, EveryTypeAndVersion) {
  const struct {
    const char* descr;
    npy::ElementType type;
    size_t size;
  } rows[] = {{"<f2", npy::ElementType::kFloat16, 2}, {"<f4", npy::ElementType::kFloat32, 4},
              {"<f8", npy::ElementType::kFloat64, 8}, {"|u1", npy::ElementType::kUint8, 1},
              {"<u1", npy::ElementType::kUint8, 1},   {"<u2", npy::ElementType::kUint16, 2},
              {"<u4", npy::ElementType::kUint32, 4},  {"<i4", npy::ElementType::kInt32, 4},
              {"|b1", npy::ElementType::kBool, 1}};
  for (const auto& row : rows)
    for (const int major : {1, 2, 3}) {
      const std::string text = dictionary(row.descr, "(2, 3)");
      const npy::Header header = parse(file_bytes(text, 6 * row.size, major));
      EXPECT_EQ(header.type, row.type);
      EXPECT_EQ(header.shape, (std::vector<uint64_t>{2, 3}));
      EXPECT_EQ(header.elements, 6u);
      EXPECT_EQ(header.data_offset, (major == 1 ? 10 : 12) + text.size());
    }
}

TEST(NpyHeader, AnyOrderQuotesBlanksAndNoLastComma) {
  const npy::Header header = parse(file_bytes("{ \"shape\":(  7 ,),'fortran_order' :False,\"descr\":'<f4'}   ", 28));
  EXPECT_EQ(header.elements, 7u);
}

TEST(NpyHeader, ScalarsAndEmptyArrays) {
  EXPECT_EQ(parse(file_bytes(dictionary("<f8", "()"), 8)).elements, 1u);
  EXPECT_EQ(parse(file_bytes(dictionary("<f8", "(3, 0, 18446744073709551615)"), 0)).elements, 0u);
}

TEST(NpyHeader, RefusesWithPlaceAndExpectation) {
  const std::string good = dictionary("<f4", "(2,)");
  const struct {
    std::string bytes, message;
  } rows[] = {
      {"PK\x03\x04 not an array",
       "a.npy: byte 0: not a .npy file: expected it to begin with \"\\x93NUMPY\", found \"PK\\x03\\x04 n\"; it is a "
       "zip archive"},
      {"", "a.npy: byte 0: not a .npy file"},
      {std::string("\x93NUMPY\x01", 7), "a.npy: byte 7: the header is cut off"},
      {file_bytes(good, 8, 4), "a.npy: byte 6: format version 4.0 is not known; expected 1.0, 2.0 or 3.0"},
      {file_bytes(good, 8).substr(0, 40), "a.npy: byte 40: the header is cut off; expected 58 bytes from byte 10"},
      {file_bytes(dictionary("<i2", "(2,)"), 4),
       "type \"<i2\" is not supported; expected '<f2', '<f4', '<f8', '|u1', '<u2', '<u4', '<i4', '<i8' or '|b1'"},
      {file_bytes(dictionary(">i4", "(2,)"), 8), "type \">i4\" is big-endian; expected '<f2'"},
      {file_bytes(dictionary("<c8", "(1,)"), 8), "type \"<c8\" is not supported"},
      {file_bytes(dictionary(">f4", "(2,)"), 8), "type \">f4\" is big-endian; expected '<f2'"},
      {file_bytes("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4),
       "byte 20: structured elements are not supported"},
      {file_bytes("{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", 8),
       "Fortran order ('fortran_order': True); expected C order"},
      {file_bytes("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", 8),
       "byte 44: expected True or False for 'fortran_order'; found \"0, 'shape'"},
      {file_bytes("{'descr': '<f4', 'fortran_order': False}", 8), "the header has no key 'shape'"},
      {file_bytes("{'descr': '<f4', 'descr': '<f4'}", 8), "byte 27: the key 'descr' stands twice"},
      {file_bytes("{'dtype': '<f4'}", 8),
       "byte 11: unknown key; expected 'descr', 'fortran_order' or 'shape'; found \"'dtype'"},
      {file_bytes(dictionary("<f4", "(2)"), 8), "expected ',' after the only extent of the shape, as in (3,)"},
      {file_bytes(dictionary("<f4", "(-2,)"), 8),
       "expected an extent of the shape, a decimal integer of at least 0; found \"-2,)"},
      {file_bytes(dictionary("<f4", "(2.0,)"), 8), "expected ',' after the only extent"},
      {file_bytes(dictionary("<f4", "[2]"), 8), "expected '(' at the start of the shape"},
      {file_bytes(dictionary("<f4", "(02,)"), 8), "leading zero"},
      {file_bytes(dictionary("<f4", "(18446744073709551616,)"), 8), "an extent of the shape exceeds 2^64 - 1"},
      {file_bytes(dictionary("<f4", "(4294967296, 4294967296)"), 8), "exceeds 2^63 - 1 bytes"},
      {file_bytes(dictionary("<f8", "(1152921504606846976,)"), 8), "exceeds 2^63 - 1 bytes"},
      {file_bytes(dictionary("<f4", "(1000000000000,)"), 8),
       "byte 88: the data are cut off: shape (1000000000000,) of '<f4' needs 4000000000000 bytes"},
      {file_bytes(good, 7),
       "byte 75: the data are cut off: shape (2,) of '<f4' needs 8 bytes from byte 68, the file holds 7"},
      {file_bytes(good, 9), "byte 76: 1 bytes too many: shape (2,) of '<f4' needs 8 bytes from byte 68"},
      {file_bytes(good + "x", 8), "byte 68: expected only blanks after the dictionary; found \"x\""},
      {file_bytes("{'descr': '<f4", 8),
       "the string of the type ('descr') is not closed by its quote; the header ends here"},
      {file_bytes("", 8), "byte 10: expected '{' at the start of the header; the header ends here"},
  };
  for (const auto& row : rows) {
    const std::string message = refusal_of_bytes(row.bytes);
    EXPECT_NE(message.find(row.message), std::string::npos) << message << "\nexpected " << row.message;
    EXPECT_EQ(message.rfind("a.npy: ", 0), 0u) << message;
  }
}

TEST(NpyHeader, RefusesTooManyExtentsAndTooLongHeaders) {
  std::string shape = "(";
  for (size_t i = 0; i <= npy::kMaxRank; ++i) shape += "1, ";
  EXPECT_NE(refusal_of_bytes(file_bytes(dictionary("<f4", shape + ")"), 4)).find("more than 64 extents"),
            std::string::npos);
  std::string huge = file_bytes(dictionary("<f4", "(1,)"), 4, 2);
  huge[11] = '\x7f';
  EXPECT_NE(refusal_of_bytes(huge).find("expected at most 65535"), std::string::npos);
}

TEST(NpyHeader, WrittenHeaderIsWhatNumpyWrites) {
  // numpy.save of zeros((3, 4), '<f4') begins with these bytes: 128 in all, blanks up to the newline at the end.
  const uint64_t shape[] = {3, 4};
  const std::string header = npy::make_header(npy::ElementType::kFloat32, shape);
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
  expected += std::string(127 - expected.size(), ' ') + "\n";
  EXPECT_EQ(header, expected);
}

TEST(NpyFile, PiecesOfAnySizeRoundTrip) {
  const TemporaryFolder folder;
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25f * static_cast<float>(i);
  const uint64_t shape[] = {10, 100};
  npy::Writer writer(folder.file("a.npy"), npy::ElementType::kFloat32, shape);
  for (size_t at = 0, piece = 1; at < values.size(); piece = piece * 3 + 1) {
    const size_t n = std::min(piece, values.size() - at);
    writer.write(values.data() + at, n);
    at += n;
  }
  EXPECT_FALSE(fs::exists(folder.file("a.npy"))) << "the file appears only when it is whole";
  writer.commit();
  EXPECT_EQ(folder.entries(), 1u);

  npy::Reader reader(folder.file("a.npy"));
  EXPECT_EQ(reader.header().shape, (std::vector<uint64_t>{10, 100}));
  std::vector<float> back;
  float piece[7];
  while (const size_t n = reader.read(piece, 7)) back.insert(back.end(), piece, piece + n);
  EXPECT_EQ(back, values);
}

TEST(NpyFile, WithoutCommitTheOldFileStays) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npy");
  std::ofstream(path) << "old";
  const uint64_t shape[] = {2};
  {
    npy::Writer writer(path, npy::ElementType::kUint8, shape);
    writer.write("x", 1);
    EXPECT_THROW(writer.commit(), npy::Error) << "one element is missing";
    EXPECT_THROW(writer.write("yz", 2), npy::Error) << "no room";
    EXPECT_TRUE(std::filesystem::exists(folder.file(".a.npy.part")));
    EXPECT_THROW(npy::Writer(path, npy::ElementType::kUint8, shape), npy::Error) << "one writer at a time";
  }
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(read_text(path), "old");
  {
    npy::Writer writer(path, npy::ElementType::kUint8, shape);
    writer.write("xy", 2);
    writer.commit();
  }
  EXPECT_EQ(read_text(path).substr(read_text(path).size() - 2), "xy");
  struct stat written {};
  ASSERT_EQ(::stat(path.c_str(), &written), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(written.st_mode & 0777, 0666 & ~mask);
}

TEST(NpyFile, RefusesWhatIsNotARegularFile) {
  const TemporaryFolder folder;
  EXPECT_THROW(npy::Reader(folder.file("missing.npy")), npy::Error);
  EXPECT_THROW(npy::Reader(folder.path().string()), npy::Error);
  EXPECT_THROW(npy::Writer(folder.path().string(), npy::ElementType::kUint8, {}), npy::Error);
  EXPECT_THROW(npy::Writer(folder.file("none/a.npy"), npy::ElementType::kUint8, {}), npy::Error);
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(NpyFile, NoticesAFileThatShrinks) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npy");
  std::ofstream(path, std::ios::binary) << file_bytes(dictionary("|u1", "(100,)"), 100);
  npy::Reader reader(path);
  fs::resize_file(path, fs::file_size(path) - 1);
  char bytes[100];
  EXPECT_THROW(reader.read(bytes, 100), npy::Error);
}

// Every file that the fuzzer kept is either refused with a message or read back after it is written again.
TEST(NpyCorpus, EveryFileIsRefusedOrUnderstood) {
  size_t files = 0, understood = 0;
  for (const auto& entry : fs::directory_iterator(SOFTAMP_SOURCE_DIR "/tests/fuzz/corpus/npy")) {
    ++files;
    try {
      const npy::Header header = parse(read_text(entry.path().string()));
      const std::string again =
          npy::make_header(header.type, header.shape) + std::string(header.elements * npy::size_of(header.type), '\0');
      EXPECT_EQ(parse(again).shape, header.shape) << entry.path();
      ++understood;
    } catch (const npy::Error&) {
    }
  }
  EXPECT_GE(files, 16u);
  EXPECT_GE(understood, 7u);
  EXPECT_LT(understood, files);
}
