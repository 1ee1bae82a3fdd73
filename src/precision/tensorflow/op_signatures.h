// Signatures of TensorFlow's operations, as far as a pass over a GraphDef needs them: ports, the type attributes that
// decide their types, and which of these may be in low precision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/precision/op_graph.h"

namespace softamp {

/// An attribute of kind type, or list of types.
struct SignatureAttribute {
  std::string_view name;
  bool list = false;
  bool float16 = false, bfloat16 = false;  ///< whether there are kernels
  bool optional = false;                   ///< may be left out: then `fallback`, or an empty list
  ElementType fallback = ElementType::kUnknown;
};

/// A port, or a run of ports.
struct SignaturePort {
  int attribute = -1;  ///< number of the attribute that decides the type, -1: `type` does
  ElementType type = ElementType::kUnknown;
  std::string_view count_attribute{};  ///< the int attribute that counts the ports; "": `count`
  int64_t count = 1;                   ///< with a count_attribute: its default, -1: it has none
  bool reference = false;              ///< gives or takes a reference to a variable
};

struct OpSignature {
  std::vector<SignatureAttribute> attributes;
  std::vector<SignaturePort> inputs, outputs;
  bool kept = false;      ///< fed or fetched: its types never change
  bool stateful = false;  ///< as OpNode's
  bool random = false;
};

/// The signature of an operation, or nullptr for one that is not in the table.
const OpSignature* op_signature(std::string_view op);
/// Names of all operations of the table, sorted.
std::vector<std::string> op_signature_names();

namespace op_signature_detail {
/// A line of the table: "Name [@kept] [@state] [@random] attributes | inputs | outputs".
///   attribute:  T (type), T[] (list of types), followed by ":h", ":b" or ":hb" for kernels in float16, bfloat16, and
///               "=int32" or "=" (an empty list) for a default; n#0: an int attribute with a default that counts ports
///   port:       T, float32; T[] (all of the list); n*T (n an int attribute or a number); "&" before: a reference
/// Throws std::logic_error for a line that is not so. The views point into `line`.
OpSignature parse_line(std::string_view line, std::string_view* name);
/// All lines.
std::string_view table();
}  // namespace op_signature_detail

}  // namespace softamp
