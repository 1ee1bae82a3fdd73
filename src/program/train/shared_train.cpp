#include "src/program/train/shared_train.h"

#include "src/exchange/mpi_exchange.h"
#include "src/program/provenance.h"
#include "src/program/ranks/launched.h"
#include "src/program/ranks/ranks_here.h"
#include "src/program/usage.h"
#include "src/reproduce/kept_folder.h"
#include "src/text/reason.h"
#include "src/train/replicas/exchange_calls.h"
#include "src/train/run/shared_run.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

namespace softamp::program {
namespace {

/// Each process of a machine gets a GPU of its own, as far as there are enough; before anything asks for one.
void choose_device(const Exchange& exchange) {
  if (exchange.local_ranks() == 1 || std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) return;
  std::error_code none;
  const std::filesystem::directory_iterator gpus("/proc/driver/nvidia/gpus", none);
  const auto count = none ? 0 : std::distance(begin(gpus), end(gpus));
  if (count > 0) setenv("CUDA_VISIBLE_DEVICES", std::to_string(exchange.local_rank() % count).c_str(), 0);
}

/// Results of other builds may have other bits.
void compare_programs(Exchange& exchange) {
  const std::vector<std::string> all = train_detail::gather_texts(
      exchange, std::string("softamp ") + SOFTAMP_VERSION + ", XXH3-128 " + reproduce::program_digest());
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw train_detail::RanksDiffer("rank " + std::to_string(rank) + " runs " + all[rank] + ", and rank 0 runs " +
                                      all[0] + "; expected the same program on all ranks");
}

std::unique_ptr<MpiExchange> opened(const Launched& launched, bool quiet) {
  const std::optional<MpiKind> mpi = mpi_launcher();
  if (!mpi)
    throw UsageError("started as one of " + std::to_string(launched.ranks) + " processes by " + launched.by +
                     ", which is no MPI; expected mpirun, or srun --mpi=pmix or --mpi=pmi2");
  std::unique_ptr<MpiExchange> exchange = [&] {
    const RankStartWatch watch(launched);
    return open_mpi_exchange(*mpi);
  }();
  if (exchange->rank() == 0 && !quiet)
    for (const std::string& warning : exchange->warnings()) std::cerr << "softamp train: warning: " << warning << '\n';
  return exchange;
}

/// Whether an error that all may have is told here: by rank 0, and once on each other machine.
bool tells(const Launched& launched) {
  if (launched.rank == 0) return true;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"})
    if (const char* local = std::getenv(name)) return launched.ranks_here < launched.ranks && local == std::string("0");
  return false;
}

int fail(const std::exception& e, int code, bool told) {
  if (told && *e.what() != '\0') std::cerr << "softamp train: " << reason_of(e) << '\n';
  return code;
}

/// The code of the rank that has the greatest: a signal may have come to one of them alone.
int agreed(Exchange& exchange, int code) {
  try {
    const std::vector<int32_t> codes = train_detail::gather_values(exchange, static_cast<int32_t>(code));
    return *std::max_element(codes.begin(), codes.end());
  } catch (const ExchangeError& e) {
    if (!e.interrupted() || code <= 128) throw;
    return code;  // and it has been told
  }
}

int run_on(Exchange& exchange, TrainVerbOptions o) {
  for (const auto& [option, asked] :
       {std::pair{"--compare", !o.compare.empty()}, {"--find-loss-scale", o.find_loss_scale}})
    if (asked)
      throw UsageError(std::string(option) + ": " + std::to_string(exchange.ranks()) +
                       " processes; expected it in one, without mpirun");
  compare_programs(exchange);
  choose_device(exchange);
  if (exchange.rank() > 0) {
    o.output.quiet = true;
    o.json = false;
    o.csv.clear();
    o.recipe_dump.clear();
    o.output.plot.clear();
    o.output.write_initial.clear();
    o.output.write_batches.clear();
  }
  o.output.exchange = &exchange;
  const int code = run_train(std::move(o));
  return agreed(exchange, code);
}

}  // namespace

int run_train_on_ranks(TrainVerbOptions o) {
  o.inputs_known = remember_inputs;
  o.provenance = [] { return provenance().dump(); };
  const Launched launched = launched_by();
  if (launched.ranks == 1) return run_train(std::move(o));
  o.usual_replicas = launched.ranks;
  if (o.print_settings || !o.print_network.empty() || !o.print_recipe_fp8.empty())
    return launched.rank == 0 ? run_train(std::move(o)) : kSuccess;
  std::unique_ptr<MpiExchange> exchange;
  try {
    exchange = opened(launched, o.output.quiet);
  } catch (const std::exception& e) {
    return fail(e, kUsage, tells(launched));
  }
  const bool first = exchange->rank() == 0;
  try {
    return run_on(*exchange, std::move(o));
  } catch (const ExchangeError& e) {
    // Where rank 0 is lost, who is left tells it.
    return fail(e, e.code(), first || e.interrupted() || std::string_view(e.what()).starts_with("rank 0 "));
  } catch (const std::exception& e) {
    train_detail::leave_with(*exchange, e);
    return fail(e, kUsage, first);
  }
}

}  // namespace softamp::program
