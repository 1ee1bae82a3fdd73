// The safetensors reader and writer: bytes against the reference writer's, every type, what is refused and with which
// words, and that no file is left half written.
#include "softamp/data/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "tests/data/file_bytes.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

namespace st = softamp::safetensors;
using Type = st::ElementType;

std::span<const std::byte> span_of(const std::string& bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

/// A file: the header's length, the header as given, data of zeros.
std::string file_bytes(const std::string& header, size_t data_bytes) {
  return little(header.size(), 8) + header + std::string(data_bytes, '\0');
}

std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

st::Header parse(const std::string& bytes) { return st::parse_header(span_of(bytes), bytes.size(), "a.st"); }

std::string refusal_of(const std::string& bytes) {
  return refusal<st::Error>([&] { parse(bytes); });
}

std::string refusal_to_arrange(std::vector<st::Entry> tensors, st::Metadata metadata = {}) {
  return refusal<st::Error>([&] { st::arrange(std::move(tensors), std::move(metadata), "a.st"); });
}

std::vector<std::string> names_of(const st::Header& header) {
  std::vector<std::string> names;
  for (const st::Entry& e : header.tensors) names.push_back(e.name);
  return names;
}

std::string written(const std::vector<std::pair<st::Entry, std::string>>& tensors, const st::Metadata& metadata = {}) {
  const TemporaryFolder folder;
  std::vector<st::Entry> entries;
  for (const auto& t : tensors) entries.push_back(t.first);
  st::Writer writer(folder.file("a.st"), entries, metadata);
  for (const auto& t : tensors) writer.write(t.first.name, span_of(t.second));
  writer.commit();
  return read_text(folder.file("a.st"));
}

std::string read_all(const st::Reader& reader, const std::string& name) {
  std::string bytes(reader.entry(name).bytes(), '?');
  reader.read(name, 0, {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()});
  return bytes;
}

const std::string kTwo = "{" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "U8", "[3]", "[8,11]") + "}";

}  // namespace

// The matrix [[1, -2], [448, 1/16]] in e4m3, as the reference writer puts it into a file: 64 bytes of header.
TEST(Safetensors, BytesAsPublished) {
  const std::string codes("\x38\xC0\x7E\x18");
  EXPECT_EQ(written({{{"w", Type::kF8E4M3, {2, 2}}, codes}}),
            std::string("\x40\0\0\0\0\0\0\0", 8) +
                R"({"w":{"dtype":"F8_E4M3","shape":[2,2],"data_offsets":[0,4]}}    )" + codes);
}

