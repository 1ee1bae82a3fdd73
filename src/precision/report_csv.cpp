// PrecisionReport::csv: RFC 4180, lines that end in CR LF, cells with a comma, a quote or a line end in quotes.
#include <initializer_list>
#include <string_view>

#include "softamp/precision/precision_report.h"
#include "src/precision/report_rows.h"

namespace softamp {
namespace {

void append_cell(std::string& line, std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    line += cell;
    return;
  }
  line += '"';
  for (const char c : cell) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

}  // namespace

std::string PrecisionReport::csv() const {
  std::string text = "node,op,device,layer,attribute,list,before,after,reason,group,casts_in,casts_out\r\n";
  for (const ReportRow& row : report_rows(*this)) {
    const OpNode& node = before.nodes[static_cast<size_t>(row.node)];
    const std::string types[] = {name_of(row.before), name_of(row.after)};
    for (const std::string_view cell : std::initializer_list<std::string_view>{
             node.name, node.op, node.device, node.layer, row.attribute, row.list, types[0], types[1], row.reason}) {
      append_cell(text, cell);
      text += ',';
    }
    text += (row.group < 0 ? std::string() : std::to_string(row.group)) + ',' + std::to_string(row.casts_in) + ',' +
            std::to_string(row.casts_out) + "\r\n";
  }
  return text;
}

}  // namespace softamp
