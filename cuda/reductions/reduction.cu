// Sum, Mean, Max, Min, ArgMax, ArgMin, L2Loss by trees (tree_sum.h), and BiasAddGrad by chains of 1024 elements (N142).
#include "cuda/reductions/tree_sum.h"
#include "cuda/rounded_values.h"
#include "softamp/engine/reduction_node.h"

namespace softamp::cuda {
namespace {

using kernel::ReduceShape;
using kernel::Reduction;
using kernel::Steps;

/// Where the elements of outputs lie.
struct ReducePlaces {
  ReduceShape shape;
  bool columns, together;  ///< together: eight elements from a multiple of eight on lie side by side

  ReducePlaces() = default;
  explicit ReducePlaces(const ReduceShape& s)
      : shape(s),
        columns(are_lines(s.kept_rank, s.kept_extent, s.kept_stride)),
        together(columns || are_lines(s.reduced_rank, s.reduced_extent, s.reduced_stride)) {}

  /// Whether they begin at multiples of `line` (4, 8) elements, too, and an output's lie along one axis.
  bool begin_lines(int64_t line) const {
    const auto fit = [&](int rank, const int64_t* stride) {
      return std::all_of(stride, stride + rank, [&](int64_t s) { return s == 1 || s % line == 0; });
    };
    return together && shape.reduced_rank == 1 && (!columns || shape.outputs % kGroup == 0) &&
           fit(shape.kept_rank, shape.kept_stride) && fit(shape.reduced_rank, shape.reduced_stride);
  }

  SOFTAMP_HD uint64_t base(uint64_t output) const {
    return shape.kept_rank == 1 ? output * static_cast<uint64_t>(shape.kept_stride[0])
                                : static_cast<uint64_t>(shape.output_offset(output));
  }
  /// Element k of one axis.
  SOFTAMP_PRIMITIVE uint64_t line(const Eight& e, uint64_t k) const {
    return e.base + k * static_cast<uint64_t>(shape.reduced_stride[0]);
  }
  template <class Word>
  SOFTAMP_PRIMITIVE void load(const void* data, unsigned bytes, const Eight& e, uint64_t k,
                              Singles<Word>& codes) const {
    const auto place = [&](unsigned j) {
      if (shape.reduced_rank == 1) return line(e, k + j);
      return e.base + static_cast<uint64_t>(shape.element_offset(k + j));
    };
    if (together)
      codes.load(data, bytes, e.count, place(0));
    else
      codes.load_scattered(data, bytes, e.count, place);
  }

 private:
  static bool are_lines(int rank, const int64_t* extent, const int64_t* stride) {
    return rank > 0 && stride[rank - 1] == 1 && (rank == 1 || extent[rank - 1] % kGroup == 0);
  }
};

/// fp32 sums of elements or their squares.
struct FloatSum {
  using Value = float;
  using Codes = Singles<uint32_t>;
  using Ahead = CodeQueue;
  static constexpr unsigned kLeastBlocks = 5, kAhead = 4;
  Reader x;
  ReducePlaces places;
  bool squares;
  StepEnvironment environment;

  SOFTAMP_HD uint64_t base(uint64_t output) const { return places.base(output); }
  SOFTAMP_PRIMITIVE void load(const Eight& e, uint64_t k, Codes& codes) const {
    places.load(x.data, x.is_wide() ? 4 : 2, e, k, codes);
  }
  struct Nothing {};
  SOFTAMP_HD Nothing at(uint64_t) const { return {}; }
  SOFTAMP_HD float term(Nothing, Codes& codes, uint64_t, uint64_t, uint32_t& flags) const {
    Steps steps;
    const float value = x.enter_code(steps.flags, codes.take(), environment.environment.semantics);
    const float result = squares ? steps.mul(value, value) : value;
    flags |= steps.flags;
    return result;
  }
  SOFTAMP_HD float add(float a, float b, uint64_t, uint64_t, uint32_t& flags) const { return add_telling(a, b, flags); }
  SOFTAMP_HD float empty() const { return 0; }

