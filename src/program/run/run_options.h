// The values of the options of `softamp run`.
#pragma once

#include "src/program/program.h"

#include "softamp/chips/chip_table.h"
#include "softamp/graph/executor.h"

#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

struct RunOptions {
  std::string graph, out, trace, config_file, print, variables, precision;
  std::vector<std::string> feeds, fed_back, fetches, settings;
  std::string behaviour, partials;
  std::optional<int> block;  ///< 0: all of k
  AmpInner inner = AmpInner::kFmaChain;
  Accumulator accumulator = Accumulator::kIpuModelA;
  TensorCoreOperands operands = TensorCoreOperands::kOwn;
  bulk::InstructionSet isa = bulk::InstructionSet::kAuto;
  RandomEngine random = RandomEngine::kPhilox;
  int bits = 0;
  StochasticVariant variant = StochasticVariant::kCarry;
  std::optional<Chip> chip;
  std::optional<Preset> preset;
  uint64_t seed = 0;
  uint64_t steps = 1;
  uint32_t first_step = 0;
  int threads = 0;
  int tiles = 0;
  uint64_t memory_per_tile = 0;
  bool memory_given = false;
  std::string backend = "emu";
  bool partial_variables = false, reference = false, status = false, statistics = false, json = false, quiet = false;

  void add_to(const cli::App& app);
  /// Throws UsageError for a value that no option takes. What --chip says is not in it.
  ExecutorOptions executor_options() const;
  /// Sets random bits and variant of --chip's conversion to the 16-bit dtype of the graph. Throws UsageError,
  /// std::invalid_argument where there is no such one.
  void round_as_chip(const Graph& run, ExecutorOptions& options) const;
};

/// Throws UsageError for an option that changes nothing in a run of this graph with these options. draws_values: its
/// seed also draws first values of variables.
void refuse_idle_in_run(const cli::App& app, const Graph& graph, const ExecutorOptions& options, bool draws_values);
/// The same where the graph is only printed. graph_def: it is printed as it is imported for its fetches.
void refuse_idle_in_print(const cli::App& app, bool graph_def, bool network);

}  // namespace softamp::program
