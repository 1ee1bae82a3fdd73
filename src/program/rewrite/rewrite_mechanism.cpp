// The mechanism of `softamp rewrite`: from options to a colouring.
#include "src/names/idle.h"
#include "src/precision/known_operations.h"
#include "src/precision/recipe_source.h"
#include "src/program/rewrite/rewrite_options.h"
#include "src/text/comma_list.h"
#include "src/text/joined.h"

#include "softamp/names/names.h"
#include "softamp/precision/kernel_select.h"
#include "softamp/precision/mixed_precision_context.h"

#include <iostream>
#include <set>

namespace softamp::program {
namespace {

void say(LogLevel level, const std::string& message) { std::cerr << name_of(level) << ' ' << message << '\n'; }

LogSink sink(bool quiet) {
  return [quiet](LogLevel level, const std::string& message) {
    if (!quiet || level >= LogLevel::kWarning) say(level, message);
  };
}

/// The form that Mechanism::parse reads.
std::string text_of_option(const RewriteVerbOptions& o, const std::string& option) {
  const std::string value = option == "--tensorflow"   ? o.tensorflow.value_or("")
                            : option == "--recipe"     ? o.recipe.value_or("")
                            : option == "--policy"     ? o.policy.value_or("")
                            : option == "--recipe-fp8" ? o.recipe_fp8.value_or("")
                                                       : o.level.value_or("");
  return (option == "--recipe-fp8" ? "fp8" : option.substr(2)) + "=" + value +
         (o.dtype.empty() ? "" : ",dtype=" + o.dtype);
}

/// Two mechanisms: the systems' error for the second one, in the order of the command line; else our own.
[[noreturn]] void refuse_second(const RewriteVerbOptions& o) {
  MixedPrecisionContext context(sink(true));
  for (const std::string& option : o.mechanisms) {
    const Mechanism m = Mechanism::parse(text_of_option(o, option));
    if (m.kind == Mechanism::Kind::kTensorFlow) context.enable_graph_rewrite(OpLists::preset(m.value));
    if (m.kind == Mechanism::Kind::kRecipe) context.enable_bfloat16_conversion(Recipe::find(m.value));
    if (m.kind == Mechanism::Kind::kPolicy) context.set_global_policy(m.value);
  }
  throw UsageError(joined(o.mechanisms) + ": expected one mechanism");
}

void refuse_unless(bool fits, const std::string& option, const std::string& expected) {
  if (!fits) throw UsageError(option + ": expected with " + expected);
}

}  // namespace

ChosenMechanism::ChosenMechanism(const RewriteVerbOptions& o) {
  if (o.mechanisms.size() > 1) refuse_second(o);
  const RecipeReading reading = o.lenient ? RecipeReading::kLenient : RecipeReading::kStrict;
  std::optional<Recipe> read;  // here; else Mechanism::parse is the first to read it
  if (o.lenient && o.mechanisms == std::vector<std::string>{"--recipe"})
    read = Recipe::find(o.recipe.value_or(""), reading);  // Mechanism::parse reads strictly
  if (o.mechanisms.empty() && o.environment) read = Recipe::from_environment(reading);
  if (o.mechanisms.empty() && !read)
    throw UsageError("no mechanism is given; expected --tensorflow, --recipe, --policy, --level or --recipe-fp8" +
                     std::string(o.environment ? ", or TF_BF16_CONVERSION to name a recipe" : ""));
  if (read) {
    recipe_ = std::move(*read);
    mechanism_ = Mechanism::parse("recipe=full" + (o.dtype.empty() ? "" : ",dtype=" + o.dtype));
  } else {
    mechanism_ = Mechanism::parse(text_of_option(o, o.mechanisms[0]));
    if (mechanism_.kind == Mechanism::Kind::kRecipe) recipe_ = Recipe::find(mechanism_.value);
  }
  check_options(o);
  kernels_ = parse_dtype(o.kernels);
  quiet_ = o.quiet;
  if (mechanism_.kind == Mechanism::Kind::kTensorFlow) prepare_tensorflow(o);
  if (mechanism_.kind == Mechanism::Kind::kRecipe) prepare_recipe(o);
  if (mechanism_.kind == Mechanism::Kind::kPolicy) check_policy(o);
  // Throws: without a GPU "auto" has no meaning.
  if (mechanism_.kind == Mechanism::Kind::kLevel && o.cpu) amp_settings(parse_amp_level(mechanism_.value), "CPU");
}

void ChosenMechanism::check_options(const RewriteVerbOptions& o) const {
  using Kind = Mechanism::Kind;
  const Kind kind = mechanism_.kind;
  if (!o.changes.empty())
    refuse_unless(kind == Kind::kTensorFlow, o.changes[0].first ? "--add" : "--remove", "--tensorflow");
  refuse_unless(!o.lenient || kind == Kind::kRecipe, "--lenient", "--recipe");
  refuse_unless(o.kernels.empty() || kind == Kind::kLevel, "--kernels", "--level");
  refuse_unless(o.regex.empty() || kind == Kind::kRecipe, "--regex", "--recipe");
  refuse_unless(!o.gpu_capability || kind == Kind::kTensorFlow || kind == Kind::kPolicy, "--gpu-capability",
                "--tensorflow or --policy");
  refuse_unless(!o.cpu || kind == Kind::kTensorFlow || kind == Kind::kLevel, "--cpu", "--tensorflow or --level");
  if (o.cpu && kind == Kind::kLevel && mechanism_.value != "auto")
    throw UsageError(detail::idle_message("--cpu", "level " + mechanism_.value + " asks for no GPU", "no --cpu"));
  if (o.lenient && o.recipe && recipe_file(*o.recipe).empty())
    throw UsageError(detail::idle_message("--lenient", "recipe " + *o.recipe + " is no file", "--recipe FILE"));
}

void ChosenMechanism::prepare_tensorflow(const RewriteVerbOptions& o) {
  lists_ = OpLists::preset(mechanism_.value);
  if (mechanism_.low) lists_.low = *mechanism_.low;
  if (o.environment) {
    lists_ = lists_.with_environment();
    rewriting_ = rewriting_.with_environment();
  }
  for (const auto& [is_added, text] : o.changes) {
    const std::string option = is_added ? "--add" : "--remove";
    const size_t equals = text.find('=');
    std::string list_of_names = equals == std::string::npos ? "" : text.substr(equals + 1);
    std::erase(list_of_names, ' ');  // blanks do not separate names
    const std::vector<std::string> names = words_of_list(list_of_names);
    if (names.empty()) throw UsageError(option + ": '" + text + "': expected LIST=OP,OP");
    OpLists::Names* list = nullptr;
    try {
      list = &lists_.list(text.substr(0, equals));
    } catch (const std::invalid_argument& e) {
      throw UsageError(option + ": " + e.what());
    }
    for (const std::string& name : names) {
      if (is_added) {
        list->insert(name);
        added_.push_back(name);
      } else if (list->erase(name) == 0) {
        throw UsageError(option + ": " +
                         unknown_name_message("operation of the list " + text.substr(0, equals), name,
                                              {list->begin(), list->end()}));
      }
    }
  }
  lists_.validate();
  changed_ = !o.changes.empty();
  rewriting_.gpu_capability = o.gpu_capability;
  if (!o.cpu) return;
  // Without a GPU none is suitable, for any required capability.
  rewriting_.gpu_capability = 0;
  rewriting_.ignore_performance = false;
}

void ChosenMechanism::prepare_recipe(const RewriteVerbOptions& o) {
  if (o.regex == "search") recipe_.regex = RegexMode::kSearch;
  if (!o.environment) return;
  if (const auto path = recipe_.dump_by_environment())
    sink(o.quiet)(LogLevel::kInfo, "the recipe is written to " + path->string());
}

void ChosenMechanism::check_policy(const RewriteVerbOptions& o) const {
  MixedPrecisionContext(sink(o.quiet)).check_device(Policy(mechanism_.value), o.gpu_capability.value_or(7.0));
}

Colouring ChosenMechanism::colour(const OpGraph& graph) const {
  if (mechanism_.kind == Mechanism::Kind::kTensorFlow) {
    Colouring colours = colour_tensorflow(graph, lists_, rewriting_);
    if (changed_) colours.mechanism += ", lists changed";
    return colours;
  }
  if (mechanism_.kind == Mechanism::Kind::kRecipe) return colour_recipe(graph, recipe_, mechanism_.low_dtype());
  return mechanism_.colour(graph);
}

Graph ChosenMechanism::on_kernels(const Graph& graph) const {
  if (!kernels_) return graph;
  return cells::select_kernels(graph, cells::product_kernels(*kernels_), true, sink(quiet_));
}

std::vector<std::string> ChosenMechanism::remarks(const OpGraph& graph) const {
  if (added_.empty()) return {};
  std::set<std::string> there;
  for (const OpNode& node : graph.nodes) there.insert(node.op);
  std::vector<std::string> lines;
  for (const std::string& name : added_)
    if (!there.contains(name)) {
      const std::string meant = precision_detail::meant_operation(name);
      lines.push_back("--add: the graph has no operation '" + name + "'" +
                      (meant.empty() ? "" : "; nearest: " + meant));
    }
  return lines;
}

}  // namespace softamp::program
