// ScaledMatMul: both operands are brought into rows of k numbers and quantised; chains of dequantised values go by the
// product engine, blocks by vectors where their sums are exact in them, Hopper's groups by vectors, the rest by the
// body.
#include <algorithm>
#include <cstring>

#include "emu/bulk_options.h"
#include "emu/op_kernel.h"
#include "emu/parallel.h"
#include "emu/products/product.h"
#include "emu/products/scaled/scaled_blocks.h"
#include "emu/products/scaled/scaled_groups.h"
#include "emu/products/scaled/scaled_products.h"
#include "emu/stop_check.h"
#include "softamp/engine/scaled_product_node.h"
#include "softamp/tensor/block_bulk.h"

namespace softamp::emu {
namespace {

using engine::ScaledMatMulNode;
using kernel::ScaledOperand;

constexpr size_t kScratchLine = 64;
size_t lines(size_t bytes) { return (bytes + kScratchLine - 1) / kScratchLine * kScratchLine; }

class ScaledMatMulKernel final : public OpKernel {
 public:
  explicit ScaledMatMulKernel(const OpContext& c)
      : settings_(c.settings),
        node_(c),
        plan_(node_.rules.chain(), c.settings.environment.semantics, c.settings.isa, c.settings.reference),
        schedule_(engine::Schedule::plain(node_.k, node_.rules.half_block)) {}

  size_t scratch_bytes() const override { return side_bytes(node_.a) + side_bytes(node_.b); }
  SiteRoundings roundings(uint32_t site) const override { return node_.roundings(site); }

  void run(const OpCall& call) const override {
    char* const scratch = static_cast<char*>(call.scratch);
    const Operand a = quantised(call, node_.a, 0, scratch),
                  b = quantised(call, node_.b, 1, scratch + side_bytes(node_.a));
    if (node_.rows * node_.columns * node_.batches.size() == 0) return;
    if (node_.rules.chains() && !settings_.reference)
      chains(call, a, b);
    else if (node_.k != 0 && !settings_.reference && blocks_serve(node_.rules, settings_.environment.semantics))
      blocks(call, a, b);
    else if (node_.k != 0 && !settings_.reference &&
             groups_serve(node_.rules, settings_.environment.semantics, settings_.isa))
      groups(call, a, b);
    else
      bodies(call, a, b);
  }

 private:
  static constexpr size_t kChunk = 128;  ///< rows that a panel of columns serves

  struct Operand {
    float* numbers;  ///< [rows, k]
    ScaledOperand view;
  };

  static size_t side_bytes(const ScaledMatMulNode::Side& s) {
    return lines(4 * s.elements()) + lines(s.elements()) + lines(s.scale_bytes());
  }
  int threads() const { return settings_.reference ? 1 : settings_.threads; }

  /// The operand's numbers, widened, row by row.
  void bring(const ScaledMatMulNode::Side& s, const void* in, float* to) const {
    const size_t k = s.layout.k, matrix = s.rows * k, width = static_cast<size_t>(s.format.storage_bits()) / 8;
    if (settings_.reference) {
      for (size_t i = 0; i < s.elements(); ++i) {
        uint32_t code = 0;
        std::memcpy(&code, static_cast<const char*>(in) + s.source(i) * width, width);
        to[i] = __builtin_bit_cast(float, kernel::widen_operand(s.format, code, plan_.semantics));
      }
      return;
    }
    // Strips of rows of memory: widened, then turned where they lie the other way.
    constexpr size_t kStrip = 16;
    const size_t lying = s.transposed ? k : s.rows, length = s.transposed ? s.rows : k;
    auto body = [&](size_t begin, size_t end, size_t) {
      std::vector<float> strip(s.transposed ? kStrip * length : 0);
      for (size_t i = begin; i < end; ++i) {
        const size_t strips = (lying + kStrip - 1) / kStrip, m = i / strips, first = i % strips * kStrip;
        const size_t count = std::min(kStrip, lying - first);
        const char* const from = static_cast<const char*>(in) + (m * matrix + first * length) * width;
        float* const straight = s.transposed ? strip.data() : to + m * matrix + first * length;
        widen_operands(plan_, s.format, from, count * length, straight);
        if (s.transposed) transpose(plan_, strip.data(), count, length, length, to + m * matrix + first, k);
      }
    };
    parallel_ranges(s.matrices * ((lying + kStrip - 1) / kStrip),
                    std::max<size_t>(1, (1 << 14) / (kStrip * length + 1)), 1, threads(), body);
  }

