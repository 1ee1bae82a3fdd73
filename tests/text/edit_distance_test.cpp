// Which known words are worth proposing for one that is not known.
#include "src/text/edit_distance.h"

#include <gtest/gtest.h>

#include "softamp/names/names.h"
#include "src/text/nearest_name.h"

namespace softamp {
namespace {

bool near(std::string_view given, std::string_view known) {
  return is_near(given, known, edit_distance(given, known, SwappedLetters::kOneEdit));
}

TEST(EditDistance, NearIsEveryThirdLetterOrABeginning) {
  for (const auto& [given, known] : {std::pair{"smu", "sum"},
                                     {"fp61", "fp16"},
                                     {"neerest", "nearest"},
                                     {"O5", "O0"},
                                     {"allow", "allowlist"},
                                     {"of", "oflo"},
                                     {"upward", "up"},
                                     {"full", "full"}})
    EXPECT_TRUE(near(given, known)) << given << ' ' << known;
  for (const auto& [given, known] : {std::pair{"frobnicate", "formats"},
                                     {"tpu", "emu"},
                                     {"z", "x"},
                                     {"", "none"},
                                     {"xyzzy", "tf32"},
                                     {"c", "weights"},
                                     {"f", "fp16"}})
    EXPECT_FALSE(near(given, known)) << given << ' ' << known;
}

TEST(EditDistance, MessagesProposeOnlyWhatIsNear) {
  EXPECT_EQ(unknown_name_message("verb", "smu", {"sum", "run"}), "unknown verb 'smu'; nearest: sum; known: sum, run");
  EXPECT_EQ(unknown_name_message("verb", "frobnicate", {"sum", "run"}), "unknown verb 'frobnicate'; known: sum, run");
  graph_detail::Nearest far("frobnicate"), close("MatMull");
  for (const char* name : {"Add", "MatMul"}) {
    far.offer(name);
    close.offer(name);
  }
  EXPECT_EQ(far.text(), "");
  EXPECT_EQ(close.text(), "; nearest: MatMul");
}

}  // namespace
}  // namespace softamp
