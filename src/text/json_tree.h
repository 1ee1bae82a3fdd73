// The parts of a JSON text, from which a value is made: what does not depend on how values are kept.
#pragma once

#include <cstddef>
#include <utility>

#include "src/text/read_json.h"

namespace softamp {

template <class Json>
class JsonTreeParts : public JsonParts {
 public:
  Json root;

  bool null() final { return add(nullptr); }
  bool boolean(bool value) final { return add(value); }
  bool number_integer(number_integer_t value) final { return add(value); }
  bool number_unsigned(number_unsigned_t value) final { return add(value); }
  bool number_float(number_float_t value, const string_t&) final { return add(value); }
  bool string(string_t& value) final { return add(std::move(value)); }
  bool binary(binary_t&) final { return false; }
  bool start_object(std::size_t) final { return open(Json::object()); }
  bool end_object() final { return close(); }
  bool start_array(std::size_t) final { return open(Json::array()); }
  bool end_array() final { return close(); }

 private:
  /// Each returns true. A value, or an array or object that is still empty: the root, or of what was opened last.
  virtual bool add(Json value) = 0;
  virtual bool open(Json value) = 0;
  virtual bool close() = 0;
};

}  // namespace softamp
