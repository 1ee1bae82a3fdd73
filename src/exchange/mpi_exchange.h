// Exchange between processes that mpirun started, on one machine or on many. MPI carries the bytes; that a process has
// ended is noticed by connections beside it (peer_watch.h).
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "softamp/train/exchange.h"
#include "src/exchange/mpi_module.h"

namespace softamp {

class MpiExchange : public Exchange {
 public:
  /// What does not work as it should, the same at all ranks: whose end will not be noticed.
  virtual const std::vector<std::string>& warnings() const = 0;
  /// MPI_Allreduce of floats, in MPI's own order: for comparison of speed alone.
  virtual void all_reduce(std::span<float> values) = 0;
};

/// Starts the MPI and meets the other ranks. Once in a process. `folder`: where its module is; empty: as
/// load_mpi_module says. Throws std::runtime_error where the MPI cannot be used, and ExchangeError.
///
/// To be destroyed at the end of the run, by all ranks: it waits until all have come so far, and calls MPI_Finalize. A
/// rank that destroys it while others go on makes their next call throw, and during an exception it leaves. Where it is
/// broken, MPI is not called any more, and others than rank 0 wait until that has ended, 20 seconds at most.
std::unique_ptr<MpiExchange> open_mpi_exchange(MpiKind kind, const std::filesystem::path& folder = {});

}  // namespace softamp
