// A module between softamp and one MPI: compiled with that MPI's own compiler command (cmake/Mpi.cmake), loaded at run
// time (mpi_module.cpp). It uses nothing but MPI and the C library.
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "src/exchange/mpi_table.h"

namespace {

/// Long messages go in pieces. MPI counts in int; and who waits sees by their ends that something moves.
constexpr uint64_t kPiece = uint64_t{8} << 20;

MPI_Comm comm = MPI_COMM_NULL;
int ranks = 0, own_rank = 0;

// The pieces under way. expected: bytes that a piece must have, -1 where it is sent or is a barrier.
MPI_Request* requests = nullptr;
MPI_Status* statuses = nullptr;
int *expected = nullptr, *sources = nullptr, *done = nullptr;
int begun = 0, left = 0, room = 0;

int fail(softamp_mpi_error error, const char* what, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  snprintf(error.text, error.room, "%s: %s", what, text);
  return -1;
}

bool make_room(uint64_t pieces) {
  if (pieces <= static_cast<uint64_t>(room)) return true;
  if (pieces > 0x7fffffff / 2) return false;
  const auto grow = [&](auto*& array) {
    void* const larger = realloc(static_cast<void*>(array), pieces * sizeof *array);
    if (larger) array = static_cast<decltype(array + 0)>(larger);
    return larger != nullptr;
  };
  if (!grow(requests) || !grow(statuses) || !grow(expected) || !grow(sources) || !grow(done)) return false;
  room = static_cast<int>(pieces);
  return true;
}

uint64_t pieces_of(const softamp_mpi_message* messages, size_t count) {
  uint64_t pieces = 0;
  for (size_t i = 0; i < count; ++i) pieces += (messages[i].size + kPiece - 1) / kPiece;
  return pieces;
}

/// The version that stands behind `name` in what the library says of itself; else that of the header.
int about(char* text, size_t size) {
#if defined(OPEN_MPI)
  const char *name = "Open MPI", *mark = "Open MPI v";
  char version[64];
  snprintf(version, sizeof version, "%d.%d.%d", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION);
#elif defined(MPICH_VERSION)
  const char *name = "MPICH", *mark = "MPICH Version:";
  char version[64] = MPICH_VERSION;
#else
#error "expected Open MPI or MPICH"
#endif
  static char all[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (MPI_Get_library_version(all, &length) == MPI_SUCCESS)
    if (const char* at = strstr(all, mark)) {
      at += strlen(mark);
      at += strspn(at, " \t");
      const size_t digits = strspn(at, "0123456789.abcdefghijklmnopqrstuvwxyz");
      if (digits > 0 && digits < sizeof version) {
        memcpy(version, at, digits);
        version[digits] = 0;
      }
    }
  snprintf(text, size, "%s %s", name, version);
  return 0;
}

/// How many ranks name the same processor as this one, and how many of them are before it. All ranks call it.
int find_local_ranks(int* local_rank, int* local_ranks, softamp_mpi_error error) {
  constexpr int kName = MPI_MAX_PROCESSOR_NAME;
  static char own[kName];
  int length = 0;
  if (const int code = MPI_Get_processor_name(own, &length)) return fail(error, "MPI_Get_processor_name", code);
  char* const all = static_cast<char*>(malloc(static_cast<size_t>(ranks) * kName));
  if (!all) {
    snprintf(error.text, error.room, "no memory for the names of %d ranks", ranks);
    return -1;
  }
  const int code = MPI_Allgather(own, kName, MPI_CHAR, all, kName, MPI_CHAR, comm);
  *local_rank = *local_ranks = 0;
  for (int r = 0; r < ranks && !code; ++r) {
    if (memcmp(all + static_cast<size_t>(r) * kName, own, kName) != 0) continue;
    if (r < own_rank) ++*local_rank;
    ++*local_ranks;
  }
  free(all);
  return code ? fail(error, "MPI_Allgather", code) : 0;
}

int start(softamp_mpi_ranks* found, softamp_mpi_error error) {
  int was_started = 0, level = 0;
  MPI_Initialized(&was_started);
  if (was_started) {
    snprintf(error.text, error.room, "MPI_Init_thread was called before in this process; MPI starts once");
    return -1;
  }
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level))
    return fail(error, "MPI_Init_thread", code);
  if (level < MPI_THREAD_SERIALIZED) {
    snprintf(error.text, error.room,
             "MPI_Init_thread gives thread level %d; expected MPI_THREAD_SERIALIZED (%d) or more: an MPI built with "
             "threads",
             level, static_cast<int>(MPI_THREAD_SERIALIZED));
    MPI_Finalize();
    return -1;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (const int code = MPI_Comm_dup(MPI_COMM_WORLD, &comm)) return fail(error, "MPI_Comm_dup", code);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &own_rank);
  MPI_Comm_size(comm, &ranks);
  MPI_Comm local;
  if (const int code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, own_rank, MPI_INFO_NULL, &local))
    return fail(error, "MPI_Comm_split_type", code);
  int local_rank = 0, local_ranks = 1;
  MPI_Comm_rank(local, &local_rank);
  MPI_Comm_size(local, &local_ranks);
  MPI_Comm_free(&local);
  // MPICH 5.0.0 to 5.0.2 on UCX puts each rank into a communicator of its own.
  int same_name_rank = 0, same_name_ranks = 1;
  if (find_local_ranks(&same_name_rank, &same_name_ranks, error) != 0) return -1;
  if (local_ranks == 1) local_rank = same_name_rank, local_ranks = same_name_ranks;
  *found = {own_rank, ranks, local_rank, local_ranks};
  return 0;
}