  struct Fast {
    float sum[kGroup];
    bool rare;
  };
  SOFTAMP_PRIMITIVE void load_vectors(const Eight& e, uint64_t k, CodeQueue& codes) const {
    codes.load(x, places.line(e, k), kGroup, true);
  }
  SOFTAMP_PRIMITIVE Fast fast(const Eight&, uint64_t) const {
    Fast f{};
    for_group([&](unsigned j) { f.sum[j] = -0.0f; });
    return f;
  }
  SOFTAMP_PRIMITIVE void fold(Fast& f, const Eight&, const CodeQueue& codes, uint64_t) const {
    float value[kGroup];
    codes.values(x, value, f.rare);
    if (squares) for_group([&](unsigned j) { value[j] = mul_rn(value[j], value[j]); });
    for_group([&](unsigned j) { f.sum[j] = add_rn(f.sum[j], value[j]); });
  }
  SOFTAMP_PRIMITIVE bool settled(const Fast& f) const { return !f.rare && !any_not_finite(f.sum); }
  SOFTAMP_PRIMITIVE float sum(const Fast& f, unsigned j) const { return f.sum[j]; }
};

/// The same in binary64.
struct DoubleSum {
  using Value = double;
  using Codes = Singles<uint64_t>;
  static constexpr unsigned kLeastBlocks = 6, kAhead = 0;
  const void* x;
  ReducePlaces places;
  bool squares;
  StepEnvironment environment;

  SOFTAMP_HD uint64_t base(uint64_t output) const { return places.base(output); }
  SOFTAMP_PRIMITIVE void load(const Eight& e, uint64_t k, Codes& codes) const { places.load(x, 8, e, k, codes); }
  SOFTAMP_HD FloatSum::Nothing at(uint64_t) const { return {}; }
  SOFTAMP_HD double term(FloatSum::Nothing, Codes& codes, uint64_t, uint64_t, uint32_t& flags) const {
    Steps steps;
    const uint64_t code = codes.take();
    const double value = steps.enter_double({&code, FloatFormat::binary64()}, 0, environment.environment.semantics);
    const double result = squares ? steps.mul(value, value) : value;
    flags |= steps.flags;
    return result;
  }
  SOFTAMP_HD double add(double a, double b, uint64_t, uint64_t, uint32_t& flags) const {
    return add_telling(a, b, flags);
  }
  SOFTAMP_HD double empty() const { return 0; }
};

/// Codes: of halves, rounded at each `+`, or of int32, which wraps.
struct CodeSum {
  using Value = uint32_t;
  using Codes = Singles<uint32_t>;
  static constexpr unsigned kLeastBlocks = 5, kAhead = 0;
  const void* x;
  bool halves;
  ReducePlaces places;
  StepEnvironment environment;

  SOFTAMP_HD uint64_t base(uint64_t output) const { return places.base(output); }
  SOFTAMP_PRIMITIVE void load(const Eight& e, uint64_t k, Codes& codes) const {
    places.load(x, halves ? 2 : 4, e, k, codes);
  }
  SOFTAMP_HD FloatSum::Nothing at(uint64_t) const { return {}; }
  SOFTAMP_HD uint32_t term(FloatSum::Nothing, Codes& codes, uint64_t, uint64_t, uint32_t&) const {
    return codes.take();
  }
  SOFTAMP_HD uint32_t add(uint32_t a, uint32_t b, uint64_t p, uint64_t output, uint32_t& flags) const {
    return halves ? half_add(a, b, environment, 0, product_index(p, output), flags) : a + b;
  }
  SOFTAMP_HD uint32_t empty() const { return 0; }
};

/// The greatest key of order_key (N143) and its lowest place: of any type.
struct Greatest {
  using Value = kernel::Extremum<int64_t>;
  using Codes = Singles<uint64_t>;
  using Ahead = CodeQueue;
  static constexpr unsigned kLeastBlocks = 4, kAhead = 4;
  Reader x;
  DType type;
  bool least;
  ReducePlaces places;
  StepEnvironment environment;

  SOFTAMP_HD uint64_t base(uint64_t output) const { return places.base(output); }
  SOFTAMP_PRIMITIVE void load(const Eight& e, uint64_t k, Codes& codes) const {
    places.load(x.data, type == DType::kFloat64 ? 8 : x.is_wide() ? 4 : 2, e, k, codes);
  }
  SOFTAMP_HD FloatSum::Nothing at(uint64_t) const { return {}; }
  SOFTAMP_HD Value term(FloatSum::Nothing, Codes& codes, uint64_t, uint64_t k, uint32_t& flags) const {
    const uint64_t code = codes.take();
    if (type == DType::kInt32) {
      const int32_t value = static_cast<int32_t>(static_cast<uint32_t>(code));
      return {least ? ~value : value, k};
    }
    const Semantics& s = environment.environment.semantics;
    Steps steps;
    const int64_t key = type == DType::kFloat64
                            ? kernel::order_key(steps.enter_double({&code, FloatFormat::binary64()}, 0, s), least)
                            : kernel::order_key(x.enter_code(steps.flags, static_cast<uint32_t>(code), s), least);
    flags |= steps.flags;
    return {key, k};
  }
  SOFTAMP_HD Value add(Value a, Value b, uint64_t, uint64_t, uint32_t&) const {
    return b.key > a.key || (b.key == a.key && b.index < a.index) ? b : a;
  }
  SOFTAMP_HD Value empty() const { return {0, 0}; }

