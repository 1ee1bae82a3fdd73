// Lines of cells, each column as wide as needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "src/text/printable.h"

namespace softamp::program {

/// Words, which may come from a file, at the beginning and at the end, are aligned left, numbers between them right.
class TextTable {
 public:
  TextTable(size_t left, size_t left_at_end) : left_(left), left_at_end_(left_at_end) {}
  void add(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = files::printable(cell);
    widths_.resize(std::max(widths_.size(), cells.size()));
    for (size_t c = 0; c < cells.size(); ++c) widths_[c] = std::max(widths_[c], cells[c].size());
    lines_.push_back(std::move(cells));
  }
  void print(std::ostream& out) const {
    for (const auto& cells : lines_) {
      std::string line;
      for (size_t c = 0; c < cells.size(); ++c) {
        const std::string space(widths_[c] - cells[c].size(), ' ');
        const bool words = c < left_ || c + left_at_end_ >= cells.size();
        line += (c ? "  " : "") + (words ? cells[c] + space : space + cells[c]);
      }
      while (!line.empty() && line.back() == ' ') line.pop_back();
      out << line << '\n';
    }
  }

 private:
  size_t left_, left_at_end_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> lines_;
};

}  // namespace softamp::program