int transfer(const softamp_mpi_message* sends, size_t send_count, const softamp_mpi_message* receives,
             size_t receive_count, softamp_mpi_error error) {
  begun = left = 0;
  if (!make_room(pieces_of(sends, send_count) + pieces_of(receives, receive_count))) {
    snprintf(error.text, error.room, "no memory for the list of messages");
    return -1;
  }
  // Messages between two ranks keep their order, so one tag will do.
  const auto begin_all = [&](const softamp_mpi_message* messages, size_t count, bool receive) {
    for (size_t i = 0; i < count; ++i) {
      const softamp_mpi_message& m = messages[i];
      for (uint64_t at = 0; at < m.size; at += kPiece) {
        const int size = static_cast<int>(m.size - at < kPiece ? m.size - at : kPiece);
        char* const bytes = static_cast<char*>(m.bytes) + at;
        const int code = receive ? MPI_Irecv(bytes, size, MPI_BYTE, m.rank, 0, comm, &requests[begun])
                                 : MPI_Isend(bytes, size, MPI_BYTE, m.rank, 0, comm, &requests[begun]);
        if (code) return fail(error, receive ? "MPI_Irecv" : "MPI_Isend", code);
        expected[begun] = receive ? size : -1;
        sources[begun] = m.rank;
        ++begun, ++left;
      }
    }
    return 0;
  };
  // Receives first: what arrives then has its place.
  if (begin_all(receives, receive_count, true)) return -1;
  return begin_all(sends, send_count, false);
}

int barrier(softamp_mpi_error error) {
  begun = left = 0;
  if (!make_room(1)) {
    snprintf(error.text, error.room, "no memory");
    return -1;
  }
  if (const int code = MPI_Ibarrier(comm, &requests[0])) return fail(error, "MPI_Ibarrier", code);
  expected[0] = -1;
  begun = left = 1;
  return 0;
}

int poll(int32_t* moved, softamp_mpi_error error) {
  *moved = 0;
  if (left == 0) return 1;
  int count = 0;
  const int code = MPI_Testsome(begun, requests, &count, done, statuses);
  if (code == MPI_ERR_IN_STATUS) {
    for (int i = 0; i < count; ++i)
      if (const int one = statuses[i].MPI_ERROR; one != MPI_SUCCESS && one != MPI_ERR_PENDING)
        return fail(error, expected[done[i]] < 0 ? "sending" : "receiving", one);
  }
  if (code) return fail(error, "MPI_Testsome", code);
  for (int i = 0; i < count; ++i) {
    const int wanted = expected[done[i]];
    if (wanted < 0) continue;
    int size = 0;
    MPI_Get_count(&statuses[i], MPI_BYTE, &size);
    if (size == wanted) continue;
    snprintf(error.text, error.room, "rank %d sends %d bytes to rank %d; expected %d", sources[done[i]], size, own_rank,
             wanted);
    return -1;
  }
  left -= count;
  *moved = count;
  return left == 0;
}

int all_reduce(float* values, uint64_t count, softamp_mpi_error error) {
  constexpr uint64_t kMost = uint64_t{1} << 30;
  for (uint64_t at = 0; at < count; at += kMost) {
    const int part = static_cast<int>(count - at < kMost ? count - at : kMost);
    if (const int code = MPI_Allreduce(MPI_IN_PLACE, values + at, part, MPI_FLOAT, MPI_SUM, comm))
      return fail(error, "MPI_Allreduce", code);
  }
  return 0;
}

int finish(softamp_mpi_error error) {
  MPI_Comm_free(&comm);
  if (const int code = MPI_Finalize()) {
    snprintf(error.text, error.room, "MPI_Finalize: error %d", code);
    return -1;
  }
  return 0;
}

void end_without_finish() {
#if defined(MPICH_VERSION)
  // MPI_Finalize would wait for transfers that nobody ends any more. The one part of it that mpirun needs is this line
  // of the protocol PMI-1. mpirun answers with a line, and fails if nobody is there to read it. Slurm also sets PMI_FD,
  // but not MPI_LOCALNRANKS.
  const char* const number = getenv("PMI_FD");
  if (!number || !*number || !getenv("MPI_LOCALNRANKS")) return;
  char* rest = nullptr;
  const long fd = strtol(number, &rest, 10);
  if (*rest || fd < 0 || fd > 0x7fffffff) return;
  static const char line[] = "cmd=finalize\n";
  if (send(static_cast<int>(fd), line, sizeof line - 1, MSG_NOSIGNAL) < 0) return;
  struct pollfd answer = {static_cast<int>(fd), POLLIN, 0};
  char byte = 0;
  while (byte != '\n' && ::poll(&answer, 1, 10000) > 0 && recv(answer.fd, &byte, 1, MSG_DONTWAIT) > 0) {
  }
#endif
}

constexpr softamp_mpi_table kTable = {
    SOFTAMP_MPI_TABLE_VERSION, about, start, transfer, barrier, poll, all_reduce, finish, end_without_finish};

}  // namespace

extern "C" __attribute__((visibility("default"))) const softamp_mpi_table* softamp_mpi_get_table() { return &kTable; }
