// Loops over tiles: panels of A and B are packed once per chunk of k, tiles run
// over rows within columns, threads share out blocks of rows and columns.
#include <algorithm>
#include <cstring>
#include <memory>

#include "emu/parallel.h"
#include "emu/products/product_tensor_core.h"
#include "emu/products/product_tiles.h"
#include "emu/stop_check.h"

namespace softamp::emu {
namespace {

constexpr size_t kSlabBytes = size_t{16} << 20;   ///< packed panels of B at a time
constexpr size_t kSmallSlab = size_t{256} << 10;  ///< where each is read once: they stay in the second-level cache
constexpr size_t kRowPanels = 8;                  ///< of A, per task: as many as the second-level cache holds
constexpr size_t kColumnPanels = 32;
constexpr size_t kTasksPerThread = 8;

/// Nanoseconds of a product on one core, roughly: only decides between serial and parallel, and how often to ask
/// whether the run is to end.
double cost(ProductPlan::Way way) {
  using Way = ProductPlan::Way;
  switch (way) {
    case Way::kScalar: return StopCheck::kBody;
    case Way::kGeneralEach: return 2;
    case Way::kCarryEach: return 0.25;
    case Way::kNearestEach: return 0.1;
    case Way::kGeneral: return 0.1;
    default: return 0.02;
  }
}
constexpr double kSerialNanoseconds = 20000;

/// Buffers of a thread, kept from call to call.
struct ThreadBuffers {
  AlignedFloats a, state, b;
};
ThreadBuffers& thread_buffers() {
  thread_local ThreadBuffers buffers;
  return buffers;
}

/// Panels of B for a slab of chunks.
class PackedB {
 public:
  PackedB(const ProductRun& run, size_t panels) : run_(run), panels_(panels) {}

  void pack(size_t first_chunk, size_t end_chunk, int threads, bool serial, bool halves) {
    const std::vector<Chunk>& chunks = run_.cut.chunks;
    const size_t nr = run_.kernels.nr;
    first_k_ = chunks[first_chunk].k0;
    k_ = chunks[end_chunk - 1].k1 - first_k_;
    // A serial product's panels lie in memory that the thread has used before, and that no other product can want.
    float* const to = (serial ? thread_buffers().b : own_).reserve(k_ * panels_ * nr);
    data_ = to;
    uint16_t* const narrow =
        halves ? reinterpret_cast<uint16_t*>(halves_.reserve((k_ * panels_ * nr + 1) / 2)) : nullptr;
    auto body = [&](size_t begin, size_t end, size_t) {
      for (size_t p = begin; p < end; ++p) {
        const size_t col0 = p * nr, columns = std::min(nr, run_.problem.columns - col0);
        for (size_t c = first_chunk; c < end_chunk; ++c) {
          const size_t offset = (chunks[c].k0 - first_k_) * panels_ * nr + p * (chunks[c].k1 - chunks[c].k0) * nr;
          const size_t length = chunks[c].k1 - chunks[c].k0;
          float* const panel = to + offset;
          if (columns < nr) std::memset(panel, 0, 4 * length * nr);
          run_.problem.operands->b_rows(chunks[c].k0, chunks[c].k1, col0, columns, panel, nr);
          if (narrow) run_.kernels.narrow(panel, length * nr, narrow + offset);
        }
      }
    };
    parallel_ranges(panels_, serial ? panels_ : 1, 1, threads, body);
  }
  size_t offset(const Chunk& chunk, size_t panel) const {
    const size_t nr = run_.kernels.nr;
    return (chunk.k0 - first_k_) * panels_ * nr + panel * (chunk.k1 - chunk.k0) * nr;
  }
  const float* at(size_t offset) const { return data_ + offset; }
  const uint16_t* halves_at(size_t offset) const { return reinterpret_cast<const uint16_t*>(halves_.data()) + offset; }

 private:
  const ProductRun& run_;
  size_t panels_, first_k_ = 0, k_ = 0;
  const float* data_ = nullptr;
  AlignedFloats own_, halves_;
};

/// The tasks of a run: blocks of row panels times groups of column panels.
class Tasks {
 public:
  Tasks(const ProductRun& run, const ProductSettings& settings)
      : run_(run),
        settings_(settings),
        k_(run.kernels),
        row_panels_((run.problem.rows + k_.mr - 1) / k_.mr),
        column_panels_((run.problem.columns + k_.nr - 1) / k_.nr),
        b_(run, column_panels_) {
    const double work = static_cast<double>(run.problem.rows) * static_cast<double>(run.problem.columns) *
                        static_cast<double>(run.problem.schedule->k) * cost(run.way);
    const int threads = settings.threads;
    serial_ = threads == 1 || work < kSerialNanoseconds;
    rows_per_task_ = std::min(kRowPanels, row_panels_);
    columns_per_task_ = std::min(kColumnPanels, column_panels_);
    if (!serial_) {
      const size_t wanted = kTasksPerThread * (threads > 0 ? static_cast<size_t>(threads) : 2);
      while (count() < wanted && rows_per_task_ > 4) --rows_per_task_;
      while (count() < wanted && columns_per_task_ > 4) --columns_per_task_;
      while (count() < wanted && rows_per_task_ > 1) --rows_per_task_;
      while (count() < wanted && columns_per_task_ > 1) --columns_per_task_;
    }
  }

