#include "softamp/graph/attributes.h"

#include <algorithm>
#include <stdexcept>

#include "softamp/graph/graph.h"

namespace softamp {

Attributes::Attributes(std::initializer_list<value_type> entries) {
  if (entries.size() == 0) return;
  own().reserve(entries.size());
  for (const value_type& entry : entries) insert(entry);
}

Attributes::const_iterator Attributes::find(std::string_view name) const {
  // A node has a handful.
  for (const value_type& entry : *this)
    if (entry.first == name) return &entry;
  return end();
}

const Attribute& Attributes::at(std::string_view name) const {
  const auto it = find(name);
  if (it == end()) throw std::out_of_range("softamp: no attribute " + std::string(name));
  return it->second;
}

bool Attributes::operator==(const Attributes& other) const {
  return entries_ == other.entries_ ||
         std::equal(begin(), end(), other.begin(), other.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first && equal(a.second, b.second); });
}

Attributes::Entries& Attributes::own() {
  if (!entries_)
    entries_ = std::make_shared<Entries>();
  else if (entries_.use_count() > 1)
    entries_ = std::make_shared<Entries>(*entries_);
  else
    std::shared_ptr<Entries>(entries_)
        .reset();  // giving up a share acquires: what other threads read of it came before
  return *entries_;
}

Attribute& Attributes::operator[](std::string_view name) {
  Entries& entries = own();
  auto it = entries.begin();
  while (it != entries.end() && it->first < name) ++it;
  if (it == entries.end() || it->first != name) it = entries.emplace(it, std::string(name), Attribute());
  return it->second;
}

void Attributes::emplace(std::string_view name, Attribute value) {
  if (!contains(name)) (*this)[name] = std::move(value);
}

size_t Attributes::erase(std::string_view name) {
  const auto it = find(name);
  if (it == end()) return 0;
  const auto at = it - begin();
  Entries& entries = own();
  entries.erase(entries.begin() + at);
  return 1;
}

}  // namespace softamp
