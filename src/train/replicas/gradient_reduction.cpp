#include "src/train/replicas/gradient_reduction.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "softamp/findings/exception.h"
#include "src/train/replicas/exchange_calls.h"
#include "src/train/replicas/replica_options.h"

namespace softamp::train_detail {
namespace {

using Bytes = Exchange::Bytes;
using Room = Exchange::Room;

/// Of one part of a rank's slice of a bucket, which is a message: large enough to be worth its start, small enough to
/// lie in a cache until it is summed (bench/exchange.cpp).
constexpr int64_t kSliceBytes = int64_t{1} << 19;

int64_t slice_begin(int64_t elements, int slice, int slices) { return elements * slice / slices; }

}  // namespace

struct GradientReduction::Impl {
  /// Gradients of one dtype lie one after another, those that are computed first, of the last variables, in front.
  struct Row {
    DType dtype;
    struct Entry {
      size_t variable;
      int64_t first, elements;
    };
    std::vector<Entry> entries;
    int64_t elements = 0;
  };

  /// Elements [first, last) of a row.
  struct Bucket {
    size_t row;
    int64_t first, last;
  };

  /// A sum of parts of `elements` elements, as a graph on an executor of its own.
  struct Summing {
    ReductionGraph graph;
    std::unique_ptr<Executor> executor;
  };

  Impl(const GradientStepGraph& gradient, const TrainerOptions& o)
      : options(o), exchange(*o.exchange), ranks(exchange.ranks()), parts(local_parts(o)) {
    // Complete subtrees of the tree of slices are summed before they are sent.
    sums_first = o.replica_invariant && parts > 1;
    std::map<DType, size_t> row_of;
    for (size_t v = gradient.variables.size(); v-- > 0;) {
      const TensorType& type = gradient.graph.type(gradient.graph.port(gradient.gradients[v]));
      types.insert(types.begin(), type);
      const auto [at, fresh] = row_of.try_emplace(type.dtype, rows.size());
      if (fresh) rows.push_back({type.dtype, {}, 0});
      Row& row = rows[at->second];
      row.entries.push_back({v, row.elements, type.shape.elements()});
      row.elements += type.shape.elements();
    }
    for (size_t r = 0; r < rows.size(); ++r) {
      const int64_t most = ranks * kSliceBytes / static_cast<int64_t>(size_of(rows[r].dtype));
      for (int64_t first = 0; first < rows[r].elements; first += most)
        buckets.push_back({r, first, std::min(first + most, rows[r].elements)});
    }
    worker = std::thread([this] { work(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      ended = true;
    }
    changed.notify_all();
    worker.join();
  }

  void begin() {
    const std::lock_guard lock(mutex);
    given.assign(static_cast<size_t>(parts) * types.size(), nullptr);
    missing.assign(types.size(), parts);
    gave_up = false;
    error = nullptr;
    result = {};
    for (const TensorType& type : types) result.values.emplace_back(TensorType{wide_dtype(type.dtype), type.shape});
    next = 0;
    changed.notify_all();
  }
  void give(size_t part, size_t variable, const Tensor& gradient) {
    const std::lock_guard lock(mutex);
    given[part * types.size() + variable] = gradient.data();
    --missing[variable];
    changed.notify_all();
  }
  void give_up() {
    const std::lock_guard lock(mutex);
    gave_up = true;
    changed.notify_all();
  }
  Sums sums() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return next == buckets.size(); });
    if (error) std::rethrow_exception(error);
    return std::move(result);
  }

