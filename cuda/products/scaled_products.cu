// ScaledMatMul: both operands are brought into rows of k numbers and quantised; chains of dequantised values go by the
// engine of product_tile.h, all others by the body, one output a thread.
#include "cuda/each_item.h"
#include "cuda/products/scaled_products.h"

#include "cuda/products/product_tile.h"
#include "softamp/engine/scaled_product_node.h"

namespace softamp::cuda {
namespace {

using block::BlockFamily;
using engine::ScaledMatMulNode;
using kernel::ScaledLayout;
using kernel::ScaledOperand;

constexpr unsigned kThreads = 128;
constexpr size_t kScratchLine = 256;
size_t scratch_lines(size_t bytes) { return (bytes + kScratchLine - 1) / kScratchLine * kScratchLine; }

/// What the kernels of one operand know.
struct ScaledSide {
  block::BlockFormat format;
  ScaledLayout layout;
  FloatFormat input;
  uint64_t matrix_rows;
  bool transposed;
  uint32_t site;
  const void* in;
  uint32_t* numbers;  ///< [rows, k], fp32 codes
  uint8_t* codes;
  void* scales;
  uint32_t* magnitudes;  ///< of blocks, and behind them the tensor's
  StepEnvironment environment;

  SOFTAMP_HD uint64_t elements() const { return layout.rows * layout.k; }
  SOFTAMP_HD uint32_t amax() const { return format.family == BlockFamily::kNvfp4 ? magnitudes[layout.blocks()] : 0; }
  /// Its operand, on the device.
  SOFTAMP_HD ScaledOperand operand() const { return {{format, amax()}, layout, codes, scales}; }
};

/// Widens the input, and turns it where it lies the other way.
struct BringNumbers {
  ScaledSide s;
  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    each_item(block, s.elements(), [&](uint64_t i) {
      const uint64_t row = i / s.layout.k, at = i % s.layout.k, r = row % s.matrix_rows;
      const uint64_t from = s.transposed ? (row - r) * s.layout.k + at * s.matrix_rows + r : i;
      const uint64_t code = s.input.storage_bits() <= 16 ? uint64_t{static_cast<const uint16_t*>(s.in)[from]}
                                                         : uint64_t{static_cast<const uint32_t*>(s.in)[from]};
      s.numbers[i] = kernel::widen_operand(s.input, code, s.environment.environment.semantics);
    });
  }
};

/// The greatest of a thread block's values, in values[0].
template <class Block>
SOFTAMP_HD void fold_greatest(Block& block, uint32_t* values) {
  for (unsigned half = block.threads() / 2; half > 0; half /= 2)
    block.each([&](unsigned t) {
      if (t < half && values[t + half] > values[t]) values[t] = values[t + half];
    });
}

/// The greatest magnitude of each block: a thread block for each.
struct BlockMagnitudes {
  ScaledSide s;
  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    uint32_t* const values = block.template shared<uint32_t>(block.threads());
    const ScaledLayout& l = s.layout;
    for (uint64_t b = block.index(); b < l.blocks(); b += block.blocks()) {
      const uint64_t row = b / l.across() * l.tile, at = b % l.across() * l.size;
      const uint64_t height = row + l.tile < l.rows ? l.tile : l.rows - row,
                     width = at + l.size < l.k ? l.size : l.k - at;
      block.each([&](unsigned t) {
        uint32_t greatest = 0;
        for (uint64_t i = t; i < height * width; i += block.threads())
          greatest = kernel::greater_magnitude(s.format, greatest, s.numbers[(row + i / width) * l.k + at + i % width]);
        values[t] = greatest;
      });
      fold_greatest(block, values);
      block.each([&](unsigned t) {
        if (t == 0) s.magnitudes[b] = values[0];
      });
    }
  }
};

