#include "src/minimal/json_value.h"

#include <algorithm>

namespace softamp::minimal {

JsonFault::JsonFault(const char* name, int number, const std::string& what)
    : id(number), text_("[json.exception." + std::string(name) + "." + std::to_string(number) + "] " + what) {}

Json::Json(value_t type) : type_(type) {
  switch (type) {
    case value_t::boolean: value_ = false; break;
    case value_t::number_integer: value_ = int64_t{0}; break;
    case value_t::number_unsigned: value_ = uint64_t{0}; break;
    case value_t::number_float: value_ = 0.0; break;
    case value_t::string: value_ = std::string(); break;
    case value_t::array: value_ = array_t(); break;
    case value_t::object: value_ = object_t(); break;
    case value_t::null:
    case value_t::discarded: break;
  }
}

Json::Json(std::initializer_list<Json> values) {
  const bool fields = std::all_of(values.begin(), values.end(), [](const Json& v) {
    return v.is_array() && v.list().size() == 2 && v.list()[0].is_string();
  });
  if (!fields) {
    *this = Json(array_t(values));
    return;
  }
  *this = object();
  for (const Json& v : values)
    if (!contains(std::get<std::string>(v.list()[0].value_)))
      std::get<object_t>(value_).emplace_back(std::get<std::string>(v.list()[0].value_), v.list()[1]);
}

const char* Json::type_name() const {
  switch (type_) {
    case value_t::null: return "null";
    case value_t::boolean: return "boolean";
    case value_t::string: return "string";
    case value_t::array: return "array";
    case value_t::object: return "object";
    case value_t::discarded: return "discarded";
    default: return "number";
  }
}

void Json::wrong_type(const char* expected) const {
  throw JsonFault("type_error", 302, "type must be " + std::string(expected) + ", but is " + type_name());
}

const Json::array_t& Json::list() const {
  if (!is_array()) wrong_type("array");
  return std::get<array_t>(value_);
}

const Json::object_t& Json::items() const {
  static const object_t kNone;
  return is_object() ? std::get<object_t>(value_) : kNone;
}

Json::const_iterator Json::find(std::string_view key) const {
  for (const auto& [name, value] : items())
    if (name == key) return &value;
  return end();
}

const Json* Json::find_in_object(std::string_view key) const {
  if (!is_object()) throw JsonFault("type_error", 306, std::string("cannot use value() with ") + type_name());
  return find(key);
}

size_t Json::size() const {
  if (is_null()) return 0;
  return is_array() ? list().size() : is_object() ? items().size() : 1;
}

Json& Json::operator[](const std::string& key) {
  if (is_null()) *this = object();
  if (!is_object())
    throw JsonFault("type_error", 305, std::string("cannot use operator[] with a string argument with ") + type_name());
  object_t& fields = std::get<object_t>(value_);
  for (auto& [name, value] : fields)
    if (name == key) return value;
  return fields.emplace_back(key, Json()).second;
}

const Json& Json::at(const char* key) const {
  if (!is_object()) throw JsonFault("type_error", 304, std::string("cannot use at() with ") + type_name());
  if (const Json* const found = find(key)) return *found;
  throw JsonFault("out_of_range", 403, "key '" + std::string(key) + "' not found");
}

void Json::push_back(Json value) {
  if (is_null()) *this = Json(value_t::array);
  if (!is_array()) throw JsonFault("type_error", 308, std::string("cannot use push_back() with ") + type_name());
  std::get<array_t>(value_).push_back(std::move(value));
}

bool Json::operator==(const Json& other) const {
  if (is_number() && other.is_number() && type_ != other.type_) {
    if (!is_number_integer() || !other.is_number_integer()) return get<double>() == other.get<double>();
    return get<int64_t>() >= 0 && other.get<int64_t>() >= 0 && get<uint64_t>() == other.get<uint64_t>();
  }
  if (type_ != other.type_ || is_discarded()) return false;
  if (!is_object()) return value_ == other.value_;
  const object_t &a = items(), &b = other.items();
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && x.second == y.second; });
}

}  // namespace softamp::minimal
