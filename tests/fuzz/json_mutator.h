// Mutations of JSON that keep it JSON, so that a run gets past the parser: values change places, kinds and sizes. A
// text of lines (a trace, a log) has one of its lines changed. Every second mutation is libFuzzer's own, of bytes.
//
// A target that includes this header has it as its mutator.
#pragma once

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace softamp::fuzz {

using Json = nlohmann::ordered_json;

class JsonMutator {
 public:
  explicit JsonMutator(unsigned seed) : random_(seed) {}

  /// A value in the tree changed; the tree is of one value at least.
  void mutate(Json& tree) {
    std::vector<Json*> all;
    collect(tree, all);
    Json& at = *all[below(all.size())];
    switch (below(8)) {
      case 0: at = Json(*all[below(all.size())]); return;
      case 1: at = special(); return;
      case 2: at = Json::array({Json(at), Json(at)}); return;
      case 3: at = Json::object({{word(), Json(at)}}); return;
      case 4: remove_from(at); return;
      case 5: add_to(at, Json(*all[below(all.size())])); return;
      case 6: nest(at); return;
      default: change(at);
    }
  }

 private:
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

  static void collect(Json& value, std::vector<Json*>& all) {
    all.push_back(&value);
    if (value.is_structured())
      for (Json& part : value) collect(part, all);
  }

  Json special() {
    const Json values[] = {nullptr,    true, 0,     1,  -1,    0.5,   1e300, -1e-300,   INT64_MAX,     INT64_MIN,
                           UINT64_MAX, 256,  65536, "", "inf", "nan", "-1",  "float16", Json::array(), Json::object()};
    return values[below(std::size(values))];
  }
  std::string word() {
    const char* const words[] = {"name", "settings", "step", "seed", "grid", "x", "", "dtype"};
    return words[below(std::size(words))];
  }
  void remove_from(Json& value) {
    if (value.is_structured() && !value.empty()) {
      auto at = value.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(below(value.size())));
      value.erase(at);
    }
  }
  void add_to(Json& value, Json part) {
    if (value.is_array()) value.push_back(std::move(part));
    if (value.is_object()) value[word()] = std::move(part);
  }
  void nest(Json& value) {
    for (size_t n = below(80); n > 0; --n) value = Json::array({std::move(value)});
  }
  void change(Json& value) {
    if (value.is_number_integer())
      value = static_cast<int64_t>(value.get<uint64_t>() + below(5) - 2);  // wraps around
    else if (value.is_number_float())
      value = value.get<double>() * (below(2) ? 2 : -0.5);
    else if (value.is_boolean())
      value = !value.get<bool>();
    else if (value.is_string() && !value.get_ref<const std::string&>().empty())
      value.get_ref<std::string&>()[below(value.get_ref<const std::string&>().size())] =
          static_cast<char>(' ' + below(95));
  }

  std::minstd_rand random_;
};

/// The text after a mutation of one of its values; empty where it is no JSON, nor any of its lines.
inline std::string mutated_json(std::string_view text, unsigned seed) {
  const auto changed = [&](std::string_view part) -> std::string {
    Json tree = Json::parse(part, nullptr, false);
    if (tree.is_discarded()) return {};
    JsonMutator(seed).mutate(tree);
    return tree.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  if (std::string whole = changed(text); !whole.empty()) return whole;
  std::vector<size_t> starts = {0};
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') starts.push_back(i + 1);
  const size_t start = starts[seed % starts.size()];
  const size_t end = std::min(text.find('\n', start), text.size());
  const std::string line = changed(text.substr(start, end - start));
  return line.empty() ? line : std::string(text.substr(0, start)) + line + std::string(text.substr(end));
}

}  // namespace softamp::fuzz

#ifndef SOFTAMP_REPLAY  // tests/fuzz/replay_test.cpp runs the corpus without libFuzzer
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  if (seed % 2) return LLVMFuzzerMutate(data, size, most);
  const std::string text = softamp::fuzz::mutated_json({reinterpret_cast<const char*>(data), size}, seed / 2);
  if (text.empty() || text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
#endif
