// Sum, Mean, Max, Min, ArgMax, ArgMin, L2Loss by trees (tree_sum.h), and BiasAddGrad by chains of 1024 elements (N142).
#include "cuda/reductions/tree_sum.h"
#include "cuda/rounded_values.h"
#include "softamp/engine/reduction_node.h"

namespace softamp::cuda {
namespace {

using kernel::ReduceShape;
using kernel::Reduction;
using kernel::Steps;

/// The positions of one output's elements.
struct ReducePlaces {
  const ReduceShape& shape;
  uint64_t base;

  SOFTAMP_HD ReducePlaces(const ReduceShape& s, uint64_t output)
      : shape(s), base(static_cast<uint64_t>(s.output_offset(output))) {}
  SOFTAMP_HD uint64_t operator()(uint64_t k) const {
    if (shape.reduced_rank == 1) return base + k * static_cast<uint64_t>(shape.reduced_stride[0]);
    return base + static_cast<uint64_t>(shape.element_offset(k));
  }
};

/// fp32 sums of elements or their squares.
struct FloatSum {
  using Value = float;
  Reader x;
  ReduceShape shape;
  bool squares;
  StepEnvironment environment;

  struct Cursor {
    const FloatSum& s;
    ReducePlaces places;
    SOFTAMP_HD float term(uint64_t k, uint32_t& flags) const {
      Steps steps;
      const float value = s.x.enter(steps, places(k), s.environment.environment.semantics);
      const float result = s.squares ? steps.mul(value, value) : value;
      flags |= steps.flags;
      return result;
    }
  };
  SOFTAMP_HD Cursor at(uint64_t output) const { return {*this, {shape, output}}; }
  SOFTAMP_HD float add(float a, float b, uint64_t, uint64_t, uint32_t& flags) const { return add_telling(a, b, flags); }
  SOFTAMP_HD float empty() const { return 0; }
};

/// The same in binary64.
struct DoubleSum {
  using Value = double;
  const void* x;
  ReduceShape shape;
  bool squares;
  StepEnvironment environment;

  struct Cursor {
    const DoubleSum& s;
    ReducePlaces places;
    SOFTAMP_HD double term(uint64_t k, uint32_t& flags) const {
      Steps steps;
      const double value =
          steps.enter_double({s.x, FloatFormat::binary64()}, places(k), s.environment.environment.semantics);
      const double result = s.squares ? steps.mul(value, value) : value;
      flags |= steps.flags;
      return result;
    }
  };
  SOFTAMP_HD Cursor at(uint64_t output) const { return {*this, {shape, output}}; }
  SOFTAMP_HD double add(double a, double b, uint64_t, uint64_t, uint32_t& flags) const {
    return add_telling(a, b, flags);
  }
  SOFTAMP_HD double empty() const { return 0; }
};

/// Codes of halves, rounded at each `+`.
struct HalfSum {
  using Value = uint32_t;
  const void* x;
  ReduceShape shape;
  StepEnvironment environment;

  struct Cursor {
    const HalfSum& s;
    ReducePlaces places;
    SOFTAMP_HD uint32_t term(uint64_t k, uint32_t&) const { return static_cast<const uint16_t*>(s.x)[places(k)]; }
  };
  SOFTAMP_HD Cursor at(uint64_t output) const { return {*this, {shape, output}}; }
  SOFTAMP_HD uint32_t add(uint32_t a, uint32_t b, uint64_t p, uint64_t output, uint32_t& flags) const {
    constexpr FloatFormat kHalf = FloatFormat::fp16();
    const Rounded r = fp::add(kHalf, a, b, environment.environment.semantics,
                              draw_word(environment, kHalf, 0, product_index(p, output)));
    flags |= r.flags;
    return static_cast<uint32_t>(r.code);
  }
  SOFTAMP_HD uint32_t empty() const { return 0; }
};

/// int32, which wraps.
struct IntegerSum {
  using Value = int32_t;
  const int32_t* x;
  ReduceShape shape;

  struct Cursor {
    const IntegerSum& s;
    ReducePlaces places;
    SOFTAMP_HD int32_t term(uint64_t k, uint32_t&) const { return s.x[places(k)]; }
  };
  SOFTAMP_HD Cursor at(uint64_t output) const { return {*this, {shape, output}}; }
  SOFTAMP_HD int32_t add(int32_t a, int32_t b, uint64_t, uint64_t, uint32_t&) const {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
  SOFTAMP_HD int32_t empty() const { return 0; }
};

/// The greatest key of order_key (N143) and its lowest place: of any type.
struct Greatest {
  using Value = kernel::Extremum<int64_t>;
  Reader x;
  DType type;
  bool least;
  ReduceShape shape;
  StepEnvironment environment;

