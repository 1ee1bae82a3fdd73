// An exchange whose large messages go through NCCL, from GPU to GPU. All else goes through another exchange: small
// messages, barriers, the words of a rank that leaves, and who has ended. While NCCL works, that one is asked whether
// it is broken, and NCCL is stopped where it is; so no rank waits for one that is gone.
//
// A message is cut into pieces. Each goes through pinned memory to the device, from there to the other rank's device
// and down again; two are under way, so that copies of one hide behind the transfer of the other.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "softamp/train/exchange.h"
#include "src/exchange/nccl_table.h"

namespace softamp {

/// The same on all ranks, `device` and `patience` aside.
struct NcclSettings {
  size_t least =
      size_t{32} << 10;  ///< bytes of a message that goes through NCCL (1 ..); shorter ones take the other way
  size_t chunk = size_t{8} << 20;  ///< bytes that a lane takes from all messages together, but `least` of each
  bool self = false;               ///< what a rank has for itself goes through its GPU, too: for tests
  int device = -1;                 ///< -1: the rank's number on its machine; 0 where a process sees one GPU
  /// How long the other exchange may take to say who has ended, after NCCL failed.
  std::chrono::milliseconds patience{2000};
};

/// Why NCCL cannot be used, the same text on all ranks; empty: it can. A call of all ranks, through `control`: "rank 3
/// (of 8): no module libsoftamp_nccl.so ...". Throws ExchangeError.
std::string why_no_nccl(Exchange& control, const NcclSettings& settings = {}, const NcclTable* table = nullptr);

/// A call of all ranks. Throws std::runtime_error with the text of why_no_nccl on all of them, and ExchangeError.
/// `table`: of the module [=nccl_table()].
std::unique_ptr<Exchange> open_nccl_exchange(std::unique_ptr<Exchange> control, const NcclSettings& settings = {},
                                             const NcclTable* table = nullptr);

/// The table of libsoftamp_nccl.so: the file that SOFTAMP_NCCL_MODULE names in the environment, or the first that is
/// there of those beside the program, where it was installed, and where the loader looks. Throws std::runtime_error
/// with the places.
const NcclTable& nccl_table();

}  // namespace softamp
