// The values of the options of `softamp rewrite`.
#pragma once

#include "src/program/program.h"

#include "softamp/precision/mechanism.h"

#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

enum class ReportForm : uint8_t { kNone, kSummary, kTable, kCsv, kLatex, kJson, kDot };

struct RewriteVerbOptions {
  std::string graph, out, report_file;
  std::optional<std::string> tensorflow, recipe, policy, level, recipe_fp8;
  std::vector<std::string> mechanisms;  ///< of these five the options that were given, in their order on the line
  std::string dtype;
  std::vector<std::string> fetches;
  std::vector<std::pair<bool, std::string>> changes;  ///< added?, "LIST=OP,OP" of --add and --remove
  bool environment = false, cpu = false, quiet = false, lenient = false;
  std::optional<double> gpu_capability;
  std::string regex;
  std::string kernels;  ///< --level: the dtype in which a device multiplies [=all]
  bool advise = false;
  bool evaluates = false;
  std::string evaluate_file;        ///< --evaluate: .npz [=none]
  std::optional<uint64_t> top;      ///< --evaluate
  std::vector<std::string> feeds;   ///< --advise, --evaluate: NAME=FILE.npy
  std::string variables;            ///< --advise, --evaluate: .npz
  std::optional<double> tolerance;  ///< --advise
  std::optional<uint64_t> seed;     ///< --advise, --evaluate
  std::optional<Preset> preset;     ///< --advise, --evaluate [=the graph's, else ieee]
  std::optional<uint64_t> batch;    ///< --advise, --evaluate: of a GraphDef or a network
  ReportForm report = ReportForm::kNone;

  /// The object must outlive the parsing of `app`.
  void add_to(const cli::App& app);
};

/// The mechanism that the options name, ready to colour pictures.
class ChosenMechanism {
 public:
  /// Reads files and, if asked, the environment. Throws UsageError and the systems' own errors: for two mechanisms at
  /// once, ApiConflictError with the system's text. Messages of the systems go to standard error.
  explicit ChosenMechanism(const RewriteVerbOptions& options);

  std::string text() const {
    return mechanism_.kind == Mechanism::Kind::kRecipe ? "recipe=" + recipe_.name : mechanism_.text();
  }
  bool is_recipe() const { return mechanism_.kind == Mechanism::Kind::kRecipe; }
  bool is_tensorflow() const { return mechanism_.kind == Mechanism::Kind::kTensorFlow; }
  /// Whether it quantises operands of products and changes no dtype: `quantize` in the place of `colour`.
  bool quantizes() const { return mechanism_.kind == Mechanism::Kind::kFp8; }
  GraphRewrite quantize(const Graph& graph, const std::vector<std::string>& fetches) const {
    return quantize_products(graph, Fp8Recipe::find(mechanism_.value), fetches);
  }
  Colouring colour(const OpGraph& graph) const;
  /// The graph with the casts that a device of few kernels needs; by default as it is.
  Graph on_kernels(const Graph& graph) const;
  /// Warnings about options that match nothing in this graph.
  std::vector<std::string> remarks(const OpGraph& graph) const;

 private:
  void check_options(const RewriteVerbOptions& o) const;
  void prepare_tensorflow(const RewriteVerbOptions& o);
  void prepare_recipe(const RewriteVerbOptions& o);
  void check_policy(const RewriteVerbOptions& o) const;

  Mechanism mechanism_;
  OpLists lists_;
  RewriteOptions rewriting_;
  Recipe recipe_;
  std::optional<DType> kernels_;
  bool quiet_ = false;
  bool changed_ = false;            ///< lists_, by options
  std::vector<std::string> added_;  ///< operations that options name
};

}  // namespace softamp::program
