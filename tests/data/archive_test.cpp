// gzip, tar and zip: what is unpacked, what is refused and with which words. (tar is tested with CIFAR-10's archive.)
#include "src/data/archive.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/data/file_bytes.h"
#include "tests/refusal.h"
#include "tests/small_disk.h"

namespace fs = std::filesystem;
using namespace softamp;
using namespace softamp::test;
using archive::Entry;

namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The zip archive of two entries, by hand.
std::string zip_by_hand(const std::string& name0, const std::string& data0, const std::string& name1,
                        const std::string& data1) {
  const auto shared = [](const std::string& name, const std::string& data) {
    return little(20, 2) + little(0, 2) + little(0, 2) + little(0, 2) + little(0x21, 2) + little(slow_crc32(data), 4) +
           little(data.size(), 4) + little(data.size(), 4) + little(name.size(), 2) + little(0, 2);
  };
  const std::string first = "PK\3\4" + shared(name0, data0) + name0 + data0;
  const std::string second = "PK\3\4" + shared(name1, data1) + name1 + data1;
  const std::string directory = "PK\1\2" + little(20, 2) + shared(name0, data0) + little(0, 10) + little(0, 4) + name0 +
                                "PK\1\2" + little(20, 2) + shared(name1, data1) + little(0, 10) +
                                little(first.size(), 4) + name1;
  return first + second + directory + "PK\5\6" + little(0, 4) + little(2, 2) + little(2, 2) +
         little(directory.size(), 4) + little(first.size() + second.size(), 4) + little(0, 2);
}

}  // namespace

/// The file then has number 0, which is to be closed as any other.
TEST(Archive, WhereStandardInputIsClosed) {
  const TemporaryFolder folder;
  write_text(folder.file("text"), "words");
  const int before = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  const std::string read = text_of(archive::read_as_it_stands(folder.file("text"), 100));
  const bool closed = ::fcntl(STDIN_FILENO, F_GETFD) < 0;
  if (before >= 0) {
    ::dup2(before, STDIN_FILENO);
    ::close(before);
  }
  EXPECT_EQ(read, "words");
  EXPECT_TRUE(closed);
}

TEST(Crc32, KnownAnswerAndAnyCut) {
  EXPECT_EQ(archive::crc32(bytes_of("123456789")), 0xCBF43926u);  // the check value of the CRC catalogue
  const std::string text = idx_images(1, 7, 41);
  for (size_t size = 0; size < 40; ++size)
    EXPECT_EQ(archive::crc32(bytes_of(text.substr(0, size))), slow_crc32(text.substr(0, size))) << size;
  for (size_t cut = 0; cut < text.size(); cut += 13)
    EXPECT_EQ(archive::crc32(bytes_of(text.substr(cut)), archive::crc32(bytes_of(text.substr(0, cut)))),
              slow_crc32(text));
}

TEST(Source, PiecesAndReadsMeet) {
  const std::string text = idx_images(1, 1000, 1000);
  for (const std::string& packed : {text, gzip(text)}) {
    const std::vector<std::byte> bytes = bytes_of(packed);
    archive::Source source(bytes, "memory");
    EXPECT_EQ(source.gzipped(), packed != text);
    std::string found = text_of(source.read(16));
    EXPECT_EQ(source.offset(), 16u);
    found += text_of(source.next());
    EXPECT_EQ(source.offset(), found.size());
    found += text_of(source.read(300000));
    EXPECT_EQ(source.offset(), found.size());
    found += text_of(source.read(~uint64_t{0}));
    EXPECT_EQ(found, text);
    EXPECT_TRUE(source.next().empty());
    EXPECT_TRUE(source.read(1).empty());
  }
  const std::vector<std::byte> nothing = bytes_of(gzip(""));
  EXPECT_TRUE(archive::Source(nothing, "nothing").next().empty());
  EXPECT_TRUE(archive::Source({}, "nothing").next().empty());
}

