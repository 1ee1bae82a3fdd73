// Calls of an Exchange for values and texts of any length. All ranks make them alike.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "softamp/tensor/tensor.h"
#include "softamp/train/exchange.h"

namespace softamp::train_detail {

inline Exchange::Bytes bytes_of(const Tensor& t) { return {static_cast<const std::byte*>(t.data()), t.bytes()}; }
inline Exchange::Room room_of(Tensor& t) { return {static_cast<std::byte*>(t.data()), t.bytes()}; }

/// What every rank gives, by rank.
template <class T>
std::vector<T> gather_values(Exchange& exchange, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<size_t>(exchange.ranks()));
  std::vector<Exchange::Room> rooms;
  for (T& each : all) rooms.push_back(std::as_writable_bytes(std::span(&each, 1)));
  exchange.all_gather(std::as_bytes(std::span(&mine, 1)), rooms);
  return all;
}

/// Where all know how long the texts of all are: one call.
inline std::vector<std::string> gather_texts_of(Exchange& exchange, std::string_view mine,
                                                const std::vector<uint64_t>& sizes) {
  std::vector<std::string> all;
  for (const uint64_t size : sizes) all.emplace_back(static_cast<size_t>(size), '\0');
  std::vector<Exchange::Room> rooms;
  for (std::string& each : all) rooms.push_back(std::as_writable_bytes(std::span(each)));
  exchange.all_gather(std::as_bytes(std::span(mine)), rooms);
  return all;
}
inline std::vector<std::string> gather_equal_texts(Exchange& exchange, std::string_view mine) {
  return gather_texts_of(exchange, mine, std::vector<uint64_t>(static_cast<size_t>(exchange.ranks()), mine.size()));
}
inline std::vector<std::string> gather_texts(Exchange& exchange, std::string_view mine) {
  return gather_texts_of(exchange, mine, gather_values(exchange, uint64_t{mine.size()}));
}

/// Whether any rank says so.
inline bool any_says(Exchange& exchange, bool mine) {
  for (const uint8_t each : gather_values(exchange, static_cast<uint8_t>(mine)))
    if (each != 0) return true;
  return false;
}

/// Bytes one after another, for gather_texts; `Taken` reads them in the same order on a rank of the same program.
class Given {
 public:
  template <class T>
  Given& value(const T& v) {
    static_assert(std::is_trivially_copyable_v<T>);
    text_.append(reinterpret_cast<const char*>(&v), sizeof v);
    return *this;
  }
  Given& text(std::string_view t) {
    value(uint64_t{t.size()});
    text_.append(t);
    return *this;
  }
  const std::string& bytes() const { return text_; }

 private:
  std::string text_;
};

class Taken {
 public:
  explicit Taken(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T value() {
    static_assert(std::is_trivially_copyable_v<T>);
    T v;
    const std::string_view bytes = next(sizeof v);
    std::memcpy(static_cast<void*>(&v), bytes.data(), sizeof v);
    return v;
  }
  bool at_end() const { return rest_.empty(); }
  std::string_view text() { return next(static_cast<size_t>(value<uint64_t>())); }

 private:
  std::string_view next(size_t size) {
    if (size > rest_.size()) throw std::logic_error("exchange: a rank gave less than expected");
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string_view rest_;
};

}  // namespace softamp::train_detail
