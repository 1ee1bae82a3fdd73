// softamp compare: the first difference between two traces, or between two arrays.
#include "src/program/options.h"
#include "src/program/program.h"
#include "src/program/provenance.h"

#include "softamp/findings/tensor_text.h"
#include "softamp/graph/trace.h"
#include "softamp/numbers/number_text.h"
#include "src/data/npy_types.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <iostream>

namespace softamp::program {
namespace {

struct CompareOptions {
  std::string a, b;
  bool bfloat16 = false, json = false;
};

bool is_array(const std::string& file) { return file.size() > 4 && file.compare(file.size() - 4, 4, ".npy") == 0; }

int report(const CompareOptions& o, bool equal, const Json& json, const std::string& text) {
  if (o.json)
    print_json(json);
  else
    std::cout << text << '\n';
  return equal ? kSuccess : kCheckFailed;
}

/// "1 element is equal", "4 elements are equal".
std::string equal_text(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? " is equal" : "s are equal");
}

Json trace_version_json(int version) { return version == 0 ? Json() : Json(version); }

std::string trace_version_text(const std::string& file, int version) {
  return file + (version == 0 ? " was written before versions of the arithmetic were counted"
                              : " is of version " + std::to_string(version) + " of the arithmetic");
}

int compare_trace_files(const CompareOptions& o) {
  const TraceComparison c = compare_traces(o.a, o.b);
  const bool two_versions = c.version_a != c.version_b;
  if (two_versions)
    std::cerr << "softamp compare: " << trace_version_text(o.a, c.version_a) << ", "
              << trace_version_text(o.b, c.version_b) << "; results may differ only because of that\n";
  if (!c.settings.empty()) std::cerr << "softamp compare: settings differ: " << c.settings << '\n';
  Json json = {{"equal", !c.difference}, {"equal_tensors", c.tensors}};
  // Different backends are no difference: comparing them is what equal traces are for.
  const bool two = c.backend_a != c.backend_b && !c.backend_a.empty() && !c.backend_b.empty();
  if (two) json["backends"] = {c.backend_a, c.backend_b};
  if (two_versions) json["arithmetic"] = {trace_version_json(c.version_a), trace_version_json(c.version_b)};
  const std::string backends = two ? ", " + c.backend_a + " and " + c.backend_b : std::string();
  if (!c.difference) return report(o, true, json, equal_text(c.tensors, "tensor") + backends);
  const TraceDifference& d = *c.difference;
  json["difference"] = {{"line", d.line}, {"step", d.step}, {"tensor", d.tensor}, {"op", d.op}, {"what", d.what}};
  return report(o, false, json,
                "first difference after " + std::to_string(c.tensors) + " equal tensors: step " +
                    std::to_string(d.step) + ", " + d.op + " '" + d.tensor + "': " + d.what +
                    (two ? " (" + c.backend_a + ", " + c.backend_b + ")" : ""));
}

std::string index_text(const Shape& shape, int64_t i) {
  std::string text;
  for (int axis = shape.rank(); axis-- > 0; i /= shape[axis])
    text = std::to_string(i % shape[axis]) + (text.empty() ? "" : ",") + text;
  return "[" + text + "]";
}

std::string code_and_value(const Tensor& t, int64_t i) {
  if (!is_floating(t.dtype())) return std::to_string(static_cast<int64_t>(t.value(i)));
  const FloatFormat f = format_of(t.dtype());
  return code_text(f, t.code(i)) + " (" + shortest_decimal(f, t.code(i)) + ")";
}

/// What two arrays of one type have unlike.
struct Unlike {
  int64_t elements = 0, first = -1;  ///< how many; the index of the first, in the order of the file
  std::string a, b;                  ///< that one
};

Unlike unlike_elements(TensorPieces& a, TensorPieces& b) {
  constexpr int64_t kPiece = int64_t{1} << 20;
  const int64_t all = a.type().shape.elements();
  const Shape shape{std::min(kPiece, all)};
  Tensor x(a.type().dtype, shape), y(a.type().dtype, shape);
  Unlike found;
  for (int64_t done = 0; done < all;) {
    const int64_t count = std::min(kPiece, all - done);
    a.read(x.data(), static_cast<size_t>(count));
    b.read(y.data(), static_cast<size_t>(count));
    const size_t bytes = static_cast<size_t>(count) * size_of(x.dtype());
    const bool same = std::memcmp(x.data(), y.data(), bytes) == 0;
    for (int64_t i = 0; !same && i < count; ++i) {
      if (x.code(i) == y.code(i)) continue;
      ++found.elements;
      if (found.first >= 0) continue;
      found.first = done + i;
      found.a = code_and_value(x, i), found.b = code_and_value(y, i);
    }
    done += count;
  }
  return found;
}

int compare_arrays(const CompareOptions& o) {
  TensorPieces a(o.a, o.bfloat16), b(o.b, o.bfloat16);
  Json json = {{"equal", false}};
  if (a.type() != b.type()) {
    json["difference"] = {{"a", text_of(a.type())}, {"b", text_of(b.type())}};
    return report(o, false, json, o.a + " is " + text_of(a.type()) + ", " + o.b + " is " + text_of(b.type()));
  }
  const Unlike unlike = unlike_elements(a, b);
  const int64_t all = a.type().shape.elements();
  json["equal"] = unlike.elements == 0;
  json["elements"] = all;
  if (unlike.elements == 0) return report(o, true, json, equal_text(all, "element"));
  const std::string place = index_text(a.type().shape, unlike.first);
  json["different_elements"] = unlike.elements;
  json["difference"] = {{"index", place}, {"a", unlike.a}, {"b", unlike.b}};
  return report(o, false, json,
                std::to_string(unlike.elements) + " of " + std::to_string(all) + " elements differ, the first at " +
                    place + ": " + unlike.a + " is " + unlike.b);
}

}  // namespace

Verb add_compare(const cli::App& program) {
  cli::App app =
      program.add_subcommand("compare", "The first difference between two traces or two .npy arrays, bit for bit.");
  app.footer(R"(Both files are traces (`softamp run --trace FILE`), or both end in .npy.
Exit code 0: equal; 1: different; 2: bad input. Traces of two versions of the arithmetic (`softamp --version`) are
compared as well, and a line on standard error says so.

Example:
  softamp run graph.json --feed x=x.npy --fetch y --trace a.jsonl
  softamp run graph.json --feed x=x.npy --fetch y --threads 1 --trace b.jsonl
  softamp compare a.jsonl b.jsonl
With --backend cuda the second run uses a GPU.)");
  auto options = std::make_shared<CompareOptions>();
  app.add_option("A", options->a, "the first file").required().type_name("FILE");
  app.add_option("B", options->b, "the second file").required().type_name("FILE");
  app.add_flag("--bfloat16", options->bfloat16, "arrays of '<u2' hold bfloat16");
  app.add_flag("--json", options->json, "print a JSON document");
  return {app, [options] {
            if (is_array(options->a) != is_array(options->b))
              throw UsageError(options->a + " and " + options->b + ": expected two traces or two .npy files");
            if (options->bfloat16 && !is_array(options->a))
              throw UsageError("--bfloat16: expected two .npy files, not traces");
            if (options->json) remember_inputs(files::RunFiles().reads("A", options->a).reads("B", options->b));
            return is_array(options->a) ? compare_arrays(*options) : compare_trace_files(*options);
          }};
}

}  // namespace softamp::program