TEST(Gzip, DamageIsFound) {
  const Folder folder;
  const std::string images = idx_images(50, 28, 28), good = gzip(images);
  const fs::path labels = folder.write("labels", idx_labels(50));
  const auto load = [&](const std::string& bytes) {
    return refusal<DataError>([&] { load_idx(folder.write("i.gz", bytes), labels); });
  };
  EXPECT_EQ(load(good), "");
  expect_text(load(images), "i.gz: byte 0: not a gzip file: expected it to begin with 1f 8b, found 00 00");
  expect_text(load(""), "i.gz: byte 0: not a gzip file: expected it to begin with 1f 8b, found nothing");
  expect_text(load(good.substr(0, 12)), "i.gz: byte 12: the gzip file is cut off: expected at least 18 bytes");
  std::string bad = good;
  bad[2] = 7;
  expect_text(load(bad), "i.gz: byte 2: gzip's method of compression is 7; expected 8");
  bad = good;
  bad[good.size() / 2] = static_cast<char>(bad[good.size() / 2] ^ 1);  // one pixel: only the checksum tells
  expect_text(load(bad), "i.gz: the gzip data do not agree with the file's last 8 bytes, which promise checksum ");
  bad = good;
  bad[good.size() - 8] = static_cast<char>(bad[good.size() - 8] ^ 0x40);
  expect_text(load(bad), "the data are damaged, or other bytes follow the one member that is expected");
  bad = good;
  bad[11] = static_cast<char>(bad[11] ^ 1);  // a block's length and its complement differ
  expect_text(load(bad), "i.gz: byte 0: the gzip data are damaged or cut off here: ");
  expect_text(load(good + "trailing"), "the data are damaged, or other bytes follow the one member that is expected");
  expect_text(load(good + gzip("second")), "i.gz: ");
  for (const size_t size : {good.size() - 1, good.size() - 8, good.size() - 9, good.size() / 2, size_t{20}})
    EXPECT_NE(load(good.substr(0, size)), "") << "cut to " << size << " bytes";
}

TEST(Gzip, ABombIsRefusedBeforeItFillsMemory) {
  const Folder folder;
  const std::string zeros(1 << 20, '\0');
  // Images promise 60 bytes, a million follow.
  expect_text(refusal<DataError>([&] {
                load_idx(folder.write("i", gzip(idx_images(5, 3, 4) + zeros)), folder.write("l", idx_labels(5)));
              }),
              "i: byte 76: other bytes follow 5x3x4 pixels");
  const fs::path file = folder.write("f.gz", gzip(zeros));
  EXPECT_EQ(archive::read_file(file, 1 << 20).size(), zeros.size());
  expect_text(refusal<DataError>([&] { archive::read_file(file, (1 << 20) - 1); }),
              "f.gz: unpacks to more than the 1048575 bytes that are expected at most");
  expect_text(refusal<DataError>([&] { archive::read_as_it_stands(file, 1000); }), "f.gz: has 10486");
}

void write_zip(const fs::path& file, std::span<const Entry> entries) {
  files::OutputFile out(file);
  archive::write_zip(out, entries);
  out.commit();
}

TEST(Zip, BytesAreThoseOfTheFormat) {
  const Folder folder;
  const fs::path file = folder.path() / "a.npz";
  const Entry entries[] = {{"dense/weights.npy", bytes_of("some bytes")}, {"empty", {}}};
  write_zip(file, entries);
  EXPECT_EQ(read_text(file), zip_by_hand("dense/weights.npy", "some bytes", "empty", ""));
  const std::vector<Entry> back = archive::read_zip(file, 1000);
  ASSERT_EQ(back.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back[i].name, entries[i].name);
    EXPECT_EQ(back[i].bytes, entries[i].bytes);
  }
  write_zip(file, {});  // over the other one
  EXPECT_EQ(read_text(file), "PK\5\6" + std::string(18, '\0'));
  EXPECT_TRUE(archive::read_zip(file, 22).empty());
}

