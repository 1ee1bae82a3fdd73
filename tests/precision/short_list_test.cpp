// ShortList against std::vector: random changes to lists of texts, as long as its own room and longer.
#include "softamp/precision/short_list.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace softamp::test {
namespace {

using List = ShortList<std::string, 2>;

void expect_equal(const List& list, const std::vector<std::string>& texts) {
  ASSERT_EQ(list.size(), texts.size());
  EXPECT_EQ(list.empty(), texts.empty());
  EXPECT_EQ(std::vector<std::string>(list.begin(), list.end()), texts);
  EXPECT_EQ(list, texts);
  if (!texts.empty()) {
    EXPECT_EQ(list.back(), texts.back());
  }
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(list[i], texts[i]);
}

TEST(ShortList, EqualsAVector) {
  std::mt19937 random(1);
  // Texts that lie in the string, and such that do not.
  const auto text = [&] { return std::string(random() % 2 ? 3 : 40, static_cast<char>('a' + random() % 26)); };
  std::vector<List> lists(4);
  std::vector<std::vector<std::string>> texts(4);
  for (int step = 0; step < 20000; ++step) {
    const size_t a = random() % 4, b = random() % 4, count = random() % 6;
    switch (random() % 9) {
      case 0:
        lists[a] = lists[b];
        texts[a] = texts[b];
        break;
      case 1:
        if (a == b) break;
        lists[a] = std::move(lists[b]);
        texts[a] = std::move(texts[b]);
        texts[b].clear();
        EXPECT_TRUE(lists[b].empty());
        break;
      case 2: {
        const std::string item = text();
        lists[a].push_back(item);
        texts[a].push_back(item);
        break;
      }
      case 3: {
        const std::string item = texts[a].empty() ? text() : texts[a].back();
        lists[a].resize(count, texts[a].empty() ? item : lists[a].back());
        texts[a].resize(count, item);
        break;
      }
      case 4: {
        const std::string item = texts[a].empty() ? text() : texts[a][0];
        lists[a].assign(count, texts[a].empty() ? item : lists[a][0]);
        texts[a].assign(count, item);
        break;
      }
      case 5:
        lists[a].clear();
        texts[a].clear();
        break;
      case 6: lists[a].reserve(count); break;
      case 7: {
        List moved(std::move(lists[a]));
        const List copy(moved);
        lists[a] = copy;
        expect_equal(moved, texts[a]);
        break;
      }
      case 8:
        lists[a] = {"one", std::string(50, 'x'), "three"};
        texts[a] = {"one", std::string(50, 'x'), "three"};
        break;
    }
    expect_equal(lists[a], texts[a]);
    EXPECT_EQ(lists[a] == lists[b], texts[a] == texts[b]);
    if (texts[a].size() > 6) lists[a].resize(1, ""), texts[a].resize(1);
  }
}

}  // namespace
}  // namespace softamp::test