  Operand quantised(const OpCall& call, const ScaledMatMulNode::Side& s, int input, char* scratch) const {
    Operand o{reinterpret_cast<float*>(scratch), {{s.blocks, 0}, s.layout, nullptr, nullptr}};
    uint8_t* const codes = reinterpret_cast<uint8_t*>(scratch + lines(4 * s.elements()));
    uint8_t* const scales = codes + lines(s.elements());
    o.view.codes = codes;
    o.view.scales = scales;
    if (s.elements() == 0) return o;
    bring(s, call.in[input], o.numbers);
    const auto site = static_cast<uint32_t>(input) + 1;
    const kernel::Environment& e = call.environment;
    if (!settings_.reference && bulk_draws(s.blocks.rounding(), e, site)) {
      const bulk::BulkOptions options = bulk_options(e, site, settings_.threads, settings_.isa);
      o.view.form.amax = bulk::quantize({o.numbers, s.elements()}, {s.layout.rows, s.layout.k, 1}, s.blocks,
                                        {codes, s.elements()}, {scales, s.scale_bytes()}, options);
      return o;
    }
    const uint32_t* const x = reinterpret_cast<const uint32_t*>(o.numbers);
    if (s.blocks.family == block::BlockFamily::kNvfp4)
      for (size_t i = 0; i < s.elements(); ++i)
        o.view.form.amax = kernel::greater_magnitude(s.blocks, o.view.form.amax, x[i]);
    const block::Nvfp4Tensor tensor = block::nvfp4_tensor(o.view.form.amax, s.blocks.nvfp4);
    auto body = [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i)
        kernel::quantize_block(s.blocks, s.layout, tensor, i, x, codes, scales, e, site);
    };
    const size_t blocks = s.layout.blocks();
    parallel_ranges(blocks, settings_.reference ? blocks : std::max<size_t>(1, blocks * 1024 / s.elements()), 1,
                    threads(), body);
    return o;
  }

  /// The values of all codes, in the place of the numbers.
  void dequantise(const Operand& o) const {
    const ScaledOperand& v = o.view;
    float table[256];
    for (uint32_t code = 0; code < 256; ++code)
      table[code] = __builtin_bit_cast(float, block::dequantised(v.form, 0x3F800000u, code));
    auto body = [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) {
        const size_t row = i / v.layout.across() * v.layout.tile, at = i % v.layout.across() * v.layout.size;
        const uint32_t whole = block::whole_scale(v.form, v.scale(row, at));
        // One multiplication of fp32, but where it makes a NaN, whose sign the processor would choose.
        if (whole == 0 || whole >= 0x7F800000u) {
          kernel::each_of_block(v.layout, i, [&](uint64_t place) {
            o.numbers[place] = __builtin_bit_cast(float, block::dequantised(v.form, whole, v.codes[place]));
          });
          continue;
        }
        const float scale = __builtin_bit_cast(float, whole);
        kernel::each_of_block(v.layout, i, [&](uint64_t place) { o.numbers[place] = table[v.codes[place]] * scale; });
      }
    };
    const size_t blocks = v.layout.blocks();
    parallel_ranges(blocks, std::max<size_t>(1, blocks * 1024 / (v.layout.rows * v.layout.k + 1)), 1, threads(), body);
  }

