// GraphDefs in and out, binary and text.
#include "softamp/precision/graph_def.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>

#include "softamp/machine/float_environment.h"
#include "src/files/input_file.h"
#include "src/files/output_file.h"
#include "src/precision/graph_def/graph_def_impl.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

namespace io = google::protobuf::io;
using files::excerpt;
using google::protobuf::LogSilencer;
using google::protobuf::TextFormat;
using google::protobuf::internal::WireFormatLite;

constexpr size_t kMostBytes = std::numeric_limits<int>::max();  // of the binary form: protobuf's own limit
constexpr int kDeepestText = 200;  // nested messages of a text; of the binary form protobuf allows 100

[[noreturn]] void fail(std::string_view place, const std::string& what) {
  throw GraphDefError(std::string(place) + ": " + what);
}

void require_size(size_t bytes, std::string_view place) {
  if (bytes > kMostBytes)
    fail(place, std::to_string(bytes) + " bytes; expected less than 2 GiB, all that protobuf can hold");
}

/// Why bytes are no GraphDef: checks field by field, because protobuf gives no reason.
std::string binary_fault(std::string_view bytes) {
  io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  for (int nodes = 0;;) {
    const std::string at = "at byte " + std::to_string(in.CurrentPosition());
    const uint32_t tag = in.ReadTag();
    if (tag == 0) break;
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    if (field != graph_def::GraphDef::kNodeFieldNumber ||
        WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag)) return "field " + std::to_string(field) + " " + at + " is broken";
      continue;
    }
    uint32_t length = 0;
    std::string node;
    if (!in.ReadVarint32(&length) || length > kMostBytes || !in.ReadString(&node, static_cast<int>(length)))
      return "the bytes end within node number " + std::to_string(nodes) + ", " + at;
    graph_def::NodeDef parsed;
    if (!parsed.ParseFromString(node))
      return "node number " + std::to_string(nodes) + ", " + at + " ('" + excerpt(parsed.name()) +
             "'), is broken: cut off, nested too deep, or a text that is not UTF-8";
    ++nodes;
  }
  return "its bytes are no message of protobuf's from byte " + std::to_string(in.CurrentPosition()) + " on";
}

graph_def::GraphDef read_binary(std::string_view bytes, std::string_view place) {
  require_size(bytes.size(), place);
  graph_def::GraphDef graph;
  const LogSilencer silent;
  if (!graph.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(place, binary_fault(bytes) + "; expected a GraphDef in binary form");
  // A known field with another wire type: another kind of file. A SavedModel begins with its version in field 1.
  const auto& unknown = graph.GetReflection()->GetUnknownFields(graph);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (graph.GetDescriptor()->FindFieldByNumber(unknown.field(i).number()))
      fail(place,
           "field " + std::to_string(unknown.field(i).number()) +
               " is not what a GraphDef has there; expected a GraphDef (of a SavedModel: the graph_def of one of "
               "its meta graphs)");
  return graph;
}

class FirstError : public io::ErrorCollector {
 public:
  void AddError(int line, io::ColumnNumber column, const std::string& message) override {
    if (!text.empty()) return;
    if (line >= 0) text = "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ": ";
    text += excerpt(message.substr(0, 200));
  }
  void AddWarning(int, io::ColumnNumber, const std::string&) override {}
  std::string text;
};

graph_def::GraphDef read_text(std::string_view text, std::string_view place) {
  const engine::DefaultEnvironment guard;
  require_size(text.size(), place);
  graph_def::GraphDef graph;
  FirstError error;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kDeepestText);
  io::ArrayInputStream in(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&in, &graph)) fail(place, error.text.empty() ? "expected a GraphDef as text" : error.text);
  return graph;
}

std::string write_binary(const graph_def::GraphDef& graph, std::string_view place) {
  require_size(graph.ByteSizeLong(), place);
  std::string bytes;
  {
    const LogSilencer silent;  // about texts that are not UTF-8: their readers report them
    io::StringOutputStream out(&bytes);
    io::CodedOutputStream coded(&out);
    coded.SetSerializationDeterministic(true);
    graph.SerializeToCodedStream(&coded);
  }
  return bytes;
}

/// Fields that are not in graph_def.proto would be lost in a text.
void require_no_unknown_fields(const graph_def::GraphDef& graph, std::string_view place) {
  const auto has_unknown = [](const auto& message) {
    auto plain = message;
    plain.DiscardUnknownFields();
    return plain.ByteSizeLong() != message.ByteSizeLong();
  };
  static const std::string kRemedy = " that softamp does not know and a text cannot hold; expected none, or write .pb";
  for (const graph_def::NodeDef& node : graph.node())
    if (has_unknown(node)) graph_def_detail::fail_node(place, node, "has fields" + kRemedy);
  if (has_unknown(graph.library())) fail(place, "the library of functions has fields" + kRemedy);
  graph_def::GraphDef rest;
  rest.GetReflection()->MutableUnknownFields(&rest)->MergeFrom(graph.GetReflection()->GetUnknownFields(graph));
  *rest.mutable_versions() = graph.versions();
  *rest.mutable_debug_info() = graph.debug_info();
  if (has_unknown(rest)) fail(place, "the graph has fields" + kRemedy);
}

enum class Form { kBinary, kText };

Form form_of(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (name.ends_with(".pbtxt") || name.ends_with(".pb.txt")) return Form::kText;
  if (name.ends_with(".pb")) return Form::kBinary;
  fail(path.string(), "a GraphDef's file ends in .pb (binary), .pbtxt or .pb.txt (text)");
}

}  // namespace

GraphDefFile GraphDefFile::load(const std::filesystem::path& path) {
  const Form form = form_of(path);
  std::string bytes;
  try {
    bytes = files::read_input(path, "a GraphDef", kMostBytes);
  } catch (const files::InputError& e) {
    throw GraphDefError(e.what());
  }
  return form == Form::kText ? parse_text(bytes, path.string()) : parse_binary(bytes, path.string());
}

GraphDefFile GraphDefFile::parse_binary(std::string_view bytes, std::string_view place) {
  return GraphDefFile(std::make_shared<const Impl>(read_binary(bytes, place), place));
}

GraphDefFile GraphDefFile::parse_text(std::string_view text, std::string_view place) {
  // Converts to the binary form first, whose rules are stricter: so a text that is read can always be written.
  const std::string bytes = write_binary(read_text(text, place), place);
  graph_def::GraphDef graph;
  const LogSilencer silent;
  if (!graph.ParseFromString(bytes))
    fail(place, "nested deeper than 100 messages, or a name is not UTF-8; expected what the binary form can hold");
  return GraphDefFile(std::make_shared<const Impl>(std::move(graph), place));
}

int GraphDefFile::size() const { return impl_->graph.node_size(); }

std::string GraphDefFile::binary() const { return write_binary(impl_->graph, impl_->place); }

std::string GraphDefFile::text() const {
  const engine::DefaultEnvironment guard;
  require_no_unknown_fields(impl_->graph, impl_->place);
  std::string text;
  if (!TextFormat::PrintToString(impl_->graph, &text)) fail(impl_->place, "cannot be written as text");
  return text;
}

void GraphDefFile::save(const std::filesystem::path& path) const {
  const engine::DefaultEnvironment guard;
  const std::string bytes = form_of(path) == Form::kText ? text() : binary();
  try {
    files::write_file(path, bytes);
  } catch (const std::runtime_error& e) {
    throw GraphDefError(e.what());
  }
}

}  // namespace softamp