  struct Cursor {
    const Greatest& s;
    ReducePlaces places;
    SOFTAMP_HD Value term(uint64_t k, uint32_t& flags) const { return {s.key(places(k), flags), k}; }
  };
  SOFTAMP_HD Cursor at(uint64_t output) const { return {*this, {shape, output}}; }
  SOFTAMP_HD Value add(Value a, Value b, uint64_t, uint64_t, uint32_t&) const {
    return b.key > a.key || (b.key == a.key && b.index < a.index) ? b : a;
  }
  SOFTAMP_HD Value empty() const { return {0, 0}; }

 private:
  SOFTAMP_HD int64_t key(uint64_t i, uint32_t& flags) const {
    if (type == DType::kInt32) {
      const int32_t value = static_cast<const int32_t*>(x.data)[i];
      return least ? ~value : value;
    }
    const Semantics& s = environment.environment.semantics;
    Steps steps;
    const int64_t result = type == DType::kFloat64
                               ? kernel::order_key(steps.enter_double({x.data, FloatFormat::binary64()}, i, s), least)
                               : kernel::order_key(x.enter(steps, i, s), least);
    flags |= steps.flags;
    return result;
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
  SOFTAMP_HD void operator()(uint64_t o, uint32_t half_sum, uint32_t flags) const {
    Steps steps;
    float value = steps.enter_code(out.format, half_sum, semantics());
    if (what == Reduction::kMean) value = steps.div(value, kernel::count_of(count));
    put(o, value, steps.flags, static_cast<uint8_t>(flags));
  }
  SOFTAMP_HD void operator()(uint64_t o, int32_t sum, uint32_t) const { static_cast<int32_t*>(out.data)[o] = sum; }
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
/// outputs; one thread per output adds them up in order.
struct BatchChains {
  static constexpr unsigned kThreads = 256, kMostWidth = 8;

  FloatSum source;
  ReductionFinish finish;
  uint64_t outputs, count, blocks, tiles;
  unsigned width;  ///< (1, 2, 4, 8)
  TreePartials<float> partials;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    float* const terms = block.template shared<float>(kTreeBlock * width);
    uint32_t* const flags = block.template shared<uint32_t>(kThreads);
    const uint64_t b = block.index() / tiles, column = block.index() % tiles * width, first = b * kTreeBlock;
    const unsigned rows = static_cast<unsigned>(count - first < kTreeBlock ? count - first : kTreeBlock);
    block.each([&](unsigned t) {
      Steps steps;
      const uint64_t output = column + t % width;
      if (output < outputs)
        for (unsigned k = t / width; k < rows; k += kThreads / width)
          terms[k * width + t % width] =
              source.x.enter(steps, (first + k) * outputs + output, source.environment.environment.semantics);
      flags[t] = steps.flags;
    });
    block.each([&](unsigned t) {
      const uint64_t output = column + t;
      if (t >= width || output >= outputs) return;
      uint32_t seen = 0;
      for (unsigned u = t; u < kThreads; u += width) seen |= flags[u];
      float sum = 0;
      for (unsigned k = 0; k < rows; ++k) sum = source.add(sum, terms[k * width + t], 0, 0, seen);
      if (blocks == 1) {
        finish(output, sum, seen);
        return;
      }
      partials.values[b * outputs + output] = sum;
      partials.flags[b * outputs + output] = seen;
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
    const ReduceShape& s = n_.shape;
    shape_ = {s.outputs, s.count, s.kept_rank > 0 && s.kept_stride[s.kept_rank - 1] == 1};
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
    const auto launch = [&](const char* name, const auto& source) {
      launch_tree_sum(call, name, shape_, call.scratch, source, finish);
    };
    const FloatSum floats{reader_.on(x), n_.shape, squares, call.environment};
    if (n_.what == Reduction::kBatchSum)
      launch_chains(call, floats, finish);
    else if (extremum())
      launch("extremum", Greatest{reader_.on(x), n_.type, n_.what == Reduction::kMin, n_.shape, call.environment});
    else if (n_.type == DType::kInt32)
      launch("int32_sum", IntegerSum{static_cast<const int32_t*>(x), n_.shape});
    else if (n_.type == DType::kFloat64)
      launch("float64_sum", DoubleSum{x, n_.shape, squares, call.environment});
    else if (n_.half_accumulator)
      launch("half_sum", HalfSum{x, n_.shape, call.environment});
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
    const Grid grid{static_cast<unsigned>(tiles * blocks), BatchChains::kThreads,
                    shared_of<float>(kTreeBlock * width) + shared_of<uint32_t>(BatchChains::kThreads)};
    call.device.launch("batch_chains", grid,
                       BatchChains{source, finish, shape_.outputs, shape_.count, blocks, tiles, width, memory.first});
    if (blocks > 1)
      call.device.launch("batch_fold", {static_cast<unsigned>((shape_.outputs + 63) / 64), 64, 0},
                         BatchFold{source, finish, shape_.outputs, blocks, memory.first});
  }

  engine::ReductionNode n_;
  bool place_;
  Reader reader_;
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