  struct Fast {
    int32_t key[kGroup];
    uint32_t step[kGroup];  ///< the element that begins the step of the key
    bool rare, columns;
  };
  SOFTAMP_PRIMITIVE void load_vectors(const Eight& e, uint64_t k, CodeQueue& codes) const {
    codes.load(x, places.line(e, k), kGroup, true);
  }
  SOFTAMP_PRIMITIVE Fast fast(const Eight& e, uint64_t k) const {
    Fast f{};
    for_group([&](unsigned j) { f.key[j] = INT32_MIN, f.step[j] = static_cast<uint32_t>(k); });
    f.columns = e.columns;
    return f;
  }
  SOFTAMP_PRIMITIVE void fold(Fast& f, const Eight&, const CodeQueue& codes, uint64_t k) const {
    int32_t key[kGroup];
    if (type == DType::kInt32) {
      for_group([&](unsigned j) { key[j] = static_cast<int32_t>(codes.word[j]); });
    } else {
      float value[kGroup];
      codes.values(x, value, f.rare);
      f.rare |= any_not_finite(value);
      for_group([&](unsigned j) { key[j] = key_of_finite(value[j]); });
    }
    for_group([&](unsigned j) {
      if (least) key[j] = ~key[j];
      if (key[j] > f.key[j]) f.key[j] = key[j], f.step[j] = static_cast<uint32_t>(k);
    });
  }
  SOFTAMP_PRIMITIVE bool settled(const Fast& f) const { return !f.rare; }
  SOFTAMP_PRIMITIVE Value sum(const Fast& f, unsigned j) const {
    return {f.key[j], uint64_t{f.step[j]} + (f.columns ? 0 : j)};
  }
};

/// The final rounding of an output, from a sum of any type.
struct ReductionFinish {
  Reduction what;
  DType type;
  uint32_t site;
  uint64_t count;
  bool place;  ///< ArgMax, ArgMin
  Writer out;
  StepEnvironment environment;
  DeviceStatus* status;

  SOFTAMP_HD void operator()(uint64_t o, float sum, uint32_t flags) const {
    Steps steps;
    float value = sum;
    if (what == Reduction::kMean) value = steps.div(sum, kernel::count_of(count));
    if (what == Reduction::kL2Loss) value = 0.5f * sum;
    put(o, value, static_cast<uint8_t>(flags | steps.flags), 0);
  }
  SOFTAMP_HD void operator()(uint64_t o, double sum, uint32_t flags) const {
    Steps steps;
    double value = sum;
    if (what == Reduction::kMean) value = steps.div(sum, static_cast<double>(count));
    if (what == Reduction::kL2Loss) value = 0.5 * sum;
    put_double(o, value, static_cast<uint8_t>(flags | steps.flags));
  }
  SOFTAMP_HD void operator()(uint64_t o, uint32_t sum, uint32_t flags) const {
    if (type == DType::kInt32) {
      static_cast<uint32_t*>(out.data)[o] = sum;
      return;
    }
    Steps steps;
    float value = steps.enter_code(out.format, sum, semantics());
    if (what == Reduction::kMean) value = steps.div(value, kernel::count_of(count));
    put(o, value, steps.flags, static_cast<uint8_t>(flags));
  }
  SOFTAMP_HD void operator()(uint64_t o, kernel::Extremum<int64_t> best, uint32_t flags) const {
    const bool least = what == Reduction::kMin;
    if (place) {
      static_cast<int32_t*>(out.data)[o] = static_cast<int32_t>(best.index);
      raise_status(status, static_cast<uint8_t>(flags & semantics().wide.flags), o);
    } else if (type == DType::kInt32) {
      const int32_t key = static_cast<int32_t>(best.key);
      static_cast<int32_t*>(out.data)[o] = least ? ~key : key;
    } else if (type == DType::kFloat64) {
      const int64_t key = least && best.key != INT64_MAX ? ~best.key : best.key;
      put_double(o, __builtin_bit_cast(double, key ^ (key >> 63 & INT64_MAX)), static_cast<uint8_t>(flags));
    } else {
      int32_t key = static_cast<int32_t>(best.key);
      if (least && key != INT32_MAX) key = ~key;
      put(o, __builtin_bit_cast(float, key ^ (key >> 31 & INT32_MAX)), static_cast<uint8_t>(flags), 0);
    }
  }