// Types by the order of the format, the last first, then names by their bytes; words about the file before all.
// tests: N505
TEST(Safetensors, OrderOfTheWriter) {
  const char* const order[] = {"U64", "I64", "F64",     "C64",         "F32",         "U32",     "I32",     "BF16",
                               "F16", "U16", "I16",     "F8_E5M2FNUZ", "F8_E4M3FNUZ", "F8_E8M0", "F8_E4M3", "F8_E5M2",
                               "I8",  "U8",  "F6_E3M2", "F6_E2M3",     "F4",          "BOOL"};
  ASSERT_EQ(std::size(order), static_cast<size_t>(st::kElementTypes));
  std::vector<st::Entry> tensors;
  for (int i = 0; i < st::kElementTypes; ++i)
    for (const char* name : {"b", "a"}) {
      const Type type = static_cast<Type>(i);
      tensors.push_back({std::string(name) + st::name_of(type), type, {8}});
    }
  std::vector<std::string> expected;
  for (const char* type : order)
    for (const char* name : {"a", "b"}) expected.push_back(std::string(name) + type);
  const st::Header header = st::arrange(tensors, {{"z", "1"}, {"a", "\xC3\xA9\t"}}, "a.st");
  EXPECT_EQ(names_of(header), expected);
  const std::string bytes = st::header_bytes(header);
  EXPECT_EQ(bytes.size() % 8, 0u);
  EXPECT_EQ(bytes.size(), header.data_offset);
  expect_text(bytes,
              R"({"__metadata__":{"a":"é\t","z":"1"},"aU64":{"dtype":"U64","shape":[8],"data_offsets":[0,64]},)");
  // Letters beyond ASCII are bytes above it.
  EXPECT_EQ(names_of(st::arrange({{"\xC3\xA9", Type::kU8, {}}, {"z", Type::kU8, {}}, {"Z", Type::kU8, {}}}, {}, "a")),
            (std::vector<std::string>{"Z", "z", "\xC3\xA9"}));
  expect_text(st::header_bytes(st::arrange({{"a\"\\\n\x01\xC3\xA9/\x7F", Type::kU8, {1}}}, {}, "a")),
              "\"a\\\"\\\\\\n\\u0001\xC3\xA9/\x7F\":");
  EXPECT_EQ(st::header_bytes(st::arrange({}, {}, "a")), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST(Safetensors, EveryTypeComesBack) {
  const TemporaryFolder folder;
  const st::Metadata metadata{{"format", "np"}, {"", "\xF0\x9F\x98\x80"}};
  for (int i = 0; i < st::kElementTypes; ++i) {
    const Type type = static_cast<Type>(i);
    EXPECT_EQ(st::parse_type(st::name_of(type)), type);
    const std::vector<std::pair<std::vector<uint64_t>, uint64_t>> shapes = {
        {{4, 6}, 24}, {{8}, 8}, {{0, 3}, 0}, {{2, 1, 1, 4}, 8}};
    for (const auto& [shape, elements] : shapes) {
      const uint64_t bytes = elements * static_cast<uint64_t>(st::bits_of(type)) / 8;
      std::string data;
      for (uint64_t k = 0; k < bytes; ++k) data += static_cast<char>(k * 37 + elements);
      write_text(folder.file("a.st"),
                 written({{{"t", type, shape}, data}, {{"other", Type::kI16, {}}, "ab"}}, metadata));
      const st::Reader reader(folder.file("a.st"));
      const st::Entry& e = reader.entry("t");
      EXPECT_EQ(e.type, type);
      EXPECT_EQ(e.shape, shape);
      EXPECT_EQ(e.elements, elements);
      EXPECT_EQ(e.bytes(), bytes);
      EXPECT_EQ(read_all(reader, "t"), data);
      EXPECT_EQ(read_all(reader, "other"), "ab");
      EXPECT_EQ(reader.header().metadata, metadata);
      EXPECT_TRUE(reader.has("t") && !reader.has("u"));
      // Byte for byte, and in pieces.
      std::string pieces;
      for (uint64_t k = 0; k < bytes; ++k) {
        char c;
        reader.read("t", k, {reinterpret_cast<std::byte*>(&c), 1});
        pieces += c;
      }
      EXPECT_EQ(pieces, data);
    }
  }
  EXPECT_EQ(st::parse_type("F8"), std::nullopt);
}

TEST(Safetensors, ReadersAcceptAnyOrderAndBlanks) {
  const st::Header header =
      parse(file_bytes("{" + entry("a", "F32", "[2]", "[3,11]") + ",\n " +
                           R"("b" : {"data_offsets": [0, 3 ],"shape":[3], "dtype" :"U8"}, "__metadata__":{} )" + ", " +
                           entry("none", "F64", "[0]", "[3,3]") + "}   ",
                       11));
  EXPECT_EQ(names_of(header), (std::vector<std::string>{"b", "none", "a"}));
  EXPECT_EQ(header.tensors[2].begin, 3u);
  EXPECT_TRUE(parse(file_bytes("{}", 0)).tensors.empty());
  EXPECT_EQ(parse(file_bytes("{" + entry("\\u00e9\\\"", "U8", "[]", "[0,1]") + "}", 1)).tensors[0].name, "\xC3\xA9\"");
}

// tests: N504
TEST(Safetensors, RefusesWithPlaceAndExpectation) {
  const auto with = [](const std::string& e, size_t bytes = 8) { return file_bytes("{" + e + "}", bytes); };
  const struct {
    std::string bytes, message;
  } rows[] = {
      {"", "byte 0: the file is cut off; expected 8 bytes, the length of the header"},
      {std::string(7, '\0'), "byte 7: the file is cut off"},
      {little(100'000'001, 8) + "{}",
       "byte 0: not a .safetensors file: a header of 100000001 bytes; expected at most 100000000"},
      {"\x93NUMPY\x01\x02 and so on", "byte 0: not a .safetensors file: a header of"},
      {little(3, 8) + "{}", "byte 10: the header is cut off; expected 3 bytes from byte 8"},
      {file_bytes("", 0), "byte 8: expected '{', the first byte of the header; found \"\""},
      {file_bytes(" {}", 0), "byte 8: expected '{', the first byte of the header; found \" {}\""},
      {file_bytes("\xEF\xBB\xBF{}", 0), "found \"\\xef\\xbb\\xbf{}\""},
      {file_bytes("{", 0), "header: line 1, column 2: "},
      {file_bytes("{}}", 0), "header: line 1, column 3: "},
      {file_bytes("{}\0", 0) + "x", "1 bytes too many"},
      {file_bytes(std::string("{}\0", 3), 0), "header: line 1, column 3: a byte 0; expected text"},
      {with("\"\xFF\":{}"), "header: line 1, column 3: "},
      {with("\"\\ud800\":{}"), "header: line 1"},
      {with(entry("a", "F32", "[2]", "[0,8]") + "," + entry("a", "U8", "[8]", "[0,8]")),
       "header: line 1, column 55: the field 'a' stands twice in an object; first at line 1, column 2"},
      {with(R"("a":{"dtype":"U8","dtype":"U8"})"), "the field 'dtype' stands twice"},
      {with(R"("__metadata__":{"k":"1","k":"2"})", 0), "the field 'k' stands twice"},
      {with(R"("__metadata__":{},"__metadata__":{})", 0), "the field '__metadata__' stands twice"},
      {with(R"("__metadata__":{"k":1})", 0), "byte 29: metadata \"k\": found 1; expected a string"},
      {with(R"("__metadata__":{"k":null})", 0), "byte 29: metadata \"k\": found null; expected a string"},
      {with(R"("__metadata__":{"k":{}})", 0), "byte 29: metadata \"k\": found an object; expected a string"},
      {with(R"("__metadata__":{"k":["x"]})", 0), "byte 29: metadata \"k\": found a list; expected a string"},
      {with(R"("__metadata__":"np")", 0), "byte 24: __metadata__: found \"np\"; expected an object of strings"},
      {with(R"("__metadata__":null)", 0), "byte 24: __metadata__: found null; expected an object of strings"},
      {with(R"("a":[])"), "byte 13: tensor \"a\": found a list; expected an object with dtype, shape and data_offsets"},
      {with(R"("a":3)"), "byte 13: tensor \"a\": found 3; expected an object with dtype"},
      {with(R"("a":{})"), "byte 13: tensor \"a\": has no dtype"},
      {with(R"("a":{"dtype":"U8","data_offsets":[0,8]})"), "byte 13: tensor \"a\": has no shape"},
      {with(R"("a":{"dtype":"U8","shape":[8]})"), "byte 13: tensor \"a\": has no data_offsets"},
      {with(R"("a":{"dtype":"F5","shape":[8],"data_offsets":[0,8]})"),
       "byte 22: tensor \"a\": dtype \"F5\" is not known; expected BOOL, F4, F6_E2M3, F6_E3M2, U8, I8, F8_E5M2, "
       "F8_E4M3, "
       "F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, I16, U16, F16, BF16, I32, U32, F32, C64, F64, I64 or U64"},
      {with(R"("a":{"dtype":"u8","shape":[8],"data_offsets":[0,8]})"), "dtype \"u8\" is not known"},
      {with(R"("a":{"dtype":8})"), "byte 22: tensor \"a\": found 8; expected a string for dtype"},
      {with(R"("a":{"dtype":["U8"]})"), "byte 22: tensor \"a\": found a list; expected a string for dtype"},
      {with(R"("a":{"dtype":{}})"), "byte 22: tensor \"a\": found an object; expected a string for dtype"},
      {with(R"("a":{"size":8})"),
       "byte 14: tensor \"a\": unknown key \"size\"; expected dtype, shape and data_offsets"},
      {with(R"("a":{"shape":8})"), "byte 22: tensor \"a\": found 8; expected a list of extents for shape"},
      {with(R"("a":{"shape":"8"})"), "byte 22: tensor \"a\": found \"8\"; expected a list of extents for shape"},
      {with(entry("a", "U8", "[-8]", "[0,8]")),
       "byte 36: tensor \"a\": found -8; expected an extent of the shape, a whole number of at least 0"},
      {with(entry("a", "U8", "[8.0]", "[0,8]")), "byte 36: tensor \"a\": found 8.0; expected an extent"},
      {with(entry("a", "U8", "[-0]", "[0,8]")), "byte 36: tensor \"a\": found 0; expected an extent"},
      {with(entry("a", "U8", "[18446744073709551616]", "[0,8]")), "byte 36: tensor \"a\": found 18446744073709551616"},
      {with(entry("a", "U8", "[true]", "[0,8]")), "found true; expected an extent"},
      {with(entry("a", "U8", "[[8]]", "[0,8]")), "header: line 1, column 29: nested deeper than 3"},
      {with(entry("a", "U8", "[1e400]", "[0,8]")), "the number 1e400 is beyond binary64"},
      {with(entry("a", "U8", "[8]", "[0]")), "byte 13: tensor \"a\": data_offsets has 1 numbers; expected 2"},
      {with(entry("a", "U8", "[8]", "[0,8,8]")), "data_offsets has 3 numbers; expected 2, the first byte and the end"},
      {with(entry("a", "U8", "[8]", "[0,-8]")), "found -8; expected a whole number of at least 0, the first byte"},
      {with(entry("a", "U8", "[8]", "8")), "found 8; expected a list of two numbers for data_offsets"},
      {with(entry("a", "U8", "[8]", "[8,0]")), "byte 13: tensor \"a\": data_offsets [8, 0]; expected 8 bytes"},
      {with(entry("a", "U16", "[8]", "[0,8]")),
       "byte 13: tensor \"a\": data_offsets [0, 8]; expected 16 bytes, shape (8,) of U16"},
      {with(entry("a", "F4", "[3]", "[0,2]"), 2),
       "byte 13: tensor \"a\": shape (3,) of F4 has 12 bits; expected whole bytes"},
      {with(entry("a", "F6_E3M2", "[2]", "[0,2]"), 2), "has 12 bits; expected whole bytes"},
      {with(entry("a", "F64", "[4294967296, 4294967296]", "[0,8]")),
       "byte 13: tensor \"a\": shape (4294967296, 4294967296) of F64 has more than 2^64 - 1 bits"},
      {with(entry("a", "U8", "[2305843009213693952]", "[0,0]"), 0), "has more than 2^64 - 1 bits"},
      {with(entry("a", "U8", "[4294967296,4294967296,0]", "[0,0]"), 0), "has more than 2^64 - 1 bits"},
      {with(entry("a", "U8", "[1152921504606846975]", "[0,1152921504606846975]"), 8),
       "the data are cut off: the header promises 1152921504606846975 bytes"},
      {with(entry("a", "U8", "[8]", "[0,8]"), 7),
       "byte 68: the data are cut off: the header promises 8 bytes from byte 61, the file holds 7"},
      {with(entry("a", "U8", "[8]", "[0,8]"), 9),
       "byte 69: 1 bytes too many: the header promises 8 bytes from byte 61"},
      {with(entry("a", "U8", "[7]", "[1,8]")),
       "byte 61: tensor \"a\" begins at byte 1 of the data; expected 0, where the one before ends: there are no gaps"},
      {with(entry("a", "U8", "[4]", "[0,4]") + "," + entry("b", "U8", "[3]", "[5,8]")),
       "tensor \"b\" begins at byte 5 of the data; expected 4"},
      {with(entry("a", "U8", "[4]", "[0,4]") + "," + entry("b", "U8", "[5]", "[3,8]")),
       "tensor \"b\" begins at byte 3 of the data; expected 4"},
      {with(entry("a", "U8", "[8]", "[0,8]") + "," + entry("b", "U8", "[8]", "[0,8]")),
       "tensor \"b\" begins at byte 0 of the data; expected 8"},
      {with(entry("a", "U8", "[1]", "[18446744073709551615,0]")), "data_offsets [18446744073709551615, 0]"},
  };
  for (const auto& row : rows) {
    const std::string message = refusal_of(row.bytes);
    EXPECT_NE(message.find(row.message), std::string::npos) << message << "\nexpected " << row.message;
    EXPECT_EQ(message.rfind("a.st: ", 0), 0u) << message;
  }
}

TEST(Safetensors, CutAnywhereItIsRefused) {
  const TemporaryFolder folder;
  const std::string whole = file_bytes(kTwo, 11);
  parse(whole);
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_NE(refusal_of(whole.substr(0, n)), "") << n;
    write_text(folder.file("a.st"), whole.substr(0, n));
    EXPECT_NE(refusal<st::Error>([&] { st::Reader reader(folder.file("a.st")); }), "") << n;
    // A start that is shorter than the header, of a file that is whole.
    if (n < 8 + kTwo.size()) {
      EXPECT_NE(refusal<st::Error>([&] { st::parse_header(span_of(whole.substr(0, n)), whole.size(), "a.st"); }), "");
    }
  }
}

TEST(Safetensors, ManyTensors) {
  constexpr size_t kMany = 20'000;
  std::vector<st::Entry> tensors;
  for (size_t i = 0; i < kMany; ++i) tensors.push_back({"layer." + std::to_string(i), Type::kBf16, {2, 2}});
  const st::Header header = st::arrange(tensors, {}, "a.st");
  const std::string bytes = st::header_bytes(header);
  const st::Header back = st::parse_header(span_of(bytes), bytes.size() + 8 * kMany, "a.st");
  EXPECT_EQ(names_of(back), names_of(header));
  EXPECT_EQ(back.tensors.back().end, 8 * kMany);
}

TEST(Safetensors, WhatCannotBeWrittenIsNamed) {
  EXPECT_EQ(refusal_to_arrange({{"w", Type::kU8, {1}}, {"w", Type::kF32, {1}}}), "a.st: tensor \"w\" stands twice");
  EXPECT_EQ(refusal_to_arrange({{"__metadata__", Type::kU8, {1}}}),
            "a.st: tensor \"__metadata__\": expected another name; this one has the words about a file");
  EXPECT_EQ(refusal_to_arrange({{"w\xFF", Type::kU8, {1}}}), "a.st: tensor \"w\\xff\": expected a name in UTF-8");
  EXPECT_EQ(refusal_to_arrange({}, {{"k", "\xC3"}}), "a.st: metadata \"k\": expected a name and words in UTF-8");
  EXPECT_EQ(refusal_to_arrange({{"w", Type::kF4, {3, 3}}}),
            "a.st: tensor \"w\": shape (3, 3) of F4 has 36 bits; expected whole bytes");
  EXPECT_EQ(refusal_to_arrange({{"w", Type::kF32, {uint64_t{1} << 59}}}),
            "a.st: tensor \"w\": shape (576460752303423488,) of F32 has more than 2^64 - 1 bits");
  EXPECT_EQ(refusal_to_arrange({{"a", Type::kF64, {uint64_t{1} << 57}},
                                {"b", Type::kF64, {uint64_t{1} << 57}},
                                {"c", Type::kF64, {uint64_t{1} << 57}},
                                {"d", Type::kF64, {uint64_t{1} << 57}},
                                {"e", Type::kF64, {uint64_t{1} << 57}},
                                {"f", Type::kF64, {uint64_t{1} << 57}},
                                {"g", Type::kF64, {uint64_t{1} << 57}},
                                {"h", Type::kF64, {uint64_t{1} << 57}}}),
            "a.st: tensor \"h\": a file of more than 2^63 - 1 bytes");
  EXPECT_EQ(refusal_to_arrange({{std::string(st::kMaxHeader, 'n'), Type::kU8, {}}}),
            "a.st: a header of 100000056 bytes; expected at most 100000000");
}

TEST(Safetensors, PiecesByTurns) {
  const TemporaryFolder folder;
  const std::string name = folder.file("a.st");
  {
    st::Writer writer(name, {{"codes", Type::kU8, {6}}, {"scales", Type::kF32, {2}}});
    writer.write("codes", span_of("ab"));
    writer.write("scales", span_of("0123"));
    writer.write("codes", span_of("cdef"));
    EXPECT_EQ(refusal<st::Error>([&] { writer.commit(); }), name + ": 4 bytes of tensor \"scales\" are missing");
    EXPECT_EQ(refusal<st::Error>([&] { writer.write("codes", span_of("g")); }),
              name + ": 1 bytes more of tensor \"codes\", where its shape has room for 0");
    EXPECT_EQ(refusal<st::Error>([&] { writer.write("scale", span_of("g")); }),
              name + ": there is no tensor \"scale\"; the file has \"scales\" and \"codes\". Did you mean \"scales\"?");
    writer.write("scales", span_of("4567"));
    EXPECT_FALSE(std::filesystem::exists(name));
    writer.commit();
  }
  const st::Reader reader(name);
  EXPECT_EQ(read_all(reader, "scales") + read_all(reader, "codes"), "01234567abcdef");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Safetensors, WithoutACommitNothingChanges) {
  const TemporaryFolder folder;
  write_text(folder.file("a.st"), "before");
  {
    st::Writer writer(folder.file("a.st"), {{"w", Type::kU8, {1}}});
    writer.write("w", span_of("x"));
    EXPECT_THAT(refusal<st::Error>([&] { st::Writer second(folder.file("a.st"), {}); }), ::testing::HasSubstr("a.st"));
  }
  EXPECT_EQ(read_text(folder.file("a.st")), "before");
  EXPECT_EQ(folder.entries(), 1u);
}

// A pipe takes what comes in the order of the file, and nothing else.
TEST(Safetensors, APipeIsWrittenFrontToBack) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread drain([&] { got = read_text(pipe); });
  {
    st::Writer writer(pipe, {{"codes", Type::kU8, {2}}, {"scales", Type::kF32, {1}}});
    writer.write("scales", span_of("0123"));
    writer.write("codes", span_of("ab"));
    writer.commit();
  }
  drain.join();
  EXPECT_EQ(got.substr(got.size() - 6), "0123ab");
  std::thread second([&] { got = read_text(pipe); });
  const std::string message = refusal<st::Error>([&] {
    st::Writer writer(pipe, {{"codes", Type::kU8, {2}}, {"scales", Type::kF32, {1}}});
    writer.write("codes", span_of("ab"));
  });
  second.join();
  expect_text(message, "cannot be written: it is written front to back; expected a regular file");
}

