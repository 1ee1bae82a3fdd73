// Pooling and its gradients: one thread per output, in fp32 arithmetic; outputs with a NaN or an infinity among
// operands or results are computed by kernel/pooling.h.
#include "cuda/division.h"
#include "cuda/fast_round.h"
#include "cuda/tile_words.h"
#include "softamp/engine/pooling_node.h"

namespace softamp::cuda {
namespace {

using engine::PoolingPlan;

/// kernel::WindowAxis in 32 bits.
struct Axis {
  int32_t input, output, kernel, pad, stride;
  Division by_stride;

  Axis() = default;
  explicit Axis(const kernel::WindowAxis& a)
      : input(static_cast<int32_t>(a.input)),
        output(static_cast<int32_t>(a.output)),
        kernel(static_cast<int32_t>(a.kernel)),
        pad(static_cast<int32_t>(a.pad)),
        stride(static_cast<int32_t>(a.stride)),
        by_stride(static_cast<uint64_t>(a.stride)) {}

  struct Places {
    int32_t begin, end;
    SOFTAMP_INLINE int32_t size() const { return end - begin; }
  };
  /// kernel::window and kernel::windows_of.
  SOFTAMP_INLINE Places window(int32_t o) const {
    const int32_t first = o * stride - pad, last = first + kernel;
    return {first > 0 ? first : 0, last < input ? last : input};
  }
  SOFTAMP_INLINE Places windows_of(int32_t i) const {
    const int32_t beyond = i + pad - kernel;
    const int32_t first = beyond < 0 ? 0 : quotient(beyond) + 1, last = quotient(i + pad) + 1;
    return {first, last < output ? last : output};
  }
  SOFTAMP_INLINE int32_t quotient(int32_t n) const {
    return static_cast<int32_t>(by_stride.quotient(static_cast<uint32_t>(n)));
  }
};

struct PoolOutputs {
  kernel::PoolingGeometry geometry;
  FloatFormat format;
  bool maximum, gradient;
  bool fast;  ///< false: the body computes everything
  PoolingPlan plan;
  Axis h, w;
  FastRound round;
  const void *in, *arriving;  ///< the latter: of the gradients
  void* out;
  uint64_t size;
  Division channels, width, height;  ///< of the output
  StepEnvironment environment;
  DeviceStatus* status;

  struct Place {
    int32_t n, y, x, c;
  };

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    uint32_t* const words = fast && sums() && round.draws ? block.template shared<uint32_t>(kTileWords) : nullptr;
    for (uint64_t base = uint64_t{block.index()} * kTile; base < size; base += uint64_t{block.blocks()} * kTile) {
      if (words)
        block.each([&](unsigned t) {
          draw_words(words, environment.environment, *environment.step, 0, round.random_bits, base, size, t);
        });
      block.each([&](unsigned t) {
        FpStatus seen;
        for (unsigned n = 0; n < kTileRounds; ++n) {
          const unsigned in_tile = n * kTileThreads + t;
          const uint64_t i = base + in_tile;
          if (i >= size) break;
          bool rare = !fast;
          uint64_t code = fast ? quick(i, words ? words[word_place(in_tile)] : 0, rare) : 0;
          if (rare) {
            const Rounded r = by_body(i);
            code = r.code;
            if (r.flags) seen.raise(r.flags, i);
          }
          store_element(out, static_cast<unsigned>(format.storage_bits()) / 8, i, code);
        }
        merge_status(status, seen);
      });
    }
  }

  SOFTAMP_INLINE bool sums() const { return !maximum || gradient; }

  SOFTAMP_HD __attribute__((noinline)) Rounded by_body(uint64_t i) const {
    const kernel::Environment e = environment.now();
    const Semantics& s = e.semantics;
    uint64_t rest = i;
    const auto c = static_cast<int64_t>(channels.split(rest)), x = static_cast<int64_t>(width.split(rest)),
               y = static_cast<int64_t>(height.split(rest)), n = static_cast<int64_t>(rest);
    if (!sums()) return kernel::max_pool(geometry, format, s, in, n, y, x, c);
    kernel::Sum sum;
    if (maximum)
      sum = kernel::max_pool_gradient(geometry, format, s, in, arriving, n, y, x, c);
    else if (gradient)
      sum = kernel::average_pool_gradient(geometry, format, s, arriving, n, y, x, c);
    else
      sum = kernel::average_pool(geometry, format, s, in, n, y, x, c);
    return kernel::pooling_result(format, e, sum, i);
  }

