// PrecisionReport::json: one object, a line for each unit and cast. Text that is not UTF-8 becomes U+FFFD, so that
// every reader takes it.

#include "softamp/machine/float_environment.h"
#include "softamp/precision/precision_report.h"
#include "src/numbers/decimal_text.h"
#include "src/precision/report_rows.h"
#include "src/precision/report_text.h"

namespace softamp {
namespace {

/// "key": value pairs, in the order in which they come.
class Object {
 public:
  explicit Object(std::string& out) : out_(out) { out_ += '{'; }
  void raw(const char* key, std::string_view value) {
    out_ += first_ ? "\"" : ", \"";
    out_ += key;
    out_ += "\": ";
    out_ += value;
    first_ = false;
  }
  void text(const char* key, std::string_view value) { raw(key, json_string(value)); }
  void count(const char* key, int64_t value) { raw(key, std::to_string(value)); }
  void close() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

void append_row(std::string& out, const OpNode& node, const ReportRow& row) {
  Object object(out);
  object.text("node", node.name);
  object.text("op", node.op);
  object.text("device", node.device);
  object.text("layer", node.layer);
  object.text("attribute", row.attribute);
  object.text("list", row.list);
  object.text("before", name_of(row.before));
  object.text("after", name_of(row.after));
  object.text("reason", row.reason);
  object.raw("group", row.group < 0 ? "null" : std::to_string(row.group));
  object.count("casts_in", row.casts_in);
  object.count("casts_out", row.casts_out);
  object.close();
}

void append_cast(std::string& out, const OpGraph& graph, const PlannedCast& cast) {
  Object object(out);
  object.text("name", cast.name);
  object.text("from", graph.nodes[static_cast<size_t>(cast.from.node)].name);
  object.count("port", cast.from.port);
  object.text("to", name_of(cast.to));
  object.text("device", cast.device);
  object.raw("of_constant", cast.of_constant ? "true" : "false");
  std::string readers = "[";
  for (const auto& [node, input] : cast.readers) {
    if (readers.size() > 1) readers += ", ";
    Object reader(readers);
    reader.text("node", graph.nodes[static_cast<size_t>(node)].name);
    reader.count("input", input);
    reader.close();
  }
  object.raw("readers", readers + "]");
  object.close();
}

}  // namespace

std::string PrecisionReport::json() const {
  const engine::DefaultEnvironment guard;
  std::string out = "{";
  const auto field = [&](const char* key, std::string_view value) {
    out += std::string(out.size() > 1 ? ",\n " : "") + "\"" + key + "\": ";
    out += value;
  };
  const auto list = [&](const char* key, size_t count, const auto& append) {
    field(key, "[");
    for (size_t i = 0; i < count; ++i) {
      out += i ? ",\n  " : "\n  ";
      append(i);
    }
    out += "]";
  };
  field("mechanism", json_string(colours.mechanism));
  field("low", json_string(name_of(plan.low)));
  field("nodes", std::to_string(nodes()));
  field("converted_nodes", std::to_string(converted_nodes()));
  field("low_share", round_trip_text(low_share()));
  field("groups", colours.groups.empty() ? "null" : std::to_string(groups()));
  field("casts_to_low", std::to_string(plan.casts_to_low()));
  field("casts_to_low_counted", std::to_string(plan.casts_to_low_counted()));
  field("casts_to_float32", std::to_string(plan.casts_to_float32()));
  list("messages", colours.messages.size(), [&](size_t i) { out += json_string(colours.messages[i]); });
  list("notes", notes.size(), [&](size_t i) { out += json_string(notes[i]); });
  const std::vector<ReportRow> rows = report_rows(*this);
  list("units", rows.size(),
       [&](size_t i) { append_row(out, before.nodes[static_cast<size_t>(rows[i].node)], rows[i]); });
  list("casts", plan.casts.size(), [&](size_t i) { append_cast(out, before, plan.casts[i]); });
  return out + "}\n";
}

}  // namespace softamp