TEST(Safetensors, ReadersRefusalsAreNamed) {
  const TemporaryFolder folder;
  const std::string name = folder.file("a.st");
  EXPECT_EQ(refusal<st::Error>([&] { st::Reader reader(name); }), name + ": cannot open: No such file or directory");
  EXPECT_EQ(refusal<st::Error>([&] { st::Reader reader(folder.path().string()); }),
            folder.path().string() + ": is a folder; expected a regular file, a .safetensors file");
  write_text(name, file_bytes(kTwo, 11));
  const st::Reader reader(name);
  EXPECT_EQ(refusal<st::Error>([&] { reader.entry("c"); }),
            name + ": there is no tensor \"c\"; the file has \"a\" and \"b\"");
  std::byte room[4];
  EXPECT_EQ(refusal<st::Error>([&] { reader.read("b", 1, room); }),
            name + ": tensor \"b\" has 3 bytes; 4 were asked for from byte 1");
  EXPECT_EQ(refusal<st::Error>([&] { reader.read("b", ~uint64_t{0}, room); }),
            name + ": tensor \"b\" has 3 bytes; 4 were asked for from byte 18446744073709551615");
  write_text(name, file_bytes(kTwo, 5));
  EXPECT_EQ(refusal<st::Error>([&] {
              reader.read("b", 0, {room, 3});
            }),
            name + ": the file was shortened while it was read, within tensor \"b\"");
  std::string many = "{";
  for (int i = 0; i < 30; ++i) many += (i ? "," : "") + entry("t" + std::to_string(100 + i), "U8", "[0]", "[0,0]");
  write_text(name, file_bytes(many + "}", 0));
  const std::string message = refusal<st::Error>([&] { st::Reader(name).entry("x"); });
  expect_text(message, "\"t119\" and 10 more");
  write_text(name, file_bytes("{}", 0));
  EXPECT_EQ(refusal<st::Error>([&] { st::Reader(name).entry("x"); }),
            name + ": there is no tensor \"x\"; the file has none");
}

}  // namespace softamp::test
