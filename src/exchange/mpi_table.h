// What a module that is compiled with one MPI (mpi_plugin.cpp) gives to the program: plain functions and numbers, so
// that neither knows the other's compiler, and one program works with any MPI that it finds where it runs.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

/// Goes up with any change below; a module of another version is refused.
#define SOFTAMP_MPI_TABLE_VERSION 2
/// The name of the one function that a module exports.
#define SOFTAMP_MPI_TABLE_FUNCTION "softamp_mpi_get_table"

/// `size` bytes that go to a rank, or come from it.
struct softamp_mpi_message {
  void* bytes;
  uint64_t size;
  int32_t rank;
};

struct softamp_mpi_ranks {
  int32_t rank, ranks;              ///< of all processes
  int32_t local_rank, local_ranks;  ///< of those on this machine
};

/// Where a function writes what went wrong, ended by a zero.
struct softamp_mpi_error {
  char* text;
  size_t room;
};

/// Functions return 0, or -1 with the error's text. One transfer is under way at a time.
struct softamp_mpi_table {
  uint32_t version;
  /// "Open MPI 4.1.4": of the library that was loaded. Can be called before `start`.
  int (*about)(char* text, size_t room);
  /// MPI_Init_thread, and a communicator of our own.
  int (*start)(struct softamp_mpi_ranks* ranks, struct softamp_mpi_error error);
  /// Begins to send and to receive; messages of no bytes are left out.
  int (*transfer)(const struct softamp_mpi_message* sends, size_t send_count,
                  const struct softamp_mpi_message* receives, size_t receive_count, struct softamp_mpi_error error);
  int (*barrier)(struct softamp_mpi_error error);
  /// 1: what was begun is done; 0: it is under way. *moved: how many pieces of it have come to their end in this call.
  int (*poll)(int32_t* moved, struct softamp_mpi_error error);
  /// MPI_Allreduce of floats, in place: to be measured against.
  int (*all_reduce)(float* values, uint64_t count, struct softamp_mpi_error error);
  /// MPI_Finalize.
  int (*finish)(struct softamp_mpi_error error);
  /// Tells MPICH's mpirun that this process ends by itself, without MPI_Finalize: otherwise mpirun kills the others
  /// when it ends. MPI must not be called afterwards. Does nothing with another launcher.
  void (*end_without_finish)(void);
};

typedef const struct softamp_mpi_table* softamp_mpi_table_function(void);

}  // extern "C"