/// The greatest of the blocks' magnitudes: one thread block.
struct TensorMagnitude {
  ScaledSide s;
  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    uint32_t* const values = block.template shared<uint32_t>(block.threads());
    block.each([&](unsigned t) {
      uint32_t greatest = 0;
      for (uint64_t i = t; i < s.layout.blocks(); i += block.threads())
        greatest = s.magnitudes[i] > greatest ? s.magnitudes[i] : greatest;
      values[t] = greatest;
    });
    fold_greatest(block, values);
    block.each([&](unsigned t) {
      if (t == 0) s.magnitudes[s.layout.blocks()] = values[0];
    });
  }
};

/// The codes of all elements; the first of a block writes its scale.
struct QuantizeElements {
  ScaledSide s;
  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    each_item(block, s.elements(), [&](uint64_t i) {
      const kernel::Environment e = s.environment.now();
      const uint64_t row = i / s.layout.k, at = i % s.layout.k, b = s.layout.block_of(row, at);
      const block::BlockScale scale = kernel::scale_of_block(
          s.format, s.layout, block::nvfp4_tensor(s.amax(), s.format.nvfp4), b, s.numbers, s.magnitudes[b]);
      const uint32_t word = e.draw(s.format.rounding(), s.site, i);
      s.codes[i] = static_cast<uint8_t>(block::block_code(s.format, scale, s.numbers[i], word).code);
      if (row % s.layout.tile != 0 || at % s.layout.size != 0) return;
      if (s.format.family == BlockFamily::kFp8)
        static_cast<uint32_t*>(s.scales)[b] = scale.bits;
      else if (s.format.family != BlockFamily::kPlain)
        static_cast<uint8_t*>(s.scales)[b] = static_cast<uint8_t>(scale.bits);
    });
  }
};

/// The values of all codes, in the place of the numbers.
struct DequantizeElements {
  ScaledSide s;
  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    each_item(block, s.elements(), [&](uint64_t i) {
      const ScaledOperand o = s.operand();
      const uint32_t whole = block::whole_scale(o.form, o.scale(i / s.layout.k, i % s.layout.k));
      s.numbers[i] = block::dequantised(o.form, whole, s.codes[i]);
    });
  }
};

/// All outputs by the body.
struct ScaledOutputs {
  kernel::ScaledRules rules;
  ScaledSide a, b;
  uint64_t rows, columns, count;
  const engine::MatMulNode::Pair* batches;
  uint32_t* out;
  const uint32_t* start;  ///< C; null: +0
  engine::StartNumbers starts;
  DeviceStatus* status;
  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    each_item(block, count, [&](uint64_t i) {
      const engine::MatMulNode::Pair pair = batches[i / (rows * columns)];
      const Rounded r =
          kernel::scaled_product(rules, a.operand(), pair.a * rows + i % (rows * columns) / columns, b.operand(),
                                 pair.b * columns + i % columns, a.environment.now(), i, first(i));
      out[i] = static_cast<uint32_t>(r.code);
      raise_status(status, r.flags & (kInvalid | kOverflow), i);
    });
  }
  SOFTAMP_HD uint32_t first(uint64_t i) const {
    return start ? starts.of_output(start, i, a.environment.environment.semantics) : 0;
  }
};

class ScaledMatMulKernel final : public OpKernel {
 public:
  ScaledMatMulKernel(const OpContext& c, Device& device) : node_(c), batches_(device, node_.batches) {
    if (!node_.rules.chains()) return;
    ProductParts parts;
    parts.schedules.push_back(Schedule::plain(node_.k, node_.rules.half_block));
    const auto k = static_cast<int64_t>(node_.k);
    ProductPart part;
    part.rows = static_cast<uint32_t>(node_.rows);
    part.columns = static_cast<uint32_t>(node_.columns);
    part.a_rows = part.b_columns = PlaceMap::strided(k);
    part.a_k = part.b_k = PlaceMap::strided(1);
    part.out_rows = PlaceMap::strided(static_cast<int64_t>(node_.columns));
    parts.have_start = node_.start.given;
    part.start_row = static_cast<int64_t>(node_.start.row);
    for (const engine::MatMulNode::Pair& batch : node_.batches) {
      part.a = static_cast<int64_t>(batch.a * node_.rows * node_.k);
      part.b = static_cast<int64_t>(batch.b * node_.columns * node_.k);
      parts.add(part);
      part.out += static_cast<int64_t>(node_.rows * node_.columns);
      part.start += static_cast<int64_t>(node_.start.matrix);
    }
    product_ = TiledProduct(device, node_.rules.chain(), c.settings.environment.semantics, parts);
  }

