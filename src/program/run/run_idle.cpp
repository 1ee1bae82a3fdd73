// Options of `softamp run` that change nothing.
#include "src/graph/graph_use.h"
#include "src/program/idle_options.h"
#include "src/program/run/run_options.h"
#include "src/program/usage.h"

namespace softamp::program {

void refuse_idle_in_run(const cli::App& app, const Graph& graph, const ExecutorOptions& options, bool draws_values) {
  const graph_detail::GraphUse use = graph_detail::use_of(graph, options);
  RandomOptions how{.stochastic = "esr in --behaviour, and tensors of 16 bits"};
  if (use.draws || draws_values) how.used_otherwise = {"seed", "random"};
  const detail::RandomUse random{.stochastic = use.rounds};
  refuse_idle_random(app, {&random, 1}, how);
  const graph_detail::ProductDoor door = {
      [&](std::string_view key) {
        const cli::Option option = asked_option(app, key);
        return option ? name_and_value(option) : std::string();
      },
      [](std::string_view key, std::string_view value) { return option_name(key) + " " + std::string(value); }};
  if (const auto message = graph_detail::idle_product_setting(door, use.products)) throw UsageError(*message);
}

void refuse_idle_in_print(const cli::App& app, bool graph_def, bool network) {
  std::vector<std::string_view> used = {"GRAPH", "--print", "--quiet"};
  if (network) used.insert(used.end(), {"--precision", "--feed"});
  if (graph_def) used.insert(used.end(), {"--feed", "--fetch"});
  refuse_all_but(app, used, "--print runs nothing", "no --print");
}

}  // namespace softamp::program
