// Which kernel an engine makes for an operation: the tables of its families joined. An operation whose row says what it
// computes for each element (Operation::element) needs no entry of its own.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "softamp/graph/operation.h"

namespace softamp::engine {

/// An operation type and what makes its kernel.
template <class Factory>
struct KernelEntry {
  const char* op;
  Factory make;
};

template <class Factory>
class KernelRegistry {
 public:
  using Family = std::span<const KernelEntry<Factory>> (*)();

  /// `elementwise`, `function`: what makes the kernels of rows with such an element.
  KernelRegistry(Factory elementwise, Factory function, std::initializer_list<Family> families)
      : elementwise_(elementwise), function_(function) {
    for (const Family family : families)
      for (const KernelEntry<Factory>& e : family()) entries_.push_back(e);
    std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return name(a) < name(b); });
  }

  /// Null for an operation type that the engine does not run.
  Factory find(std::string_view op) const {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), op,
                                     [](const auto& e, std::string_view wanted) { return name(e) < wanted; });
    if (at != entries_.end() && name(*at) == op) return at->make;
    const Operation* const row = find_operation(op);
    if (row && std::holds_alternative<kernel::Elementwise>(row->element)) return elementwise_;
    if (row && std::holds_alternative<kernel::Function>(row->element)) return function_;
    return nullptr;
  }

 private:
  static std::string_view name(const KernelEntry<Factory>& e) { return e.op; }

  Factory elementwise_, function_;
  std::vector<KernelEntry<Factory>> entries_;
};

}  // namespace softamp::engine