  size_t scratch_bytes() const override {
    return side_bytes(node_.a) + side_bytes(node_.b) + (node_.rules.chains() ? product_.scratch_bytes() : 0);
  }
  SiteRoundings roundings(uint32_t site) const override { return node_.roundings(site); }

  void enqueue(const DeviceCall& call) const override {
    char* const scratch = static_cast<char*>(call.scratch);
    const ScaledSide a = side(call, node_.a, 0, scratch), b = side(call, node_.b, 1, scratch + side_bytes(node_.a));
    const uint64_t count = uint64_t{node_.rows} * node_.columns * node_.batches.size();
    if (count == 0) return;
    for (const ScaledSide& s : {a, b})
      if (s.elements() != 0) quantize(call.device, s);
    if (node_.rules.chains()) {
      product_.enqueue(call, a.numbers, b.numbers, call.out[0], scratch + side_bytes(node_.a) + side_bytes(node_.b),
                       node_.start.at(call.in, 0));
      return;
    }
    call.device.launch(
        "scaled product", item_grid(count, kThreads),
        ScaledOutputs{node_.rules, a, b, node_.rows, node_.columns, count, batches_.data(),
                      static_cast<uint32_t*>(call.out[0]), node_.start.at(call.in, 0), node_.start, call.status});
  }

 private:
  static size_t side_bytes(const ScaledMatMulNode::Side& s) {
    return scratch_lines(4 * s.elements()) + scratch_lines(s.elements()) + scratch_lines(s.scale_bytes()) +
           scratch_lines(4 * (s.layout.blocks() + 1));
  }

  ScaledSide side(const DeviceCall& call, const ScaledMatMulNode::Side& s, uint32_t input, char* scratch) const {
    StepEnvironment environment = call.environment;
    Semantics& semantics = environment.environment.semantics;
    semantics = kernel::product_semantics(node_.rules.chain(), semantics);
    char* const codes = scratch + scratch_lines(4 * s.elements());
    char* const scales = codes + scratch_lines(s.elements());
    char* const magnitudes = scales + scratch_lines(s.scale_bytes());
    return {s.blocks,
            s.layout,
            s.format,
            s.rows,
            s.transposed,
            input + 1,
            call.in[input],
            reinterpret_cast<uint32_t*>(scratch),
            reinterpret_cast<uint8_t*>(codes),
            scales,
            reinterpret_cast<uint32_t*>(magnitudes),
            environment};
  }

  void quantize(Device& device, const ScaledSide& s) const {
    const uint64_t blocks = s.layout.blocks();
    device.launch("bring", item_grid(s.elements(), kThreads), BringNumbers{s});
    const unsigned threads = s.layout.tile * s.layout.size > 1024 ? 256 : 32;
    const unsigned most = blocks < 65536 ? static_cast<unsigned>(blocks) : 65536;
    device.launch("block magnitudes", {most, threads, shared_of<uint32_t>(threads)}, BlockMagnitudes{s});
    if (s.format.family == BlockFamily::kNvfp4)
      device.launch("tensor magnitude", {1, 256, shared_of<uint32_t>(256)}, TensorMagnitude{s});
    device.launch("quantize", item_grid(s.elements(), kThreads), QuantizeElements{s});
    if (node_.rules.chains()) device.launch("dequantize", item_grid(s.elements(), kThreads), DequantizeElements{s});
  }

  ScaledMatMulNode node_;
  DeviceArray<engine::MatMulNode::Pair> batches_;
  TiledProduct product_;
};

}  // namespace

std::unique_ptr<OpKernel> make_scaled_matmul(const OpContext& context, Device& device) {
  return std::make_unique<ScaledMatMulKernel>(context, device);
}

}  // namespace softamp::cuda