  void chains(const OpCall& call, const Operand& a, const Operand& b) const {
    if (node_.k != 0) {
      dequantise(a);
      dequantise(b);
    }
    const size_t outputs = node_.rows * node_.columns, batches = node_.batches.size();
    const bool shared = batches > 1 && outputs * node_.k < (size_t{1} << 22);
    const size_t grain =
        shared ? std::max<size_t>(1, (size_t{1} << 20) / std::max<size_t>(outputs * node_.k, 1)) : batches;
    parallel_status(batches, grain, 1, threads(), call.status, [&](size_t begin, size_t end, FpStatus* status) {
      for (size_t i = begin; i < end; ++i) {
        const MatMulOperands rows(plan_, a.numbers + node_.batches[i].a * node_.rows * node_.k, false,
                                  b.numbers + node_.batches[i].b * node_.columns * node_.k, true, node_.rows,
                                  node_.columns, node_.k, i * outputs);
        run_product(
            plan_,
            {node_.rows, node_.columns, &schedule_, &rows, call.out[0], node_.start.at(call.in, i), node_.start.row},
            call.environment, {shared ? 1 : threads(), status, call.stop});
      }
    });
  }

  /// Calls task(batch, first row, rows, first column, columns, status, check) for the parts of all matrices: kChunk
  /// rows of a panel of `across` columns.
  template <class Task>
  void tasks(const OpCall& call, size_t across, size_t cost, const Task& task) const {
    const size_t wide = (node_.columns + across - 1) / across, high = (node_.rows + kChunk - 1) / kChunk;
    const size_t grain = std::max<size_t>(1, 800000 / (kChunk * across * node_.k * cost));
    parallel_status(wide * high * node_.batches.size(), grain, 1, threads(), call.status,
                    [&](size_t begin, size_t end, FpStatus* status) {
                      StopCheck check(call.stop);
                      for (size_t i = begin; i < end; ++i) {
                        const size_t within = i % (wide * high), row = within % high * kChunk;
                        const size_t column = within / high * across;
                        task(i / (wide * high), row, std::min(kChunk, node_.rows - row), column,
                             std::min(across, node_.columns - column), status, check);
                      }
                    });
  }

  /// By blocks, in vectors. What is no number, or cannot be summed so, the body computes.
  void blocks(const OpCall& call, const Operand& a, const Operand& b) const {
    const ScaledValues values_a(a.view, a.numbers, threads()), values_b(b.view, b.numbers, threads());
    const ScaledBlocks by_blocks(values_a, values_b, settings_.isa);
    tasks(call, kScaledColumns, 4,
          [&](size_t batch, size_t first, size_t rows, size_t column, size_t columns, FpStatus* status,
              StopCheck& check) {
            ScaledBlocks::Panel panel;
            by_blocks.prepare(node_.batches[batch].b * node_.columns + column, columns, panel);
            for (size_t row = first; row < first + rows; row += kScaledRows) {
              const size_t count = std::min(kScaledRows, first + rows - row);
              float sums[kScaledRows * kScaledColumns] = {};
              begin(call, batch, row, count, column, columns, sums, kScaledColumns);
              const bool done = by_blocks.sums(node_.batches[batch].a * node_.rows + row, count, panel, sums);
              end(call, a, b, batch, row, count, column, columns, sums, kScaledColumns, done, status);
              check.after(count * columns * node_.k / 4);
            }
          });
  }