TEST(Zip, WritesWholeOrNotAtAll) {
  const Folder folder;
  const Entry twice[] = {{"a", {}}, {"b", {}}, {"a", {}}}, nameless[] = {{"", {}}};
  const fs::path file = folder.path() / "a.zip";
  expect_text(refusal<DataError>([&] { write_zip(file, twice); }), "a.zip: two entries are called \"a\"");
  expect_text(refusal<DataError>([&] { write_zip(file, nameless); }), "a.zip: an entry's name of 0 bytes");
  expect_text(refusal<DataError>([&] { write_zip(file, std::vector<Entry>(70000)); }),
              "a.zip: 70000 entries; a zip archive holds at most 65534");
  EXPECT_FALSE(fs::exists(file));

  const Entry large[] = {{"small", std::vector<std::byte>(100)}, {"large", std::vector<std::byte>(1 << 20)}};
  std::string message;
  {
    const test::SmallDisk disk(65536);
    message = refusal<files::OutputError>([&] { write_zip(file, large); });
  }
  expect_text(message, "a.zip' cannot be written: File too large");
  EXPECT_FALSE(fs::exists(file));
}

TEST(Zip, RefusesWithPlaceAndExpectation) {
  const Folder folder;
  const std::string good = zip_by_hand("a", "first", "b", "second");
  const size_t end = good.size() - 22, directory = end - 2 * 47;
  const auto changed = [&](size_t at, const std::string& bytes) {
    return std::string(good).replace(at, bytes.size(), bytes);
  };
  const struct {
    std::string bytes, message;
  } rows[] = {
      {"", "z: byte 0: not a zip archive, or cut off: it has fewer than 22 bytes"},
      {std::string(30, 'x'), "z: byte 8: not a zip archive, or cut off, or other bytes follow it"},
      {good + "x", "or other bytes follow it: expected the end record PK\\x05\\x06"},
      {good.substr(0, good.size() - 1), "not a zip archive, or cut off"},
      {good.substr(1), "does not end at the end record"},
      {"x" + good, "does not end at the end record"},
      {changed(end + 4, "\1"), "an archive in several parts or with a comment"},
      {changed(end + 12, "\1"), "the directory of 1 bytes from byte"},
      {changed(end + 8, little(3, 2) + little(3, 2)), "header 2 of the directory does not fit before the end record"},
      {changed(end + 8, little(1, 2) + little(1, 2)), "expected the directory's end after 1 headers"},
      {changed(directory, "PX"), "expected header 0 of the directory"},
      {changed(directory + 8, "\1"), "entry \"a\" is encrypted"},
      {changed(directory + 10, "\10"), "entry \"a\" is compressed (method 8); expected it stored (0)"},
      {changed(directory + 20, "\4"), "entry \"a\" has 4 bytes stored and 5 unpacked"},
      {changed(directory + 28, "\377\377"), "an entry's name of 65535 bytes does not fit"},
      {changed(directory + 30, "\377\377"), "header 0 of the directory runs beyond the directory"},
      {changed(directory + 42, "\377\377\377\377"), "does not fit into an archive of"},
      {changed(directory + 42, "\1"), "expected the local header of entry \"a\""},
      {changed(directory + 47 + 42, std::string(1, '\0')),
       "entry \"b\" begins before the one in front of it ends, byte 36"},
      {changed(directory + 47 + 46, "a"), "entry \"a\" stands in the archive twice"},
      {changed(30, "c"), "byte 30: another name than the directory's, which is \"a\""},
      {changed(28, "\144"), "entry \"a\" runs into the directory"},
      {changed(directory + 20, std::string("\377\0\0\0\377\0\0\0", 8)),
       "entry \"a\" of 255 bytes does not fit into an archive of"},
      {changed(33, "X"), "byte 31: entry \"a\": its checksum is"},
  };
  EXPECT_EQ(refusal<DataError>([&] { archive::read_zip(folder.write("z", good), 1000); }), "");
  for (const auto& row : rows)
    expect_text(refusal<DataError>([&] { archive::read_zip(folder.write("z", row.bytes), 1000); }), row.message);
  expect_text(refusal<DataError>([&] { archive::read_zip(folder.write("z", good), 100); }),
              "bytes; expected at most 100");
  // No byte of data, name or structure can change unseen; times, attributes and versions may.
  int unseen = 0;
  for (size_t i = 0; i < good.size(); ++i)
    unseen += refusal<DataError>([&] {
                archive::parse_zip(bytes_of(changed(i, std::string(1, static_cast<char>(good[i] ^ 4)))), "z");
              }) == "";
  EXPECT_LE(unseen, 2 * 26 + 2 * 20 + 4);
}
