// A JSON value with the interface of nlohmann's (github.com/nlohmann/json), as far as a training run uses it, and with
// the same text for the same value, so that the same sources give the same files. Objects keep the order of their keys.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace softamp::minimal {

/// A wrong type, a key that is not there, a text that is no UTF-8.
class JsonFault : public std::exception {
 public:
  /// "[json.exception.<name>.<id>] <what>"
  JsonFault(const char* name, int id, const std::string& what);
  const char* what() const noexcept override { return text_.c_str(); }
  const int id;

 private:
  std::string text_;
};

class Json {
 public:
  enum class value_t : uint8_t {
    null,
    boolean,
    number_integer,
    number_unsigned,
    number_float,
    string,
    array,
    object,
    discarded
  };
  enum class error_handler_t : uint8_t { strict, replace };
  using exception = JsonFault;
  using array_t = std::vector<Json>;
  using object_t = std::vector<std::pair<std::string, Json>>;
  using const_iterator = const Json*;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(value_t type);
  Json(bool value) : type_(value_t::boolean), value_(value) {}
  template <std::signed_integral T>
  Json(T value) : type_(value_t::number_integer), value_(int64_t{value}) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T value) : type_(value_t::number_unsigned), value_(uint64_t{value}) {}
  Json(double value) : type_(value_t::number_float), value_(value) {}
  Json(float value) : Json(double{value}) {}
  Json(std::string value) : type_(value_t::string), value_(std::move(value)) {}
  Json(const char* value) : Json(std::string(value)) {}
  template <class T>
  Json(const std::vector<T>& values) : Json(array_t(values.begin(), values.end())) {}
  Json(array_t values) : type_(value_t::array), value_(std::move(values)) {}
  /// An object where all are lists of a text and a value; else a list.
  Json(std::initializer_list<Json> values);

  static Json array(std::initializer_list<Json> values = {}) { return Json(array_t(values)); }
  static Json object() { return Json(value_t::object); }

  value_t type() const { return type_; }
  const char* type_name() const;
  bool is_null() const { return type_ == value_t::null; }
  bool is_boolean() const { return type_ == value_t::boolean; }
  bool is_string() const { return type_ == value_t::string; }
  bool is_array() const { return type_ == value_t::array; }
  bool is_object() const { return type_ == value_t::object; }
  bool is_discarded() const { return type_ == value_t::discarded; }
  bool is_number_unsigned() const { return type_ == value_t::number_unsigned; }
  bool is_number_integer() const { return is_number_unsigned() || type_ == value_t::number_integer; }
  bool is_number() const { return is_number_integer() || type_ == value_t::number_float; }

  /// A list's values, or an object's; what is no list has none here.
  const_iterator begin() const { return is_array() ? list().data() : nullptr; }
  const_iterator end() const { return is_array() ? list().data() + list().size() : nullptr; }
  /// An object's; none of anything else.
  const object_t& items() const;
  const_iterator find(std::string_view key) const;  ///< end(): it is not there
  bool contains(std::string_view key) const { return is_object() && find(key) != nullptr; }
  size_t size() const;
  bool empty() const { return size() == 0; }

  Json& operator[](const std::string& key);
  Json& operator[](const char* key) { return (*this)[std::string(key)]; }
  const Json& operator[](const std::string& key) const { return at(key.c_str()); }
  const Json& operator[](const char* key) const { return at(key); }
  const Json& operator[](size_t i) const { return list().at(i); }
  const Json& at(const char* key) const;
  void push_back(Json value);
  /// Of an object that does not have this key.
  void add_field(std::string key, Json value) {
    std::get<object_t>(value_).emplace_back(std::move(key), std::move(value));
  }

  template <class T>
  T get() const {
    if constexpr (std::same_as<T, bool>) {
      if (!is_boolean()) wrong_type("boolean");
      return std::get<bool>(value_);
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (is_number_unsigned()) return static_cast<T>(std::get<uint64_t>(value_));
      if (is_number_integer()) return static_cast<T>(std::get<int64_t>(value_));
      if (!is_number()) wrong_type("number");
      return static_cast<T>(std::get<double>(value_));
    } else if constexpr (std::same_as<T, std::string>) {
      return get_ref<const std::string&>();
    } else {
      T values;
      for (const Json& value : list()) values.push_back(value.get<typename T::value_type>());
      return values;
    }
  }
  template <class T>
  T get_ref() const {
    static_assert(std::same_as<T, const std::string&>);
    if (!is_string()) wrong_type("string");
    return std::get<std::string>(value_);
  }
  template <class T>
  requires(std::is_arithmetic_v<T> || std::same_as<T, std::string>) operator T() const { return get<T>(); }
  /// An object's value of that key, else `otherwise`.
  template <class T>
  auto value(std::string_view key, const T& otherwise) const {
    using Result = std::conditional_t<std::is_convertible_v<T, std::string_view>, std::string, T>;
    const Json* const found = find_in_object(key);
    if constexpr (std::same_as<Result, Json>)
      return found ? *found : otherwise;
    else
      return found ? found->get<Result>() : Result(otherwise);
  }

  /// indent -1: on one line. Throws JsonFault for a text that is no UTF-8, unless it is to be replaced by U+FFFD.
  std::string dump(int indent = -1, char blank = ' ', bool ascii = false,
                   error_handler_t errors = error_handler_t::strict) const;

  /// Numbers are equal whose values are, of whatever type.
  bool operator==(const Json& other) const;
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>) bool operator==(T other) const {
    return *this == Json(other);
  }
  bool operator==(const char* other) const { return *this == Json(other); }
  template <std::integral T>
  bool operator<(T other) const {
    return is_number() && get<double>() < static_cast<double>(other);
  }
  template <std::integral T>
  bool operator>(T other) const {
    return is_number() && get<double>() > static_cast<double>(other);
  }

 private:
  friend class JsonWriter;

  const array_t& list() const;
  const Json* find_in_object(std::string_view key) const;
  [[noreturn]] void wrong_type(const char* expected) const;

  value_t type_ = value_t::null;
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, array_t, object_t> value_;
};

/// The parts of a text, in their order; false ends the reading.
class JsonSax {
 public:
  using number_integer_t = int64_t;
  using number_unsigned_t = uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = std::vector<uint8_t>;
  virtual ~JsonSax() = default;
  virtual bool null() = 0;
  virtual bool boolean(bool value) = 0;
  virtual bool number_integer(number_integer_t value) = 0;
  virtual bool number_unsigned(number_unsigned_t value) = 0;
  virtual bool number_float(number_float_t value, const string_t& text) = 0;
  virtual bool string(string_t& value) = 0;
  virtual bool binary(binary_t& value) = 0;
  virtual bool start_object(size_t size) = 0;
  virtual bool key(string_t& name) = 0;
  virtual bool end_object() = 0;
  virtual bool start_array(size_t size) = 0;
  virtual bool end_array() = 0;
  virtual bool parse_error(size_t byte, const std::string& token, const JsonFault& error) = 0;
};

}  // namespace softamp::minimal
