// What the module libsoftamp_nccl.so gives: NCCL and the CUDA runtime as plain functions, for
// src/exchange/nccl_exchange.h. The program has no need of either, and so runs where neither is; tests put another
// table in its place.
//
// A Nccl is one rank's communicator on one GPU, with two lanes. A lane has a stream and room for what goes out and what
// comes in, on the host (pinned) and on the device; its work runs in order, that of the two lanes at the same time. No
// function waits for another rank or for the device. Those that give a bool give false where they failed.
#pragma once

#include <cstddef>

namespace softamp {

struct Nccl;

struct NcclTable {
  static constexpr int kLayout = 1;
  static constexpr int kLanes = 2;
  static constexpr size_t kIdBytes = 128;
  enum Found { kDone, kUnderWay, kFailed };

  int layout;             ///< kLayout of who compiled it
  const char* (*why)();   ///< of this thread's last failure: "ncclSend: unhandled cuda error"
  int (*version)();       ///< of libnccl: 22809 is 2.28.9; 0: there is none, or it is too old
  int (*devices)();       ///< -1: failed
  bool (*new_id)(void*);  ///< of a communicator, kIdBytes, on one rank for all

  /// Begins to join `ranks` ranks; null: failed. Done when `state` says so.
  Nccl* (*open)(int device, int ranks, int rank, const void* id);
  /// Of all that NCCL was asked for: whether it lies in the streams by now, and whether an error has come up since.
  Found (*state)(Nccl*);
  /// Makes the Nccl's device that of the calling thread.
  bool (*use)(Nccl*);
  /// Begins to part from the other ranks in order; done when `state` says so.
  bool (*finish)(Nccl*);
  /// Frees everything, after `finish`, or else stops what is under way.
  void (*close)(Nccl*, bool finished);

  /// Gives a lane new room and says where it is on the host. Nothing may be under way in the lane.
  bool (*reserve)(Nccl*, int lane, size_t out, size_t in, void** host_out, void** host_in);
  /// The first bytes of what goes out, from the host to the device.
  bool (*upload)(Nccl*, int lane, size_t bytes);
  /// What lies between the two is one operation, which is in the lane when `state` says done.
  bool (*begin_group)(Nccl*);
  bool (*end_group)(Nccl*);
  /// From a place in what goes out, to a place in what comes in.
  bool (*send)(Nccl*, int lane, size_t offset, size_t bytes, int to);
  bool (*receive)(Nccl*, int lane, size_t offset, size_t bytes, int from);
  /// The first bytes of what goes out, of each rank: rank i's come in at i * bytes. An operation of its own.
  bool (*gather)(Nccl*, int lane, size_t bytes);
  /// The first bytes of what came in, from the device to the host.
  bool (*download)(Nccl*, int lane, size_t bytes);
  /// Whether the lane's last download is done.
  Found (*arrived)(Nccl*, int lane);
};

/// The module's one symbol.
constexpr const char* kNcclTableSymbol = "softamp_nccl_table";

}  // namespace softamp