  /// In Hopper's groups.
  void groups(const OpCall& call, const Operand& a, const Operand& b) const {
    const ScaledGroups by_groups(node_.rules, a.view, b.view, settings_.isa, threads());
    constexpr size_t kC = kTensorCoreColumns;
    tasks(
        call, kC, 8,
        [&](size_t batch, size_t row, size_t rows, size_t column, size_t columns, FpStatus* status, StopCheck& check) {
          ScaledGroups::Panel panel;
          std::vector<float> sums(rows * kC);
          begin(call, batch, row, rows, column, columns, sums.data(), kC);
          const size_t row_a = node_.batches[batch].a * node_.rows + row,
                       row_b = node_.batches[batch].b * node_.columns + column;
          by_groups.sums(row_a, rows, row_b, columns, panel, sums.data());
          take_last_factors(a.view, row_a, rows, b.view, row_b, columns, sums.data(), kC);
          end(call, a, b, batch, row, rows, column, columns, sums.data(), kC, true, status);
          check.after(rows * columns * node_.k);
        });
  }

  /// What sums [rows][stride] begin with.
  void begin(const OpCall& call, size_t batch, size_t row, size_t rows, size_t column, size_t columns, float* sums,
             size_t stride) const {
    std::fill_n(sums, rows * stride, 0.0F);
    if (!node_.start.given) return;
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c)
        sums[r * stride + c] = __builtin_bit_cast(float, start(call, output(batch, row + r, column + c)));
  }
  size_t output(size_t batch, size_t row, size_t column) const {
    return (batch * node_.rows + row) * node_.columns + column;
  }

  /// Stores them; those that are not finite, or not `done`, the body computes.
  void end(const OpCall& call, const Operand& a, const Operand& b, size_t batch, size_t row, size_t rows, size_t column,
           size_t columns, const float* sums, size_t stride, bool done, FpStatus* status) const {
    uint32_t* const out = static_cast<uint32_t*>(call.out[0]);
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c) {
        const size_t place = output(batch, row + r, column + c);
        const uint32_t code = __builtin_bit_cast(uint32_t, sums[r * stride + c]), field = code >> 23 & 0xFF;
        if (!done || field == 0xFF)
          one(call, a, b, place, out, status);
        else if (field != 0)
          out[place] = code;
        else
          out[place] =
              static_cast<uint32_t>(kernel::scaled_result(node_.rules, call.environment, {code, 0}, place).code);
      }
  }

  /// What the sum of an output begins with.
  uint32_t start(const OpCall& call, size_t output) const {
    const engine::StartNumbers& c = node_.start;
    return c.given ? c.of_output(c.at(call.in, 0), output, plan_.semantics) : 0;
  }

  void one(const OpCall& call, const Operand& a, const Operand& b, size_t output, uint32_t* out,
           FpStatus* status) const {
    const size_t outputs = node_.rows * node_.columns;
    const engine::MatMulNode::Pair pair = node_.batches[output / outputs];
    const Rounded r = kernel::scaled_product(
        node_.rules, a.view, pair.a * node_.rows + output % outputs / node_.columns, b.view,
        pair.b * node_.columns + output % node_.columns, call.environment, output, start(call, output));
    out[output] = static_cast<uint32_t>(r.code);
    if (status) status->raise(r.flags & (kInvalid | kOverflow), output);
  }

  void bodies(const OpCall& call, const Operand& a, const Operand& b) const {
    const size_t outputs = node_.rows * node_.columns, count = outputs * node_.batches.size();
    uint32_t* const out = static_cast<uint32_t*>(call.out[0]);
    const size_t grain = settings_.reference ? count : std::max<size_t>(1, 4096 / (node_.k + 1));
    parallel_status(count, grain, 1, threads(), call.status, [&](size_t begin, size_t end, FpStatus* status) {
      StopCheck check(call.stop);
      for (size_t i = begin; i < end; ++i) {
        one(call, a, b, i, out, status);
        check.after(node_.k * StopCheck::kBody);
      }
    });
  }

  const EngineSettings& settings_;
  ScaledMatMulNode node_;
  ProductPlan plan_;
  engine::Schedule schedule_;
};

}  // namespace

std::unique_ptr<OpKernel> make_scaled_matmul(const OpContext& context) {
  return std::make_unique<ScaledMatMulKernel>(context);
}

}  // namespace softamp::emu
