// Sorting by names against the standard library's stable sort: names with long common beginnings, names that are
// beginnings of others, equal names, bytes 0 and above 127.
#include "src/precision/name_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

using softamp::precision_detail::sort_by_names;

TEST(NameOrder, EqualsAStableSort) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const size_t count = random() % 400, common = random() % 30, letters = 1 + random() % 4;
    const std::string alphabet("a\0\xff/", 4);
    std::vector<std::string> texts(count);
    for (std::string& text : texts) {
      text.assign(common, 'x');
      for (size_t n = random() % 20; n > 0; --n) text += alphabet[random() % letters];
    }
    const std::vector<std::string_view> names(texts.begin(), texts.end());
    std::vector<size_t> places(count);
    std::iota(places.begin(), places.end(), size_t{0});
    std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) { return texts[a] < texts[b]; });
    std::vector<int> items(count), expected;
    for (size_t i = 0; i < count; ++i) items[i] = static_cast<int>(1000 - i);
    for (const size_t p : places) expected.push_back(items[p]);
    sort_by_names(items, names);
    ASSERT_EQ(items, expected) << "round " << round;
  }
}

// A key at a time: as deep as the names are long, the stack would not hold it.
TEST(NameOrder, LongNamesThatBeginAlike) {
  const std::string text(size_t{4} << 20, 'a');
  std::vector<std::string_view> names;
  std::vector<int> items, expected;
  for (int i = 0; i < 30; ++i) {
    names.push_back(std::string_view(text).substr(0, text.size() - static_cast<size_t>(i)));
    items.push_back(i);
    expected.insert(expected.begin(), i);
  }
  sort_by_names(items, names);
  EXPECT_EQ(items, expected);
}
