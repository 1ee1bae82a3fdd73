// What the renderings of a PrecisionReport share: one row for each type attribute.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "softamp/precision/precision_report.h"
#include "src/results/table.h"

namespace softamp {

/// A type attribute of a node before and after. The ports of a node without an attribute (of a fixed type) share a row
/// with attribute "", if the node has no attribute at all or such a port has casts.
struct ReportRow {
  int node = 0;
  int unit = -1;  ///< number in the node's units; -1: the ports without attribute
  std::string_view attribute, list, reason;
  ElementType before = ElementType::kUnknown, after = ElementType::kUnknown;
  int group = -1;
  int64_t casts_in = 0;   ///< added casts that its ports read, each counted once
  int64_t casts_out = 0;  ///< added casts that read its ports
};

/// Rows by node, then attribute; refers to the report.
std::vector<ReportRow> report_rows(const PrecisionReport& report);

/// The table of a report, row by row; refers to the report.
class ReportTable {
 public:
  explicit ReportTable(const PrecisionReport& report);
  const std::vector<results::Column>& columns() const { return columns_; }
  size_t rows() const { return rows_.size(); }
  results::Row row(size_t number) const;

 private:
  const PrecisionReport& report_;
  std::vector<ReportRow> rows_;
  std::vector<results::Column> columns_;
};

/// The type of an edge after the plan.
class TypesAfter {
 public:
  explicit TypesAfter(const PrecisionReport& report);
  bool retyped(int node, int unit) const { return retyped_[static_cast<size_t>(graph_.unit(node, unit))]; }
  ElementType type(const OpEdge& edge) const;

 private:
  const OpGraph& graph_;
  ElementType low_;
  std::vector<uint8_t> retyped_;  // per unit
};

/// float16, bfloat16, float32, float64, and references to them.
bool is_floating(ElementType t);
bool is_low_precision(ElementType t);  ///< float16, bfloat16, and references to them

}  // namespace softamp