  void run() {
    const std::vector<Chunk>& chunks = run_.cut.chunks;
    const size_t slab = serial_ && row_panels_ <= kRowPanels ? kSmallSlab : kSlabBytes;
    const size_t slab_k = std::max<size_t>(1, slab / (4 * column_panels_ * k_.nr));
    const bool one_slab = run_.problem.schedule->k <= slab_k;
    const size_t tile = padded_tile(k_);
    if (!one_slab) {
      const size_t tiles = row_panels_ * column_panels_, folds = run_.plan.rules.independent ? 2 : 1;
      state_ = global_state_.reserve(tiles * tile * folds);
      suspicions_.assign(tiles, 0);
    }
    for (size_t first = 0; first < chunks.size();) {
      size_t end = first + 1;
      while (end < chunks.size() && chunks[end].k1 - chunks[first].k0 <= slab_k) ++end;
      b_.pack(first, end, settings_.threads, serial_, run_.way == ProductPlan::Way::kNative);
      parallel_status(count(), serial_ ? count() : 1, 1, settings_.threads, settings_.status,
                      [&](size_t begin, size_t stop, FpStatus* found) {
                        StopCheck check(settings_.stop);
                        for (size_t t = begin; t < stop; ++t) task(t, first, end, found, check);
                      });
      first = end;
    }
  }

 private:
  static size_t over(size_t n, size_t d) { return (n + d - 1) / d; }
  size_t count() const { return over(row_panels_, rows_per_task_) * over(column_panels_, columns_per_task_); }

  void task(size_t t, size_t first_chunk, size_t end_chunk, FpStatus* status, StopCheck& check) {
    const size_t groups = over(column_panels_, columns_per_task_), tile = padded_tile(k_);
    const size_t row_begin = t / groups * rows_per_task_, row_end = std::min(row_begin + rows_per_task_, row_panels_);
    const size_t col_begin = t % groups * columns_per_task_,
                 col_end = std::min(col_begin + columns_per_task_, column_panels_);
    const size_t width = col_end - col_begin, height = row_end - row_begin, tiles = width * height;
    const double nanoseconds = cost(run_.way);
    const bool independent = run_.plan.rules.independent, native = run_.way == ProductPlan::Way::kNative;
    const std::vector<Chunk>& chunks = run_.cut.chunks;

    ThreadBuffers& buffers = thread_buffers();
    const size_t panel = k_.mr * kAStride;
    float* const a = buffers.a.reserve(panel * height * (native ? 2 : 1));
    // Local states are for the tiles of this task, column by column; global
    // ones for all.
    float* state = state_;
    uint8_t local_suspicions[kRowPanels * kColumnPanels] = {};
    uint8_t* suspicions = suspicions_.data();
    if (!state) {
      state = buffers.state.reserve(tiles * tile * (independent ? 2 : 1));
      suspicions = local_suspicions;
    }
    const auto place = [&](size_t i, size_t j) {
      return state_ ? j * row_panels_ + i : (j - col_begin) * height + (i - row_begin);
    };
    const size_t all = state_ ? row_panels_ * column_panels_ : tiles;
    uint64_t outputs[kRowPanels * kMostRows];
    for (size_t i = row_begin * k_.mr; i < row_end * k_.mr; ++i)
      outputs[i - row_begin * k_.mr] = i < run_.problem.rows ? run_.problem.operands->row_output(i) : 0;

    for (size_t c = first_chunk; c < end_chunk; ++c) {
      const Chunk& chunk = chunks[c];
      const size_t length = chunk.k1 - chunk.k0;
      pack_a(chunk, row_begin, height, a);
      if (native) {
        const size_t padded = (length + 15) / 16 * 16;
        for (size_t r = 0; r < height * k_.mr; ++r)
          k_.narrow_pairs(a + r * kAStride, padded, reinterpret_cast<uint32_t*>(a + height * panel + r * kAStride));
      }
      for (size_t j = col_begin; j < col_end; ++j) {
        const size_t b = b_.offset(chunk, j);
        for (size_t i = row_begin; i < row_end; ++i) {
          const size_t at = place(i, j);
          const ProductRun::TileState tile_state{state + at * tile, state + (all + at) * tile, suspicions + at};
          uint64_t corner[kMostRows];
          for (size_t r = 0; r < k_.mr; ++r) corner[r] = outputs[(i - row_begin) * k_.mr + r] + j * k_.nr;
          const ProductTile part{
              a + (i - row_begin) * panel,
              b_.at(b),
              native ? reinterpret_cast<const uint32_t*>(a + (height + i - row_begin) * panel) : nullptr,
              native ? b_.halves_at(b) : nullptr,
              run_.cut.segments.data() + chunk.first_segment,
              chunk.segment_count,
              corner,
              std::min(k_.mr, run_.problem.rows - i * k_.mr),
              std::min(k_.nr, run_.problem.columns - j * k_.nr)};
          if (c == 0) run_.begin(part, i * k_.mr, j * k_.nr, tile_state);
          run_.multiply(chunk, part, tile_state);
          if (c + 1 == chunks.size()) run_.finish(part, tile_state, i * k_.mr, j * k_.nr, status);
        }
        check.after(static_cast<uint64_t>(static_cast<double>(height * k_.mr * k_.nr * length) * nanoseconds));
      }
    }
  }

