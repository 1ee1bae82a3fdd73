// The attributes of a node: names and values, in the order of the names. Copies share them until one of the copies
// changes, so a pass that hands a node on copies nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "softamp/tensor/tensor.h"

namespace softamp {

/// The value of a node's attribute. A list of integers serves extents, strides, axes.
using Attribute =
    std::variant<bool, int64_t, double, std::string, DType, Shape, std::vector<int64_t>, std::shared_ptr<const Tensor>>;

/// Used as a std::map from names; what is read is constant, what changes goes through the functions below. These make
/// iterators and references invalid.
class Attributes {
 public:
  using value_type = std::pair<std::string, Attribute>;
  using const_iterator = const value_type*;

  Attributes() = default;
  /// Of entries with one name the first is taken.
  Attributes(std::initializer_list<value_type> entries);

  const_iterator begin() const { return entries_ ? entries_->data() : nullptr; }
  const_iterator end() const { return entries_ ? entries_->data() + entries_->size() : nullptr; }
  size_t size() const { return entries_ ? entries_->size() : 0; }
  bool empty() const { return size() == 0; }
  const_iterator find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != end(); }
  /// Throws std::out_of_range where there is none.
  const Attribute& at(std::string_view name) const;
  /// Equal names and values; numbers and tensors by their bits.
  bool operator==(const Attributes& other) const;

  /// The value under this name; a new one is false.
  Attribute& operator[](std::string_view name);
  void insert_or_assign(std::string_view name, Attribute value) { (*this)[name] = std::move(value); }
  /// Nothing where the name is there.
  void emplace(std::string_view name, Attribute value);
  void insert(const value_type& entry) { emplace(entry.first, entry.second); }
  size_t erase(std::string_view name);

 private:
  using Entries = std::vector<value_type>;
  Entries& own();

  std::shared_ptr<Entries> entries_;  // null: none
};

}  // namespace softamp
