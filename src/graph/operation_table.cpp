// The table of operations as text for the documentation.
#include "softamp/graph/operation.h"
#include "src/graph/node_check.h"
#include "src/text/joined.h"

namespace softamp {
namespace {

std::string ports(const std::vector<PortSpec>& specs) {
  return joined(specs, ", ", [](const PortSpec& p) {
    return p.name + (p.variadic ? "..." : p.optional ? "?" : "") + ": " + p.type;
  });
}

std::string values(const AttributeSpec& a) {
  const std::string text =
      a.types.empty() ? graph_detail::named_choices(a) : joined(a.types, ", ", [](DType t) { return name_of(t); });
  return text.empty() ? name_of(a.kind) : text;
}

/// Pipes would end a cell.
std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '|' ? std::string("\\|") : std::string(1, c);
  return safe;
}

}  // namespace

std::string operation_table_markdown() {
  std::string text =
      "| operation | inputs -> outputs | attributes: name (values) [=default] | sites | what it is "
      "|\n|---|---|---|---|---|\n";
  for (const Operation& op : operations()) {
    std::string attributes;
    for (const AttributeSpec& a : op.attributes) {
      attributes += (attributes.empty() ? "`" : "; `") + a.name + "` (" + values(a) + ")";
      if (a.default_value) attributes += " [=" + text_of(*a.default_value) + "]";
      if (!a.summary.empty()) attributes += " " + a.summary;
    }
    text += "| `" + op.name + "` | " + cell(ports(op.inputs)) + " -> " + cell(ports(op.outputs)) + " | " +
            cell(attributes) + " | " + std::to_string(op.sites) + " | " + cell(op.summary) +
            (op.effect ? " Runs although nothing reads its output." : "") + " |\n";
  }
  return text;
}

}  // namespace softamp