  /// Packs panels of rows, one after another, by one call: where A lies transposed, whole cache lines are read at once.
  void pack_a(const Chunk& chunk, size_t first, size_t panels, float* to) const {
    const size_t row0 = first * k_.mr, rows = panels * k_.mr, count = std::min(rows, run_.problem.rows - row0);
    run_.problem.operands->a_rows(row0, count, chunk.k0, chunk.k1, to, kAStride);
    for (size_t r = count; r < rows; ++r) std::memset(to + r * kAStride, 0, 4 * (chunk.k1 - chunk.k0));
  }

  const ProductRun& run_;
  const ProductSettings& settings_;
  const ProductKernels& k_;
  size_t row_panels_, column_panels_;
  PackedB b_;
  bool serial_;
  size_t rows_per_task_, columns_per_task_;
  float* state_ = nullptr;  ///< of all tiles, if k does not fit one slab
  AlignedFloats global_state_;
  std::vector<uint8_t> suspicions_;
};

/// Writes the result of chains without products.
void write_empty(const ProductPlan& plan, const ProductProblem& problem, const kernel::Environment& environment,
                 FpStatus* status) {
  for (size_t i = 0; i < problem.rows; ++i) {
    const uint64_t first = problem.operands->row_output(i);
    for (size_t j = 0; j < problem.columns; ++j) {
      kernel::ProductChain chain(plan.rules, environment, first + j);
      if (problem.start) chain.start(widened_start(plan, problem, i, j));
      const Rounded r = chain.finish();
      if (plan.rules.output.storage_bits() > 16)
        static_cast<uint32_t*>(problem.out)[first + j] = static_cast<uint32_t>(r.code);
      else
        static_cast<uint16_t*>(problem.out)[first + j] = static_cast<uint16_t>(r.code);
      if (status) status->raise(r.flags & (kInvalid | kOverflow), first + j);
    }
  }
}

}  // namespace

void run_product(const ProductPlan& plan, const ProductProblem& problem, const kernel::Environment& environment,
                 const ProductSettings& settings) {
  if (problem.rows == 0 || problem.columns == 0) return;
  if (problem.schedule->k == 0) return write_empty(plan, problem, environment, settings.status);
  if (plan.way == ProductPlan::Way::kTensorCore) return run_tensor_core_product(plan, problem, environment, settings);
  const ProductRun run(plan, problem, environment, settings.status != nullptr);
  if (run.way == ProductPlan::Way::kScalar) {
    constexpr size_t kColumns = 16;
    const size_t groups = (problem.columns + kColumns - 1) / kColumns;
    const bool serial = problem.rows * problem.columns * problem.schedule->k < 1000;
    parallel_status(groups, serial ? groups : 1, 1, settings.threads, settings.status,
                    [&](size_t begin, size_t end, FpStatus* found) {
                      StopCheck check(settings.stop);
                      for (size_t g = begin; g < end; ++g)
                        run.scalar(0, problem.rows, g * kColumns, std::min(kColumns, problem.columns - g * kColumns),
                                   found, &check);
                    });
    return;
  }
  Tasks(run, settings).run();
}

}  // namespace softamp::emu