  // ------------------------------------------------------------------------------------------ the other thread
  bool is_full(const Bucket& bucket) const {
    for (const Row::Entry& e : rows[bucket.row].entries)
      if (e.first < bucket.last && bucket.first < e.first + e.elements && missing[e.variable] > 0) return false;
    return true;
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return ended || (next < buckets.size() && (gave_up || is_full(buckets[next]))); });
      if (ended) return;
      lock.unlock();
      try {
        if (!error) carry(buckets[next]);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      ++next;
      changed.notify_all();
    }
  }

  /// The bytes of a bucket's part: where they lie, if in one tensor; else copied to `room`. Zeros for what is missing.
  Bytes bytes_of(const Bucket& bucket, int part, Tensor& room) {
    const Row& row = rows[bucket.row];
    const int64_t size = static_cast<int64_t>(size_of(row.dtype));
    for (const Row::Entry& e : row.entries) {
      const int64_t first = std::max(bucket.first, e.first), last = std::min(bucket.last, e.first + e.elements);
      if (first >= last) continue;
      const void* from = given[static_cast<size_t>(part) * types.size() + e.variable];
      const auto* bytes = static_cast<const std::byte*>(from) + (first - e.first) * size;
      const auto count = static_cast<size_t>((last - first) * size);
      if (from && first == bucket.first && last == bucket.last) return {bytes, count};
      if (room.elements() == 0) room = Tensor(row.dtype, {bucket.last - bucket.first});
      if (from) std::memcpy(static_cast<std::byte*>(room.data()) + (first - bucket.first) * size, bytes, count);
    }
    return train_detail::bytes_of(room);
  }

  /// Where the sums of a bucket go: into the result, if into one tensor; else into `room`, for `spread`.
  Room room_for(const Bucket& bucket, Tensor& room) {
    for (const Row::Entry& e : rows[bucket.row].entries)
      if (e.first <= bucket.first && bucket.last <= e.first + e.elements) {
        Tensor& value = result.values[e.variable];
        const auto size = static_cast<int64_t>(size_of(value.dtype()));
        return {static_cast<std::byte*>(value.data()) + (bucket.first - e.first) * size,
                static_cast<size_t>((bucket.last - bucket.first) * size)};
      }
    room = Tensor(wide_dtype(rows[bucket.row].dtype), {bucket.last - bucket.first});
    return room_of(room);
  }
  void spread(const Bucket& bucket, const Tensor& room) {
    if (room.elements() == 0) return;
    const auto size = static_cast<int64_t>(size_of(room.dtype()));
    for (const Row::Entry& e : rows[bucket.row].entries) {
      const int64_t first = std::max(bucket.first, e.first), last = std::min(bucket.last, e.first + e.elements);
      if (first >= last) continue;
      std::memcpy(static_cast<std::byte*>(result.values[e.variable].data()) + (first - e.first) * size,
                  static_cast<const std::byte*>(room.data()) + (first - bucket.first) * size,
                  static_cast<size_t>((last - first) * size));
    }
  }

  /// whole: the sum over all ranks; else the subtree of this one.
  Tensor sum(const std::vector<Tensor>& of, bool whole) {
    const TensorType& type = of[0].type();
    Summing& s = summing[{type.dtype, type.shape.elements(), static_cast<int>(of.size()), whole}];
    if (!s.executor) {
      s.graph = build_reduction_graph(type, static_cast<int>(of.size()), whole, options);
      s.executor = make_executor(s.graph.graph, update_options(options, 0));
    }
    std::vector<Feed> feeds;
    for (size_t i = 0; i < of.size(); ++i) feeds.emplace_back(s.graph.parts[i], &of[i]);
    s.executor->set_step(0);
    try {
      RunResult run = s.executor->run(feeds, {s.graph.sum});
      result.flags |= run.flags;
      return std::move(run.values[0]);
    } catch (const FloatingPointError&) {
      // The step will be refused on all ranks, by the update of one process; until then something must be sent.
      result.excepted = true;
      return Tensor(wide_dtype(type.dtype), type.shape);
    }
  }

  // implements: N284
  void carry(const Bucket& bucket) {
    const int64_t elements = bucket.last - bucket.first;
    if (!sums_first) return carry(bucket, rows[bucket.row].dtype, parts, nullptr);
    std::vector<Tensor> mine;
    for (int p = 0; p < parts; ++p) {
      Tensor room(rows[bucket.row].dtype, {elements});
      const Bytes bytes = bytes_of(bucket, p, room);
      if (bytes.data() != room.data()) std::memcpy(room.data(), bytes.data(), bytes.size());
      mine.push_back(std::move(room));
    }
    const Tensor subtree = sum(mine, false);
    carry(bucket, subtree.dtype(), 1, &subtree);
  }

  /// subtree: what this rank gives instead of its parts.
  void carry(const Bucket& bucket, DType dtype, int count, const Tensor* subtree) {
    const int64_t elements = bucket.last - bucket.first, me = exchange.rank();
    const auto size = static_cast<int64_t>(size_of(dtype));
    const int64_t mine =
        slice_begin(elements, static_cast<int>(me) + 1, ranks) - slice_begin(elements, static_cast<int>(me), ranks);
    std::vector<Tensor> slices;  // rank by rank, part by part: the order of one process
    for (int i = 0; i < ranks * count; ++i) slices.emplace_back(dtype, Shape{mine});
    for (int p = 0; p < count; ++p) {
      Tensor room;
      const Bytes bytes = subtree ? train_detail::bytes_of(*subtree) : bytes_of(bucket, p, room);
      std::vector<Bytes> to;
      std::vector<Room> from;
      for (int i = 0; i < ranks; ++i) {
        const int64_t first = slice_begin(elements, i, ranks), last = slice_begin(elements, i + 1, ranks);
        to.push_back(bytes.subspan(static_cast<size_t>(first * size), static_cast<size_t>((last - first) * size)));
        from.push_back(room_of(slices[static_cast<size_t>(i * count + p)]));
        if (i != me) sent += static_cast<int64_t>(to.back().size());
      }
      exchange.all_to_all(to, from);
    }
    Tensor room;
    const Room whole = room_for(bucket, room);
    const auto wide = static_cast<int64_t>(size_of(wide_dtype(dtype)));
    std::vector<Room> all;
    for (int i = 0; i < ranks; ++i) {
      const int64_t first = slice_begin(elements, i, ranks), last = slice_begin(elements, i + 1, ranks);
      all.push_back(whole.subspan(static_cast<size_t>(first * wide), static_cast<size_t>((last - first) * wide)));
    }
    const Tensor summed = mine > 0 ? sum(slices, true) : Tensor(wide_dtype(dtype), {0});
    sent += static_cast<int64_t>(summed.bytes()) * (ranks - 1);
    exchange.all_gather(train_detail::bytes_of(summed), all);
    spread(bucket, room);
  }

  const TrainerOptions& options;
  Exchange& exchange;
  const int ranks, parts;
  bool sums_first = false;
  std::vector<TensorType> types;  ///< by variable
  std::vector<Row> rows;
  std::vector<Bucket> buckets;
  std::map<std::tuple<DType, int64_t, int, bool>, Summing> summing;
  int64_t sent = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const void*> given;  ///< by part, then variable
  std::vector<int> missing;        ///< parts, by variable
  bool gave_up = false, ended = false;
  size_t next = ~size_t{0};  ///< bucket; at their end none is under way
  std::exception_ptr error;
  Sums result;
  std::thread worker;
};

