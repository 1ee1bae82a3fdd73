// Softmax, log-softmax, their gradients and the cross-entropies, by passes over all rows: the greatest elements, the
// sums (tree_sum.h), the outputs. Values shared by a row's outputs are kept in scratch memory.
#include "cuda/reductions/tree_sum.h"
#include "cuda/round_loop.h"
#include "softamp/engine/softmax_node.h"
#include "softamp/kernel/softmax.h"

namespace softamp::cuda {
namespace {

using engine::SoftmaxKind;
using kernel::Steps;

/// Shared by the outputs of a row.
struct Row {
  float greatest, sum, log_sum;
  uint32_t flags;  ///< of the steps to here
};

/// Parameters of every pass.
struct SoftmaxRows {
  SoftmaxKind kind;
  uint64_t classes;
  Reader x, second;  ///< second: dense labels, or the gradient that arrives
  const int32_t* labels;
  Row* rows;
  StepEnvironment environment;

  SOFTAMP_HD const Semantics& semantics() const { return environment.environment.semantics; }
  SOFTAMP_HD bool entropy() const { return kind == SoftmaxKind::kDense || kind == SoftmaxKind::kSparse; }
  SOFTAMP_HD bool gradient() const { return kind == SoftmaxKind::kGradient || kind == SoftmaxKind::kLogGradient; }
  SOFTAMP_PRIMITIVE void load(const Reader& from, const Eight& e, uint64_t j, Singles<uint32_t>& codes) const {
    codes.load(from.data, from.is_wide() ? 4 : 2, e.count, e.base + j);
  }
  /// RN(x - m) of element i.
  SOFTAMP_HD float shifted(Steps& steps, uint64_t i, float greatest) const {
    return steps.sub(x.entered(i, semantics()), greatest);
  }
  SOFTAMP_HD uint64_t label(uint64_t row) const {
    const int32_t label = labels[row];  // an index out of range will be refused; here it must only do no harm
    return label >= 0 && static_cast<uint64_t>(label) < classes ? static_cast<uint64_t>(label) : 0;
  }
};

/// m of a row, as a key.
struct GreatestOfRow {
  using Value = int32_t;
  using Codes = Singles<uint32_t>;
  using Ahead = CodeQueue;
  static constexpr unsigned kLeastBlocks = 5, kAhead = 4;
  SoftmaxRows r;

  SOFTAMP_HD uint64_t base(uint64_t row) const { return row * r.classes; }
  SOFTAMP_PRIMITIVE void load(const Eight& e, uint64_t j, Codes& codes) const { r.load(r.x, e, j, codes); }
  SOFTAMP_HD int at(uint64_t) const { return 0; }
  SOFTAMP_HD int32_t term(int, Codes& codes, uint64_t, uint64_t, uint32_t& flags) const {
    Steps steps;
    const int32_t key = kernel::order_key(r.x.enter_code(steps.flags, codes.take(), r.semantics()), false);
    flags |= steps.flags;
    return key;
  }
  SOFTAMP_HD int32_t add(int32_t a, int32_t b, uint64_t, uint64_t, uint32_t&) const { return a > b ? a : b; }
  SOFTAMP_HD int32_t empty() const { return 0; }

  struct Fast {
    int32_t key[kGroup];
    bool rare;
  };
  SOFTAMP_PRIMITIVE void load_vectors(const Eight& e, uint64_t j, CodeQueue& codes) const {
    codes.load(r.x, e.base + j, kGroup, true);
  }
  SOFTAMP_PRIMITIVE Fast fast(const Eight&, uint64_t) const {
    Fast f{};
    for_group([&](unsigned i) { f.key[i] = INT32_MIN; });
    return f;
  }
  SOFTAMP_PRIMITIVE void fold(Fast& f, const Eight&, const CodeQueue& codes, uint64_t) const {
    float value[kGroup];
    codes.values(r.x, value, f.rare);
    f.rare |= any_not_finite(value);
    for_group([&](unsigned i) {
      const int32_t key = key_of_finite(value[i]);
      f.key[i] = key > f.key[i] ? key : f.key[i];
    });
  }
  SOFTAMP_PRIMITIVE bool settled(const Fast& f) const { return !f.rare; }
  SOFTAMP_PRIMITIVE int32_t sum(const Fast& f, unsigned i) const { return f.key[i]; }
};

struct GreatestFinish {
  SoftmaxRows r;
  uint64_t* refusal;