 private:
  SOFTAMP_HD const Semantics& semantics() const { return environment.environment.semantics; }
  SOFTAMP_HD void put(uint64_t o, float value, uint8_t step_flags, uint8_t rounded_flags) const {
    const uint8_t flags = out.put(o, value, step_flags, semantics(), draw_word(environment, out.format, site, o));
    raise_status(status, static_cast<uint8_t>(flags | rounded_flags), o);
  }
  SOFTAMP_HD void put_double(uint64_t o, double value, uint8_t step_flags) const {
    const Rounded r = detail::finish_rare<double>(out.format, value, step_flags, semantics(),
                                                  draw_word(environment, out.format, site, o));
    store_element(out.data, 8, o, r.code);
    raise_status(status, r.flags, o);
  }
};

/// BiasAddGrad: element i of output o is at i * outputs + o. A block of threads reads 1024 elements of each of `width`
/// outputs, where it can in vectors of eight outputs, four to a thread; one thread per output adds them up in order.
/// What is not plain becomes a NaN there: then the sum is one, and the thread takes its elements once more, one by one.
struct BatchChains {
  static constexpr unsigned kMostThreads = 256, kLeastBlocks = 4, kMostWidth = 8;
  static constexpr uint32_t kNotPlain = 0x7FC00000u;
  static constexpr unsigned kPitch = kTreeBlock + 1;  ///< rows of an output, in other banks than its neighbour's

  FloatSum source;
  ReductionFinish finish;
  uint64_t outputs, count, blocks, tiles;
  unsigned width;  ///< (1, 2, 4, 8)
  bool vectors;    ///< 8, of which all exist
  TreePartials<float> partials;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    float* const terms = block.template shared<float>(kPitch * width);
    const uint64_t b = block.index() / tiles, column = block.index() % tiles * width, first = b * kTreeBlock;
    const unsigned rows = static_cast<unsigned>(count - first < kTreeBlock ? count - first : kTreeBlock);
    block.each([&](unsigned t) {
      if (vectors)
        read_vectors(terms, first * outputs + column, rows, t);
      else if (column + t % width < outputs)
        for (unsigned k = t / width; k < rows; k += kMostThreads / width)
          terms[t % width * kPitch + k] = plain(source.x.code((first + k) * outputs + column + t % width));
    });
    block.each([&](unsigned t) {
      const uint64_t output = column + t;
      if (t >= width || output >= outputs) return;
      const float* const mine = terms + t * kPitch;
      uint32_t seen = 0;
      float sum = 0;
#if defined(__CUDACC__)
#pragma unroll 8
#endif
      for (unsigned k = 0; k < rows; ++k) sum = add_rn(sum, mine[k]);
      if (!kernel::is_finite(sum)) {
        Steps steps;
        sum = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
        for (unsigned k = 0; k < rows; ++k)
          sum = steps.add(
              sum, source.x.enter(steps, (first + k) * outputs + output, source.environment.environment.semantics));
        seen = steps.flags;
      }
      if (blocks == 1) {
        finish(output, sum, seen);
        return;
      }
      partials.values[b * outputs + output] = sum;
      partials.flags[b * outputs + output] = seen;
    });
  }

 private:
  SOFTAMP_PRIMITIVE float plain(uint32_t code) const {
    return source.x.is_plain(code) ? source.x.value(code) : from_bits(kNotPlain);
  }
  SOFTAMP_PRIMITIVE void read_vectors(float* terms, uint64_t place, unsigned rows, unsigned t) const {
    constexpr unsigned kRows = static_cast<unsigned>(kTreeBlock) / kMostThreads;
    CodeQueue codes[kRows] = {};
    for_each_of<kRows>([&](unsigned i) {
      const unsigned k = t + i * kMostThreads;
      if (k < rows) codes[i].load(source.x, place + k * outputs, kGroup, true);
    });
    for_each_of<kRows>([&](unsigned i) {
      float value[kGroup];
      bool rare = false;
      codes[i].values(source.x, value, rare);
      for_group([&](unsigned j) { terms[j * kPitch + t + i * kMostThreads] = rare ? from_bits(kNotPlain) : value[j]; });
    });
  }
};

/// Then one thread per output adds up its partials, in ascending order.
struct BatchFold {
  FloatSum source;
  ReductionFinish finish;
  uint64_t outputs, blocks;
  TreePartials<float> partials;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const uint64_t output = uint64_t{block.index()} * block.threads() + t;
      if (output >= outputs) return;
      float sum = partials.values[output];
      uint32_t flags = partials.flags[output];
      for (uint64_t b = 1; b < blocks; ++b) {
        flags |= partials.flags[b * outputs + output];
        sum = source.add(sum, partials.values[b * outputs + output], 0, 0, flags);
      }
      finish(output, sum, flags);
    });
  }
};