GradientReduction::GradientReduction(const GradientStepGraph& gradient, const TrainerOptions& options)
    : impl_(std::make_unique<Impl>(gradient, options)) {}
GradientReduction::~GradientReduction() = default;
void GradientReduction::begin() { impl_->begin(); }
void GradientReduction::give(size_t part, size_t variable, const Tensor& gradient) {
  impl_->give(part, variable, gradient);
}
void GradientReduction::give_up() { impl_->give_up(); }
GradientReduction::Sums GradientReduction::sums() { return impl_->sums(); }
int64_t GradientReduction::bytes_sent() const { return impl_->sent; }
size_t GradientReduction::buckets() const { return impl_->buckets.size(); }

GradientReduction::Parts GradientReduction::all_parts(const Parts& mine) {
  Parts all;
  for (int i = 0; i < impl_->ranks * impl_->parts; ++i) {
    all.emplace_back();
    for (const TensorType& type : impl_->types) all.back().emplace_back(type);
  }
  for (size_t p = 0; p < mine.size(); ++p)
    for (size_t v = 0; v < impl_->types.size(); ++v) {
      std::vector<Room> rooms;
      for (size_t at = p; at < all.size(); at += mine.size()) rooms.push_back(room_of(all[at][v]));
      impl_->exchange.all_gather(bytes_of(mine[p][v]), rooms);
    }
  return all;
}

}  // namespace softamp::train_detail
