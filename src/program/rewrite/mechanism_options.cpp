#include "src/program/rewrite/mechanism_options.h"

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "softamp/precision/mechanism.h"
#include "softamp/precision/op_lists.h"
#include "src/text/comma_list.h"
#include "src/text/joined.h"
#include "src/text/printable.h"

namespace softamp::program {
namespace {

std::string checked(const std::string& place, const std::string& text) {
  try {
    return Mechanism::parse(text).text();
  } catch (const std::invalid_argument& e) {
    throw UsageError(place + ": " + e.what());
  }
}

}  // namespace

void offer_mechanisms(const cli::App& app) {
  offer(app, "--tensorflow", OpLists::preset_names);
  offer(app, "--recipe", {"full", "basic"});
  offer(app, "--policy", {"mixed_float16", "mixed_bfloat16", "float16", "bfloat16", "float32", "float64"});
  offer(app, "--level", {"O0", "O1", "O2", "O3", "auto"});
  offer(app, "--dtype", {"fp16", "bf16"});
}

void add_mechanism_options(const cli::App& app, MechanismOptions& o) {
  app.add_flag("--tensorflow{2.3}", o.tensorflow, "TensorFlow's graph rewrite; lists of 2.3, 2019, mkl [=2.3]")
      .type_name("=VERSION");
  app.add_option("--recipe", o.recipe, "Gaudi's bfloat16 pass: full, basic, or a file of a recipe").type_name("FILE");
  app.add_option("--policy", o.policy, "Keras' dtype policy: mixed_float16, mixed_bfloat16, or a dtype")
      .type_name("NAME");
  app.add_option("--level", o.level, "MindSpore's level: O0, O1, O2, O3, auto").type_name("L");
  add_fp8_recipe_option(app, o.recipe_fp8);
  app.add_option("--dtype", o.dtype, "low precision of the mechanism: fp16, bf16 [=the system's own]").type_name("T");
  app.add_option("--mechanism", o.mechanism,
                 "the same in one text: tensorflow=2019, level=O2,dtype=bf16, fp8=nvfp4, none [=none]")
      .type_name("TEXT");
  offer_mechanisms(app);
}

void add_fp8_recipe_option(const cli::App& app, std::optional<std::string>& recipe) {
  app.add_option("--recipe-fp8", recipe,
                 "a recipe of 8 and 4 bits for the products of linear layers: fp8_delayed, fp8_current, deepseek_v3, "
                 "mxfp8, nvfp4, unit_scaling, ..., or a file of one")
      .type_name("NAME");
  offer(app, "--recipe-fp8", Fp8Recipe::names);
}

void add_environment_option(const cli::App& app, bool& environment) {
  app.add_flag("--environment", environment,
               "obey TF_BF16_CONVERSION, where no mechanism is chosen, and TF_BF16_DUMP_PATH");
}

std::string environment_mechanism() {
  const std::optional<Recipe> recipe = Recipe::from_environment();
  if (!recipe) return {};
  for (const std::string& warning : recipe->warnings) std::cerr << "WARNING " << files::printable(warning) << '\n';
  return "recipe=" + *Recipe::name_from_environment();
}

void say_idle_environment(const std::string& verb, bool environment, bool quiet) {
  if (environment || quiet) return;
  const std::string names = joined(Recipe::environment_in_use());
  if (!names.empty()) std::cerr << verb << ": set, but obeyed only with --environment: " << names << '\n';
}

std::string mechanism_text(const MechanismOptions& o) {
  std::string option, text;
  const std::pair<const char*, const std::optional<std::string>&> choices[] = {
      {"tensorflow", o.tensorflow}, {"recipe", o.recipe},         {"policy", o.policy},
      {"level", o.level},           {"recipe-fp8", o.recipe_fp8}, {"mechanism", o.mechanism}};
  for (const auto& [name, value] : choices) {
    if (!value) continue;
    if (!option.empty())
      throw UsageError(option + " and --" + name + " at once; expected one mechanism of mixed precision");
    option = std::string("--") + name;
    const std::string_view kind = name == std::string_view("recipe-fp8") ? "fp8" : name;
    text = kind == "mechanism" ? *value : std::string(kind) + "=" + *value;
  }
  if (o.dtype) {
    if (option.empty())
      throw UsageError("--dtype: '" + *o.dtype +
                       "': expected it with a mechanism: --tensorflow, --recipe, --policy or --level");
    text += ",dtype=" + *o.dtype;
  }
  return option.empty() ? text : checked(option, text);
}

std::vector<std::string> split_mechanisms(const std::string& place, const std::string& text) {
  std::vector<std::string> mechanisms;
  for (const std::string& part : split_at_commas(text)) {
    if (part.empty()) throw UsageError(place + ": '" + text + "': expected mechanisms without empty ones between");
    if (part.starts_with("dtype=") && !mechanisms.empty())
      mechanisms.back() += "," + part;
    else
      mechanisms.push_back(part);
  }
  for (auto each = mechanisms.begin(); each != mechanisms.end(); ++each) {
    *each = checked(place, *each);
    if (std::find(mechanisms.begin(), each, *each) != each)
      throw UsageError(place + ": '" + *each + "' stands twice; expected each mechanism once");
  }
  return mechanisms;
}

}  // namespace softamp::program