class ReductionKernel final : public OpKernel {
 public:
  ReductionKernel(const OpContext& c, Device&)
      : n_(c),
        place_(c.node.op == "ArgMax" || c.node.op == "ArgMin"),
        reader_(is_narrow() ? n_.type : DType::kFloat32, c.settings.environment.semantics) {
    places_ = ReducePlaces(n_.shape);
    shape_ = {n_.shape.outputs, n_.shape.count, places_.columns};
  }

  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }
  size_t scratch_bytes() const override {
    if (extremum()) return tree_scratch_bytes<Greatest::Value>(shape_);
    return n_.type == DType::kFloat64 ? tree_scratch_bytes<double>(shape_) : tree_scratch_bytes<float>(shape_);
  }

  void enqueue(const DeviceCall& call) const override {
    const Semantics& s = call.environment.environment.semantics;
    const DType out = is_floating(n_.type) && !place_ ? n_.type : DType::kFloat32;
    const ReductionFinish finish{n_.what,          n_.type,    n_.rounding_site(),
                                 shape_.count,     place_,     Writer(out, s, call.status != nullptr).on(call.out[0]),
                                 call.environment, call.status};
    const void* const x = call.in[0];
    const bool squares = n_.what == Reduction::kL2Loss;
    const Reader elements = reader_.on(x);
    const bool vectors = n_.type != DType::kFloat64 && shape_.count >> 32 == 0 && detail::fit_vectors(elements, 0) &&
                         places_.begin_lines(elements.is_wide() ? 4 : 8);
    const auto launch = [&](const char* name, const auto& source) {
      launch_tree_sum(call, name, shape_, vectors, call.scratch, source, finish);
    };
    const FloatSum floats{elements, places_, squares, call.environment};
    if (n_.what == Reduction::kBatchSum)
      launch_chains(call, floats, finish);
    else if (extremum())
      launch("extremum", Greatest{elements, n_.type, n_.what == Reduction::kMin, places_, call.environment});
    else if (n_.type == DType::kInt32 || n_.half_accumulator)
      launch(n_.half_accumulator ? "half_sum" : "int32_sum",
             CodeSum{x, n_.half_accumulator, places_, call.environment});
    else if (n_.type == DType::kFloat64)
      launch("float64_sum", DoubleSum{x, places_, squares, call.environment});
    else
      launch("float_sum", floats);
  }

 private:
  bool extremum() const { return n_.what == Reduction::kMax || n_.what == Reduction::kMin; }
  bool is_narrow() const { return n_.type == DType::kFloat16 || n_.type == DType::kBFloat16; }

  void launch_chains(const DeviceCall& call, const FloatSum& source, const ReductionFinish& finish) const {
    const detail::TreeScratch<float> memory(shape_, call.scratch);
    if (shape_.outputs == 0) return;
    const uint64_t blocks = shape_.blocks();
    const unsigned width = detail::least_power(shape_.outputs, BatchChains::kMostWidth);
    const uint64_t tiles = (shape_.outputs + width - 1) / width;
    const bool vectors = shape_.outputs % kGroup == 0 && detail::fit_vectors(source.x, shape_.outputs);
    const Grid grid{static_cast<unsigned>(tiles * blocks), BatchChains::kMostThreads,
                    shared_of<float>(BatchChains::kPitch * width)};
    call.device.launch(
        "batch_chains", grid,
        BatchChains{source, finish, shape_.outputs, shape_.count, blocks, tiles, width, vectors, memory.first});
    if (blocks > 1)
      call.device.launch("batch_fold", {static_cast<unsigned>((shape_.outputs + 63) / 64), 64, 0},
                         BatchFold{source, finish, shape_.outputs, blocks, memory.first});
  }

  engine::ReductionNode n_;
  bool place_;
  Reader reader_;
  ReducePlaces places_;
  TreeShape shape_;
};

}  // namespace

std::span<const KernelEntry> reduction_kernels() {
  static constexpr KernelFactory make = make_kernel<ReductionKernel>;
  static constexpr KernelEntry entries[] = {
      {"Sum", make},    {"Mean", make},        {"Max", make},    {"Min", make},
      {"L2Loss", make}, {"BiasAddGrad", make}, {"ArgMax", make}, {"ArgMin", make},
  };
  return entries;
}

}  // namespace softamp::cuda
