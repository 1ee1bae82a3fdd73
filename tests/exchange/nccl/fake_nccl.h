// A stand-in for NCCL and the CUDA runtime: ranks are threads, each with a device of its own, and devices are threads
// that do what lies in their streams later than it was asked for. Memory is the host's or a device's, and every use of
// it is checked. Calls can be made to fail, and the transfer to come to no end.
#pragma once

#include <string>
#include <vector>

#include "src/exchange/nccl_table.h"

extern "C" const softamp::NcclTable* softamp_nccl_table();

namespace softamp::fake_nccl {

/// The machine, one at a time; whoever makes it begins anew, with nothing that was counted or planned before.
class Machine {
 public:
  explicit Machine(int devices);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// The number-th call (from 1) of a function on a device fails. "state": ncclCommGetAsyncError tells an error of a
  /// rank that is gone.
  void fail(const std::string& function, int device, int number);
  /// NCCL's operations on a device come to no end from the number-th on (from 1) unless they are aborted.
  void hang(int device, int number);
  /// How often a rank has to look until NCCL has joined, or has put what it was asked for into a stream.
  void set_looks(int looks);
  /// Streams wait up to so many microseconds before each of their operations.
  void set_delay(int microseconds);

  /// Whether a call has failed as planned.
  bool failed() const;
  int calls(const std::string& function) const;
  /// The most of a device's lanes that had work at once.
  int most_lanes() const;
  /// Uses that are none: "cudaMemcpyAsync: 10 bytes past the end of ...".
  std::vector<std::string> faults() const;
  /// Streams, events, communicators and arrays that are there.
  int alive() const;
};

}  // namespace softamp::fake_nccl
