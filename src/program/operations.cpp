// softamp operations: the operations that a graph may have.
#include "src/program/options.h"
#include "src/program/program.h"
#include "src/text/joined.h"
#include "src/text/word.h"

#include "softamp/graph/operation.h"
#include "softamp/train/network_file.h"

#include <iostream>

namespace softamp::program {
namespace {

struct OperationsOptions {
  std::string name;
  bool markdown = false, layers = false;
};

void print_ports(const char* title, const std::vector<PortSpec>& ports) {
  for (const PortSpec& p : ports)
    std::cout << "  " << title << "  " << p.name << ": " << p.type << (p.variadic ? ", one or more" : "")
              << (p.optional ? ", may be left out" : "") << '\n';
}

void print_one(const Operation& op) {
  std::cout << op.name << "\n  " << op.summary << '\n';
  print_ports("input ", op.inputs);
  print_ports("output", op.outputs);
  for (const AttributeSpec& a : op.attributes) {
    const std::string values = a.types.empty()
                                   ? joined(a.choices, ", ", [](const std::string& s) { return "'" + s + "'"; })
                                   : joined(a.types, ", ", [](DType t) { return name_of(t); });
    std::cout << "  attribute " << a.name << " (" << (values.empty() ? name_of(a.kind) : values) << ")";
    if (a.default_value) std::cout << " [=" << text_of(*a.default_value) << "]";
    std::cout << (a.summary.empty() ? "" : "  ") << a.summary << '\n';
  }
  std::cout << "  rounding sites: " << op.sites << '\n';
}

int run_operations(const OperationsOptions& o) {
  if (o.layers && o.markdown) throw UsageError("--layers: expected no --markdown beside it");
  if (!o.name.empty() && (o.layers || o.markdown))
    throw UsageError("NAME: '" + o.name + "': expected none beside " + (o.layers ? "--layers" : "--markdown"));
  if (o.layers) {
    std::cout << network_layers_markdown();
  } else if (o.markdown) {
    std::cout << "# The operations of graphs\n"
                 "\n"
                 "Printed by `softamp operations --markdown`. Orders of accumulation and roundings: "
                 "[NUMERICS_GRAPHS.md](NUMERICS_GRAPHS.md).\n"
                 "A type attribute that an input names follows from that input; wide is float64 where T is, else "
                 "float32. Sites: how many places a node rounds at; each has an operation id of its own.\n"
                 "\n"
              << operation_table_markdown();
  } else if (!o.name.empty()) {
    print_one(operation(our_word(operations(), o.name, &Operation::name)));
  } else {
    size_t width = 0;
    for (const Operation& op : operations()) width = std::max(width, op.name.size());
    for (const Operation& op : operations())
      std::cout << op.name << std::string(width + 2 - op.name.size(), ' ') << op.summary << '\n';
  }
  return kSuccess;
}

}  // namespace

Verb add_operations(const cli::App& program) {
  cli::App app = program.add_subcommand("operations", "The operations that a graph may be made of.");
  app.footer(R"(Examples:
  softamp operations
  softamp operations Conv2D
  softamp operations --markdown > docs/OPERATIONS.md
  softamp operations --layers)");
  auto options = std::make_shared<OperationsOptions>();
  app.add_option("NAME", options->name, "one operation, with its ports and attributes [=a list of all]");
  app.add_flag("--markdown", options->markdown, "the table of docs/OPERATIONS.md");
  app.add_flag("--layers", options->layers,
               "instead: the layers of network files, with their options (docs/NETWORKS.md)");
  offer(app, "NAME", [] {
    Words names;
    for (const Operation& op : operations()) names.push_back(op.name);
    return names;
  });
  return {app, [options] { return run_operations(*options); }};
}

}  // namespace softamp::program
