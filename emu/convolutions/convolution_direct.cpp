#include "emu/convolutions/convolution_direct.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "emu/products/product_tiles.h"
#include "emu/stop_check.h"

namespace softamp::emu {
namespace {

struct Buffers {
  AlignedFloats b, state;
  std::vector<int64_t> offsets;
};
Buffers& buffers() {
  thread_local Buffers own;
  return own;
}

constexpr size_t kProductsPerNanosecond = 16;

size_t ceil_div(size_t n, size_t d) { return (n + d - 1) / d; }

/// Direct tiles that support the plan: float partials without a rounding of batch partials, or halves.
std::span<const DirectTile> tiles_for(const ProductPlan& plan, [[maybe_unused]] size_t columns) {
  using Way = ProductPlan::Way;
  const bool rounds_partials = plan.rules.round_partials && plan.rules.partials == kernel::PartialsType::kFloat;
  if (plan.way != Way::kNearest && plan.way != Way::kCarry && (plan.way != Way::kFloat || rounds_partials)) return {};
  [[maybe_unused]] const KernelTable* const table = plan.kernels->table;
#if defined(SOFTAMP_HAS_AVX2)
  if (table == &kAvx2Kernels) return direct_tiles_avx2(columns);
#endif
#if defined(SOFTAMP_HAS_AVX512FP16)
  if (table == &kAvx512Fp16Kernels) return direct_tiles_avx512(*plan.kernels, columns, plan.way == Way::kCarry);
#endif
#if defined(SOFTAMP_HAS_AVX512)
  if (table == &kAvx512Kernels) return direct_tiles_avx512(*plan.kernels, columns, plan.way == Way::kCarry);
#endif
  return {};
}

/// The tile that covers `rows` rows with the least padding; among equal ones the largest.
template <class Serves>
const DirectTile* best_tile(const ProductPlan& plan, size_t rows, size_t columns, const Serves& slots_of) {
  const DirectTile* best = nullptr;
  if (rows == 0 || columns == 0) return best;
  size_t least = 0;
  for (const DirectTile& t : tiles_for(plan, columns)) {
    const size_t slots = slots_of(t);
    if (slots == 0 || (best && (slots > least || (slots == least && t.kernels.mr <= best->kernels.mr)))) continue;
    best = &t;
    least = slots;
  }
  return best;
}

/// Continues a tile by its segments; as DirectTile::multiply.
bool multiply(const DirectTile& direct, const ProductRun& run, const DirectOperands& operands, const ProductTile& tile,
              float* acc) {
  if (run.way == ProductPlan::Way::kCarry) return direct.carry(run.plan, run.environment, operands, tile, acc);
  return direct.multiply(operands, tile.segments, tile.segment_count, acc);
}

/// As ProductRun::multiply ends an independent partial.
void close_partial(const ProductRun::TileState& state, size_t count) {
  if (*state.suspicion & ProductRun::kAnyPartial) {
    for (size_t i = 0; i < count; ++i) state.total[i] += state.acc[i];
  } else {
    std::memcpy(state.total, state.acc, 4 * count);
    *state.suspicion |= ProductRun::kAnyPartial;
  }
  std::memset(state.acc, 0, 4 * count);
}

}  // namespace

ProductPlan with_tile(ProductPlan plan, const DirectTile& tile) {
  plan.kernels = &tile.kernels;
  plan.carries_result = plan.carries_result && tile.kernels.result;
  return plan;
}

bool direct_tiles_serve(const ProductPlan& plan, const kernel::Environment& environment) {
  return plan.way != ProductPlan::Way::kCarry || !environment.table[0].words;
}

const DirectTile* direct_tile(const ProductPlan& plan, size_t width, size_t columns) {
  const DirectTile* const best = best_tile(plan, width, columns, [&](const DirectTile& t) {
    if (t.parts == 2) return width == t.rows ? width : size_t{0};
    const size_t slots = ceil_div(width, t.rows) * t.rows;
    return 2 * width > slots ? slots : size_t{0};
  });
  return best;
}

const DirectTile* direct_tile_of_rows(const ProductPlan& plan, size_t rows, size_t columns) {
  return best_tile(plan, rows, columns,
                   [&](const DirectTile& t) { return ceil_div(rows, t.kernels.mr) * t.kernels.mr; });
}

void run_direct(const DirectTile& direct, const ProductPlan& of, const ProductProblem& problem,
                const WindowOperands::Part& operands, const kernel::Environment& environment,
                const ProductSettings& settings) {
  const ProductPlan plan = with_tile(of, direct);
  const ProductRun run(plan, problem, environment, settings.status != nullptr);
  const size_t k = problem.schedule->k, nr = direct.kernels.nr, panels = ceil_div(problem.columns, nr);
  const size_t size = padded_tile(direct.kernels), width = operands.width(), runs = problem.rows / width;
  float* const b = buffers().b.reserve(panels * k * nr);
  float* const acc = buffers().state.reserve(size);
  std::vector<int64_t>& rows_of_b = buffers().offsets;
  rows_of_b.resize(std::max(rows_of_b.size(), k));
  for (size_t i = 0; i < k; ++i) rows_of_b[i] = static_cast<int64_t>(i * nr);
  for (size_t j = 0; j < panels; ++j) {
    const size_t columns = std::min(nr, problem.columns - j * nr);
    if (columns < nr) std::memset(b + j * k * nr, 0, 4 * k * nr);
    operands.b_rows(0, k, j * nr, columns, b + j * k * nr, nr);
  }
  StopCheck check(settings.stop);
  for (size_t r = 0; r < runs; r += direct.parts)
    for (size_t x = 0; x < width; x += direct.rows) {
      const size_t row0 = r * width + x;
      const bool second = direct.parts == 2 && r + 1 < runs;
      const size_t rows = second ? 2 * direct.rows : std::min(direct.rows, width - x);
      DirectOperands from{{operands.place(row0), operands.place(second ? row0 + width : row0)},
                          operands.offsets(),
                          b,
                          rows_of_b.data()};
      uint64_t outputs[kMostRows] = {}, corner[kMostRows];
      operands.row_outputs(row0, rows, outputs);
      for (size_t j = 0; j < panels; ++j) {
        for (size_t i = 0; i < kMostRows; ++i) corner[i] = outputs[i] + j * nr;
        uint8_t suspicion = 0;
        const ProductTile tile{nullptr,
                               nullptr,
                               nullptr,
                               nullptr,
                               run.cut.segments.data(),
                               run.cut.segments.size(),
                               corner,
                               rows,
                               std::min(nr, problem.columns - j * nr)};
        const ProductRun::TileState state{acc, acc, &suspicion};
        std::memset(acc, 0, 4 * size);
        from.b = b + j * k * nr;
        if (!multiply(direct, run, from, tile, acc)) {
          // The engine computes these rows again, all their columns.
          const WindowOperands::Part again = operands.from(row0);
          run_product(of, {rows, problem.columns, problem.schedule, &again, problem.out}, environment, settings);
          break;
        }
        run.finish(tile, state, row0, j * nr, settings.status);
      }
      check.after(size * panels * k / kProductsPerNanosecond);
    }
}

void run_direct(const DirectTile& direct, const ProductPlan& of, std::span<const TapProblem> problems,
                const kernel::Environment& environment, const ProductSettings& settings) {
  const ProductPlan plan = with_tile(of, direct);
  const size_t mr = direct.kernels.mr, nr = direct.kernels.nr, size = padded_tile(direct.kernels);
  std::vector<std::unique_ptr<const ProductRun>> runs;
  size_t tiles = 0, chunks = 0, longest = 0;
  for (const TapProblem& p : problems) {
    runs.push_back(std::make_unique<const ProductRun>(plan, p.problem, environment, settings.status != nullptr));
    tiles += ceil_div(p.problem.rows, mr) * ceil_div(p.problem.columns, nr);
    chunks = std::max(chunks, runs.back()->cut.chunks.size());
    longest = std::max(longest, runs.back()->cut.longest);
  }
  float* const states = buffers().state.reserve(2 * tiles * size);
  std::memset(states, 0, 2 * tiles * size * 4);
  std::vector<uint8_t> suspicions(tiles);
  std::vector<bool> refused(problems.size());  ///< overflowed: the engine computes them from the start
  std::vector<int64_t>& offsets = buffers().offsets;
  offsets.resize(std::max(offsets.size(), 2 * longest));
  int64_t* const b_offsets = offsets.data() + longest;
  StopCheck check(settings.stop);

  for (size_t c = 0; c < chunks; ++c) {
    size_t at = 0;
    const TapOperands* of_offsets = nullptr;
    for (size_t p = 0; p < problems.size(); ++p) {
      const TapOperands& operands = *problems[p].operands;
      const ProductProblem& problem = problems[p].problem;
      const ProductRun& run = *runs[p];
      const size_t rows = ceil_div(problem.rows, mr), columns = ceil_div(problem.columns, nr);
      if (c >= run.cut.chunks.size()) {
        at += rows * columns;
        continue;
      }
      const Chunk& chunk = run.cut.chunks[c];
      if (!of_offsets || !operands.same_offsets(*of_offsets))
        operands.offsets(chunk.k0, chunk.k1, offsets.data(), b_offsets);
      of_offsets = &operands;
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j, ++at) {
          const size_t row0 = i * mr, height = std::min(mr, problem.rows - row0);
          uint64_t corner[kMostRows] = {};
          for (size_t r = 0; r < height; ++r) corner[r] = operands.row_output(row0 + r) + j * nr;
          const ProductTile tile{nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 run.cut.segments.data() + chunk.first_segment,
                                 chunk.segment_count,
                                 corner,
                                 height,
                                 std::min(nr, problem.columns - j * nr)};
          float* const acc = states + at * size;
          const ProductRun::TileState state{acc, states + (tiles + at) * size, &suspicions[at]};
          const DirectOperands from{{operands.input() + row0, operands.input() + row0 + direct.rows},
                                    offsets.data(),
                                    operands.gradient() + j * nr,
                                    b_offsets};
          if (refused[p]) continue;
          if (!multiply(direct, run, from, tile, acc)) {
            refused[p] = true;
            continue;
          }
          if (chunk.closes_partial) close_partial(state, size);
          if (c + 1 == run.cut.chunks.size()) run.finish(tile, state, row0, j * nr, settings.status);
        }
      check.after(size * rows * columns * (chunk.k1 - chunk.k0) / kProductsPerNanosecond);
    }
  }
  for (size_t p = 0; p < problems.size(); ++p)
    if (refused[p]) run_product(of, problems[p].problem, environment, settings);
}

}  // namespace softamp::emu
