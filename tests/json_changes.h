// A JSON document with one change: what a reader must take or refuse with its words.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace softamp::test {

using OrderedJson = nlohmann::ordered_json;

class JsonChanges {
 public:
  /// `values` come into the place of each value.
  JsonChanges(OrderedJson document, std::vector<OrderedJson> values)
      : document_(std::move(document)), values_(std::move(values)) {}

  /// Calls act("/layers/0/units = -1", the text) for the document, and for each with one change.
  template <class Act>
  void each(const Act& act) {
    act("as it is", document_.dump());
    change(document_, "", act);
  }

 private:
  template <class Act>
  void change(OrderedJson& here, const std::string& path, const Act& act) {
    const OrderedJson before = here;
    const auto with = [&](const OrderedJson& now, const std::string& what) {
      if (now == before) return;
      here = now;
      act(path + what, document_.dump());
      here = before;
    };
    for (const OrderedJson& value : values_) with(value, " = " + value.dump());
    if (before.is_number_integer())
      for (const int64_t step : {-1, 1}) {
        const OrderedJson near = before.get<int64_t>() + step;
        with(near, " = " + near.dump());
      }
    if (before.is_string()) with(before.get<std::string>() + "x", " with an x behind");
    if (before.is_object()) {
      OrderedJson more = before;
      more["word"] = 1;
      with(more, " with a word");
      for (const auto& [key, value] : before.items()) {
        OrderedJson less = before;
        less.erase(key);
        with(less, " without " + key);
      }
      for (const auto& [key, value] : before.items()) change(here[key], path + "/" + key, act);
    }
    if (before.is_array()) {
      for (size_t i = 0; i < before.size(); ++i) {
        OrderedJson less = before, more = before;
        less.erase(i);
        more.push_back(before[i]);
        with(less, " without " + std::to_string(i));
        with(more, " and " + std::to_string(i) + " again");
      }
      for (size_t i = 0; i < before.size(); ++i) change(here[i], path + "/" + std::to_string(i), act);
    }
  }

  OrderedJson document_;
  std::vector<OrderedJson> values_;
};

/// One value of each kind, and numbers about the limits of many.
inline std::vector<OrderedJson> usual_values() {
  return {nullptr,
          true,
          false,
          0,
          1,
          -1,
          2,
          65,
          4097,
          65537,
          2147483648,
          1.5,
          -0.5,
          1e39,
          "",
          "x",
          OrderedJson::array(),
          OrderedJson::object()};
}

}  // namespace softamp::test