  SOFTAMP_PRIMITIVE uint32_t quick(uint64_t i, uint32_t word, bool& rare) const {
    auto rest = static_cast<uint32_t>(i);
    Place p;
    p.c = static_cast<int32_t>(channels.split(rest));
    p.x = static_cast<int32_t>(width.split(rest));
    p.y = static_cast<int32_t>(height.split(rest));
    p.n = static_cast<int32_t>(rest);
    if (!sums()) return greatest(p, rare);
    const float sum = maximum ? maximum_gradient(p, rare) : gradient ? average_gradient(p, rare) : average(p, rare);
    return round(sum, word, rare);
  }

  // Places of a channel's elements.
  SOFTAMP_INLINE uint32_t input_at(const Place& p, int32_t y, int32_t x) const {
    return static_cast<uint32_t>(((p.n * h.input + y) * w.input + x) * static_cast<int32_t>(geometry.channels) + p.c);
  }
  SOFTAMP_INLINE uint32_t output_at(const Place& p, int32_t y, int32_t x) const {
    return static_cast<uint32_t>(((p.n * h.output + y) * w.output + x) * static_cast<int32_t>(geometry.channels) + p.c);
  }

  SOFTAMP_INLINE bool is_wide() const { return plan.type == PoolingPlan::Type::kFp32; }
  SOFTAMP_INLINE uint32_t sign() const { return is_wide() ? 0x80000000u : 0x8000u; }
  SOFTAMP_INLINE uint32_t flushed(uint32_t code, uint32_t below, uint32_t kept) const {
    const uint32_t magnitude = code & (sign() - 1);
    return magnitude != 0 && magnitude < below ? code & kept & sign() : code;
  }
  /// An operand's code; rare where it is not finite.
  SOFTAMP_PRIMITIVE uint32_t operand(const void* codes, uint32_t at, bool& rare) const {
    const uint32_t code = is_wide() ? static_cast<const uint32_t*>(codes)[at] : static_cast<const uint16_t*>(codes)[at];
    const uint32_t infinity = is_wide() ? 0x7F800000u : plan.type == PoolingPlan::Type::kFp16 ? 0x7C00u : 0x7F80u;
    rare |= (code & infinity) == infinity;
    return flushed(code, plan.operand_flush_below, plan.operand_flush_kept);
  }
  SOFTAMP_PRIMITIVE float value(uint32_t code) const {
    if (is_wide()) return from_bits(code);
    return plan.type == PoolingPlan::Type::kFp16 ? float_of_half(code) : float_of_bf16(code);
  }
  /// Ascending with the value of a finite code, -0 below +0; and back.
  SOFTAMP_INLINE int32_t key(uint32_t code) const {
    const uint32_t magnitude = code & (sign() - 1);
    return static_cast<int32_t>(code & sign() ? ~magnitude : magnitude);
  }
  SOFTAMP_INLINE uint32_t code_of(int32_t k) const {
    return k < 0 ? (~static_cast<uint32_t>(k) & (sign() - 1)) | sign() : static_cast<uint32_t>(k);
  }
  static SOFTAMP_PRIMITIVE void add(float& sum, float x, bool& rare) {
    sum = add_rn(sum, x);
    rare |= (bits_of(sum) & 0x7F800000u) == 0x7F800000u;
  }
  static SOFTAMP_PRIMITIVE float count_of(int32_t n) {
    return math::Float::from_signed(static_cast<uint32_t>(n)).value;
  }

  /// The greatest key of a window, and where it comes first.
  struct First {
    int32_t key;
    uint32_t at;
  };
  SOFTAMP_PRIMITIVE First first_greatest(const Place& p, int32_t oy, int32_t ox, bool& rare) const {
    const Axis::Places ys = h.window(oy), xs = w.window(ox);
    First best{INT32_MIN, 0};
    for (int32_t y = ys.begin; y < ys.end; ++y)
      for (int32_t x = xs.begin; x < xs.end; ++x) {
        const uint32_t at = input_at(p, y, x);
        const int32_t k = key(operand(in, at, rare));
        if (k > best.key) best = {k, at};
      }
    return best;
  }

