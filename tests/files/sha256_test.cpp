// FIPS 180-4's own examples.
#include "src/files/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace softamp {
namespace {

std::string digest(const std::string& text) {
  Sha256 h;
  h.add(text.data(), text.size());
  return h.hex();
}

/// FIPS 180-4's examples, and messages whose end falls on either side of the last place for the length.
TEST(Sha256, PublishedDigests) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      digest("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopq"
             "rstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}
TEST(Sha256, PiecesOfAnySizeGiveTheSame) {
  const std::string million(1000000, 'a');
  Sha256 h;
  for (size_t at = 0, n = 1; at < million.size(); at += n, n = n % 131 + 1)
    h.add(million.data() + at, std::min(n, million.size() - at));
  EXPECT_EQ(h.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace softamp