  SOFTAMP_HD void operator()(uint64_t row, int32_t key, uint32_t flags) const {
    r.rows[row] = {__builtin_bit_cast(float, key ^ (key >> 31 & INT32_MAX)), 0, 0, flags};
    if (r.kind != SoftmaxKind::kSparse) return;
    const int32_t label = r.labels[row];
    if (label < 0 || static_cast<uint64_t>(label) >= r.classes)
      note_refusal(refusal, row << 32 | static_cast<uint32_t>(label));
  }
};

/// S, D or G of a row, or (`losses`) its loss with dense labels.
struct SumOfRow {
  using Value = float;
  struct Codes {
    Singles<uint32_t> x, second;
  };
  struct Ahead {
    CodeQueue x, second;
  };
  static constexpr unsigned kLeastBlocks = 4, kAhead = 2;
  SoftmaxRows r;
  bool losses;

  struct Shared {
    float greatest, log_sum;
  };

  SOFTAMP_HD bool two() const { return losses || r.gradient(); }
  SOFTAMP_HD uint64_t base(uint64_t row) const { return row * r.classes; }
  SOFTAMP_PRIMITIVE void load(const Eight& e, uint64_t j, Codes& codes) const {
    r.load(r.x, e, j, codes.x);
    if (two()) r.load(r.second, e, j, codes.second);
  }
  SOFTAMP_HD Shared at(uint64_t row) const {
    if (r.gradient()) return {0, 0};
    return {r.rows[row].greatest, r.rows[row].log_sum};
  }
  SOFTAMP_HD float term(Shared of, Codes& codes, uint64_t, uint64_t, uint32_t& flags) const {
    const Semantics& s = r.semantics();
    Steps steps, own;  // own: a difference that overflows counts for its own output
    float result = r.x.enter_code(r.gradient() ? steps.flags : own.flags, codes.x.take(), s);
    const float second = two() ? r.second.enter_code(steps.flags, codes.second.take(), s) : 0;
    if (losses)
      result = steps.mul(second, steps.sub(of.log_sum, steps.sub(result, of.greatest)));
    else if (r.kind == SoftmaxKind::kGradient)
      result = steps.mul(second, result);
    else if (r.kind == SoftmaxKind::kLogGradient)
      result = second;
    else
      result = kernel::detail::exponential(own, own.sub(result, of.greatest));
    flags |= steps.flags;
    return result;
  }
  SOFTAMP_HD float add(float a, float b, uint64_t, uint64_t, uint32_t& flags) const { return add_telling(a, b, flags); }
  SOFTAMP_HD float empty() const { return 0; }