  SOFTAMP_PRIMITIVE uint32_t greatest(const Place& p, bool& rare) const {
    return flushed(code_of(first_greatest(p, p.y, p.x, rare).key), plan.result_flush_below, plan.result_flush_kept);
  }
  SOFTAMP_PRIMITIVE float maximum_gradient(const Place& p, bool& rare) const {
    const Axis::Places ys = h.windows_of(p.y), xs = w.windows_of(p.x);
    const uint32_t here = input_at(p, p.y, p.x);
    float sum = 0;
    for (int32_t y = ys.begin; y < ys.end; ++y)
      for (int32_t x = xs.begin; x < xs.end; ++x)
        if (first_greatest(p, y, x, rare).at == here)
          add(sum, value(operand(arriving, output_at(p, y, x), rare)), rare);
    return sum;
  }
  SOFTAMP_PRIMITIVE float average(const Place& p, bool& rare) const {
    const Axis::Places ys = h.window(p.y), xs = w.window(p.x);
    float sum = from_bits(0x80000000u);  // -0: what x is added to gives x, -0 too
    for (int32_t y = ys.begin; y < ys.end; ++y)
      for (int32_t x = xs.begin; x < xs.end; ++x) add(sum, value(operand(in, input_at(p, y, x), rare)), rare);
    return div_rn(sum, count_of(ys.size() * xs.size()));
  }
  SOFTAMP_PRIMITIVE float average_gradient(const Place& p, bool& rare) const {
    const Axis::Places ys = h.windows_of(p.y), xs = w.windows_of(p.x);
    float sum = 0;
    for (int32_t y = ys.begin; y < ys.end; ++y)
      for (int32_t x = xs.begin; x < xs.end; ++x) {
        const float count = count_of(h.window(y).size() * w.window(x).size());
        add(sum, div_rn(value(operand(arriving, output_at(p, y, x), rare)), count), rare);
      }
    return sum;
  }
};

class PoolingKernel final : public OpKernel {
 public:
  PoolingKernel(const OpContext& c, Device&) : n_(c), shape_(c.node.outputs[0].shape) {
    const kernel::PoolingGeometry& g = n_.geometry;
    const int64_t inputs = g.batch * g.h.input * g.w.input * g.channels;
    fast_ = c.settings.environment.semantics.usual();
    // A window may begin before the input and end after it.
    for (const int64_t extent : {inputs, g.h.input + g.h.kernel + g.h.stride, g.w.input + g.w.kernel + g.w.stride,
                                 g.h.kernel * g.w.kernel, g.batch * g.h.output * g.w.output * g.channels})
      fast_ = fast_ && extent >> 30 == 0;
    // Sums do not report inexact and underflow, which an fp32 chain nearly always raises.
    round_ = FastRound::of(n_.format, c.settings.environment.semantics, false, true);
    sums_ = !n_.maximum || n_.gradient;
    fast_ = fast_ && (!sums_ || round_.usable);
  }
  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }

  void enqueue(const DeviceCall& call) const override {
    if (n_.outputs == 0) return;
    const auto extent = [&](int axis) { return Division(static_cast<uint64_t>(shape_[axis])); };
    const void* const arriving = !n_.gradient ? nullptr : n_.maximum ? call.in[2] : call.in[0];
    const kernel::PoolingGeometry& g = n_.geometry;
    Grid grid = loop_grid(call.device, (n_.outputs + kTileRounds - 1) / kTileRounds, kTileThreads);
    grid.shared = shared_of<uint32_t>(fast_ && sums_ && round_.draws ? kTileWords : 0);
    call.device.launch(
        "pooling", grid,
        PoolOutputs{g, n_.format, n_.maximum, n_.gradient, fast_, n_.plan, Axis(g.h), Axis(g.w), round_, call.in[0],
                    arriving, call.out[0], n_.outputs, extent(3), extent(2), extent(1), call.environment, call.status});
  }

 private:
  engine::PoolingNode n_;
  Shape shape_;
  FastRound round_;
  bool fast_ = false, sums_ = false;
};

}  // namespace

std::span<const KernelEntry> pooling_kernels() {
  static constexpr KernelFactory pooling = make_kernel<PoolingKernel>;
  static constexpr KernelEntry entries[] = {
      {"AvgPool", pooling}, {"AvgPoolGrad", pooling}, {"MaxPool", pooling}, {"MaxPoolGrad", pooling}};
  return entries;
}

}  // namespace softamp::cuda