  struct Fast {
    float sum[kGroup];
    Shared of;
    bool rare;
  };
  SOFTAMP_PRIMITIVE void load_vectors(const Eight& e, uint64_t j, Ahead& codes) const {
    codes.x.load(r.x, e.base + j, kGroup, true);
    if (two()) codes.second.load(r.second, e.base + j, kGroup, true);
  }
  SOFTAMP_PRIMITIVE Fast fast(const Eight& e, uint64_t) const {
    Fast f{};
    for_group([&](unsigned i) { f.sum[i] = -0.0f; });
    f.of = at(e.output);
    return f;
  }
  SOFTAMP_PRIMITIVE void fold(Fast& f, const Eight&, const Ahead& codes, uint64_t) const {
    float x[kGroup], term[kGroup];
    codes.x.values(r.x, x, f.rare);
    f.rare |= any_not_finite(x);
    if (two()) {
      codes.second.values(r.second, term, f.rare);
      if (losses)
        for_group([&](unsigned i) { term[i] = mul_rn(term[i], sub_rn(f.of.log_sum, sub_rn(x[i], f.of.greatest))); });
      else if (r.kind == SoftmaxKind::kGradient)
        for_group([&](unsigned i) { term[i] = mul_rn(term[i], x[i]); });
    } else {
      for_group([&](unsigned i) { term[i] = math::exp(math::Float(sub_rn(x[i], f.of.greatest))).value; });
    }
    for_group([&](unsigned i) { f.sum[i] = add_rn(f.sum[i], term[i]); });
  }
  SOFTAMP_PRIMITIVE bool settled(const Fast& f) const { return !f.rare && !any_not_finite(f.sum); }
  SOFTAMP_PRIMITIVE float sum(const Fast& f, unsigned i) const { return f.sum[i]; }
};

struct SumFinish {
  SoftmaxRows r;
  bool losses;
  Writer loss;
  DeviceStatus* status;

  SOFTAMP_HD void operator()(uint64_t row, float sum, uint32_t flags) const {
    if (r.gradient()) {
      r.rows[row] = {0, sum, 0, flags};
      count(row, static_cast<uint8_t>(flags));
      return;
    }
    Row shared = r.rows[row];
    shared.flags |= flags;
    if (losses) {
      put_loss(row, sum, static_cast<uint8_t>(shared.flags));
      return;
    }
    shared.sum = sum;
    if (r.kind != SoftmaxKind::kSoftmax) shared.log_sum = kernel::detail::logarithm(sum);
    r.rows[row] = shared;
    if (r.kind == SoftmaxKind::kSparse) {
      Steps steps;
      const uint64_t i = row * r.classes + r.label(row);
      const float value = steps.sub(shared.log_sum, r.shifted(steps, i, shared.greatest));
      put_loss(row, value, static_cast<uint8_t>(shared.flags | steps.flags));
    } else if (!r.entropy()) {
      count(row, static_cast<uint8_t>(shared.flags));
    }
  }

 private:
  /// Flags of a row count for its first output.
  SOFTAMP_HD void count(uint64_t row, uint8_t flags) const {
    raise_status(status, static_cast<uint8_t>(flags & r.semantics().wide.flags), row * r.classes);
  }
  SOFTAMP_HD void put_loss(uint64_t row, float value, uint8_t flags) const {
    raise_status(status, loss.put(row, value, flags, r.semantics(), draw_word(r.environment, loss.format, 0, row)),
                 row);
  }
};

/// Output i before its rounding.
struct SoftmaxOutput {
  SoftmaxRows r;

  SOFTAMP_HD uint64_t row_of(uint64_t i) const {
    if ((i | r.classes) >> 32 == 0) return static_cast<uint32_t>(i) / static_cast<uint32_t>(r.classes);
    return i / r.classes;
  }
  SOFTAMP_HD uint64_t flag_index(uint64_t i) const { return r.entropy() ? row_of(i) : i; }

  struct Place {
    uint64_t row, label, within;  ///< label: of a row, where there are labels
    Row of_row;
  };
  SOFTAMP_HD Place place(uint64_t i) const {
    Place p;
    p.row = row_of(i);
    p.within = i - p.row * r.classes;
    enter_row(p);
    return p;
  }
  SOFTAMP_PRIMITIVE void next(Place& p) const {
    if (++p.within < r.classes) return;
    p.within = 0;
    ++p.row;
    enter_row(p);
  }

  SOFTAMP_PRIMITIVE float operator()(const OutputOperands& x, const Place& p, Steps& steps) const {
    const Row& row = p.of_row;
    if (r.gradient()) {
      const float arriving = x.silent(1), forward = x.silent(0);
      if (r.kind == SoftmaxKind::kGradient) return steps.mul(steps.sub(arriving, row.sum), forward);
      return steps.sub(arriving, steps.mul(kernel::detail::exponential(steps, forward), row.sum));
    }
    const float t = steps.sub(x.silent(0), row.greatest);
    if (r.kind == SoftmaxKind::kLogSoftmax) return steps.sub(t, row.log_sum);
    const float y = steps.div(kernel::detail::exponential(steps, t), row.sum);
    if (r.kind == SoftmaxKind::kSoftmax) return y;
    if (r.kind == SoftmaxKind::kDense) return steps.sub(y, x.silent(1));
    return steps.sub(y, p.within == p.label ? 1.0f : 0.0f);
  }

 private:
  SOFTAMP_PRIMITIVE void enter_row(Place& p) const {
    p.of_row = r.rows[p.row];
    p.label = r.kind == SoftmaxKind::kSparse ? r.label(p.row) : 0;
  }
};

class SoftmaxKernel final : public OpKernel {
 public:
  SoftmaxKernel(const OpContext& c, Device&)
      : n_(c), reader_(n_.type, c.settings.environment.semantics), shape_{n_.rows, n_.classes, false} {}

  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }
  size_t scratch_bytes() const override { return rows_bytes() + tree_scratch_bytes<float>(shape_); }
  bool checks() const override { return n_.kind == SoftmaxKind::kSparse; }
  void refuse(uint64_t noted) const override {
    n_.fail_label(noted >> 32, static_cast<int32_t>(static_cast<uint32_t>(noted)));
  }

  void enqueue(const DeviceCall& call) const override {
    if (n_.rows == 0) return;
    const Semantics& s = call.environment.environment.semantics;
    const bool sparse = n_.kind == SoftmaxKind::kSparse, two = n_.gradient() || n_.kind == SoftmaxKind::kDense;
    const SoftmaxRows rows{n_.kind,
                           n_.classes,
                           reader_.on(call.in[0]),
                           reader_.on(two ? call.in[1] : nullptr),
                           sparse ? static_cast<const int32_t*>(call.in[1]) : nullptr,
                           static_cast<Row*>(call.scratch),
                           call.environment};
    void* const scratch = static_cast<char*>(call.scratch) + rows_bytes();
    const bool vectors =
        detail::fit_vectors(rows.x, n_.classes) && (!two || detail::fit_vectors(rows.second, n_.classes));
    const Writer writer(n_.type, s, call.status != nullptr);
    const int port = n_.entropy() ? 1 : 0;
    if (!n_.gradient())
      launch_tree_sum(call, "softmax_greatest", shape_, vectors, scratch, GreatestOfRow{rows},
                      GreatestFinish{rows, call.refusal});
    SumFinish finish{rows, false, writer.on(n_.entropy() ? call.out[0] : nullptr), call.status};
    launch_tree_sum(call, "softmax_sum", shape_, vectors, scratch, SumOfRow{rows, false}, finish);
    if (n_.kind == SoftmaxKind::kDense) {
      finish.losses = true;
      launch_tree_sum(call, "softmax_loss", shape_, vectors, scratch, SumOfRow{rows, true}, finish);
    }
    launch_rounding(call, "softmax", n_.rows * n_.classes, static_cast<uint32_t>(port), writer.on(call.out[port]),
                    rows.x, rows.second, SoftmaxOutput{rows});
  }

 private:
  size_t rows_bytes() const { return (n_.rows * sizeof(Row) + 255) / 256 * 256; }

  engine::SoftmaxNode n_;
  Reader reader_;
  TreeShape shape_;
};

}  // namespace

std::span<const KernelEntry> softmax_kernels() {
  static constexpr auto entries = engine::softmax_entries<KernelFactory>(make_kernel<SoftmaxKernel>);
  return entries;
}

}  // namespace softamp::cuda
