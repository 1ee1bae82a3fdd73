// The kernels of AddN and of constants.
#include "cuda/element_kernel.h"
#include "cuda/elementwise/elementwise.h"
#include "softamp/engine/element_attributes.h"

namespace softamp::cuda {
namespace {

/// Terms that one launch adds; between launches the sums are kept in scratch memory.
constexpr size_t kMostTerms = 256;

/// A sum as it stands after some of its terms.
struct Running {
  uint64_t code;              ///< int32, float64
  kernel::Operands operands;  ///< float64
  kernel::Sum32 sum;          ///< others
};

struct Terms {
  DType type;
  FloatFormat format;
  unsigned bytes;
  bool first, last;  ///< the launch begins, ends the sums
  unsigned count;
  const void* in[kMostTerms];

  SOFTAMP_HD void add(Running& r, uint64_t i, const Semantics& s) const {
    for (unsigned k = 0; k < count; ++k) {
      const uint64_t term = load_element(in[k], bytes, i);
      if (type == DType::kInt32) {
        r.code = static_cast<uint32_t>(r.code + term);
      } else if (type == DType::kFloat64) {
        r.operands.add(format, term, s);
        r.code = first && k == 0 ? term : kernel::arithmetic64(kernel::Elementwise::kAdd, r.code, term, s).code;
      } else {
        r.sum.add(format, term, s);
      }
    }
  }
  SOFTAMP_HD Rounded finish(const Running& r, const Semantics& s, uint32_t random) const {
    if (type == DType::kInt32) return {r.code, 0};
    if (type == DType::kFloat64) return kernel::finish64(__builtin_bit_cast(double, r.code), r.operands, false, s);
    return r.sum.finish(format, s, random);
  }
  /// Element i of a sum that this launch computes entirely.
  SOFTAMP_HD __attribute__((noinline)) Rounded element(uint64_t i, const Semantics& s, uint32_t random) const {
    Running r{};
    add(r, i, s);
    return finish(r, s, random);
  }
};

/// Every element by the body.
struct AddNBodies {
  Terms terms;
  void* out;
  Running* running;
  bool draws;
  int random_bits;
  GroupRun run;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const kernel::Environment e = run.environment.now();
      FpStatus seen;
      each_group(block, t, run.size, [&](uint64_t begin, unsigned count) {
        RandomWords words{};
        if (draws && terms.last) words = random_words(e, 0, begin, random_bits, count);
        for (unsigned j = 0; j < count; ++j) {
          const uint64_t i = begin + j;
          Running r{};
          if (!terms.first) r = running[i];
          terms.add(r, i, e.semantics);
          if (!terms.last) {
            running[i] = r;
            continue;
          }
          const Rounded sum = terms.finish(r, e.semantics, words.word[j]);
          store_element(out, terms.bytes, i, sum.code);
          if (sum.flags) seen.raise(sum.flags, i);
        }
      });
      merge_status(run.status, seen);
    });
  }
};

/// The same for finite floats of kBytes (2, 4) bytes by the device's fp32 sums, eight at a time.
template <unsigned kBytes>
struct AddNGroups {
  static constexpr unsigned kAtOnce = 4 / kBytes;                  ///< groups
  static constexpr unsigned kAhead = 4;                            ///< terms that are loaded before the first is added
  static constexpr unsigned kMostThreads = 128, kLeastBlocks = 4;  ///< so that 48 KiB of three are on their way

  Terms terms;
  void* out;
  bool vectors;
  uint32_t flush_below, flush_sign;  ///< of fp32 operands
  FastRound round;
  GroupRun run;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const uint32_t step = run.step_if(round.draws);
      each_group_at_once<Codes, kAtOnce>(
          block, t, run.size, vectors, [&](uint64_t first, Codes& read) { load(0, first, read); },
          [&](uint64_t first, const Codes& read) { return group(first, read, step); },
          [&](uint64_t first) { elements(first, step); });
    });
  }

 private:
  struct Codes {
    GroupCodes<kBytes> of[kAhead];
  };

  SOFTAMP_PRIMITIVE void load(unsigned term, uint64_t first, Codes& read) const {
    for_each_of<kAhead>([&](unsigned k) {
      if (term + k < terms.count) read.of[k].load(terms.in[term + k], first);
    });
  }
  SOFTAMP_PRIMITIVE bool group(uint64_t first, Codes read, uint32_t step) const {
    float sum[kGroup];
    for_group([&](unsigned j) { sum[j] = value(read.of[0][j]); });
    add<1>(read, terms.count, sum);
    for (unsigned k = kAhead; k < terms.count; k += kAhead) {
      load(k, first, read);
      add<0>(read, terms.count - k, sum);
    }
    return store_rounded<kBytes>(round, run, step, first, sum, out);
  }
  /// Terms kFirst .. of `count` that are there.
  template <unsigned kFirst>
  SOFTAMP_PRIMITIVE void add(const Codes& read, unsigned count, float (&sum)[kGroup]) const {
    for_each_of<kAhead - kFirst>([&](unsigned k) {
      if (k + kFirst < count) for_group([&](unsigned j) { sum[j] = add_rn(sum[j], value(read.of[k + kFirst][j])); });
    });
  }
  SOFTAMP_PRIMITIVE float value(uint32_t code) const {
    if constexpr (kBytes == 4) return from_bits(flushed(code, flush_below, flush_sign));
    return terms.type == DType::kFloat16 ? float_of_half(code) : float_of_bf16(code);
  }

  SOFTAMP_HD __attribute__((noinline)) void elements(uint64_t first, uint32_t step) const {
    const kernel::Environment& e = run.environment.environment;
    const uint64_t end = run.size - first < kGroup ? run.size : first + kGroup;
    for (uint64_t i = first; i < end; ++i) {
      const uint32_t random = round.draws ? random_word(e, step, 0, i, round.random_bits) : 0;
      const Rounded r = terms.element(i, e.semantics, random);
      store_element(out, kBytes, i, r.code);
      raise_status(run.status, r.flags, i);
    }
  }
};

/// AddN: floats of at most 32 bits in fp32, ascending, rounded once; others in their own arithmetic, ascending.
class AddNKernel final : public ElementKernel {
 public:
  AddNKernel(const OpContext& context, Device&)
      : ElementKernel(context, 0), count_(context.inputs.size()), type_(context.inputs[0].dtype) {
    const Semantics& s = context.settings.environment.semantics;
    const bool rounds = type_ != DType::kInt32 && type_ != DType::kFloat64;
    draws_ = rounds && s.draws(format_of(type_));
    by_body_ = context.settings.reference || !s.usual() || !rounds || count_ > kMostTerms ||
               !infinities_are_plain(s, format_of(type_)) ||
               (type_ == DType::kFloat32 && s.wide.subnormals == Subnormals::kFlushToPositive);
  }
  bool in_place() const override { return false; }
  size_t scratch_bytes() const override { return count_ > kMostTerms ? size() * sizeof(Running) : 0; }
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment&, uint64_t index) const override {
    std::vector<uint64_t> codes;
    for (size_t k = 0; k < count_; ++k)
      codes.push_back(load_element(in[k], static_cast<unsigned>(size_of(type_)), index));
    return codes;
  }

  void enqueue(const DeviceCall& call) const override {
    const Semantics& s = call.environment.environment.semantics;
    const FloatFormat format = format_of(type_);
    const unsigned bytes = static_cast<unsigned>(size_of(type_));
    const Grid grid = group_grid(call.device, size());
    Terms terms{type_, format, bytes, true, true, 0, {}};
    const FastRound round = by_body_ ? FastRound{} : FastRound::of(format, s, call.status != nullptr);
    for (size_t done = 0; done < count_; done += kMostTerms) {
      terms.count = static_cast<unsigned>(std::min(kMostTerms, count_ - done));
      terms.first = done == 0, terms.last = done + terms.count == count_;
      bool vectors = detail::aligned_groups(call.out[0], bytes);
      for (unsigned k = 0; k < terms.count; ++k) {
        terms.in[k] = call.in[done + k];
        vectors = vectors && detail::aligned_groups(terms.in[k], bytes);
      }
      if (round.usable && type_ == DType::kFloat32) {
        add_groups<4>(call, terms, vectors, round);
      } else if (round.usable) {
        add_groups<2>(call, terms, vectors, round);
      } else {
        call.device.launch("add_n", grid,
                           AddNBodies{terms, call.out[0], static_cast<Running*>(call.scratch), draws_,
                                      s.rounding(format).random_bits, size(), call.environment, call.status});
      }
    }
  }

 private:
  template <unsigned kBytes>
  void add_groups(const DeviceCall& call, const Terms& terms, bool vectors, const FastRound& round) const {
    using Kernel = AddNGroups<kBytes>;
    const Semantics& s = call.environment.environment.semantics;
    const bool flushes = kBytes == 4 && s.wide_operands_flushed;
    call.device.launch("add_n", at_once_grid(call.device, size(), Kernel::kMostThreads),
                       Kernel{terms,
                              call.out[0],
                              vectors,
                              flushes ? kLeastNormal32 : 0,
                              s.operand_flush_sign == FlushSign::kPositive ? 0 : 0x80000000u,
                              round,
                              {size(), call.environment, call.status}});
  }

  size_t count_;
  DType type_;
  bool by_body_;
};

struct FillGroups {
  uint64_t code;
  void* out;
  unsigned bytes;
  bool vectors;
  uint64_t size;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      each_group(block, t, size, [&](uint64_t first, unsigned count) {
        if (bytes == 8) {
          for (unsigned j = 0; j < count; ++j) store_element(out, 8, first + j, code);
          return;
        }
        uint32_t all[kGroup];
        for_group([&](unsigned j) { all[j] = static_cast<uint32_t>(code); });
        store_group(out, bytes, vectors, first, count, all);
      });
    });
  }
};

/// Every element the same: Fill, ZerosLike, OnesLike.
class ConstantKernel final : public OpKernel {
 public:
  ConstantKernel(const OpContext& context, double value)
      : size_(static_cast<uint64_t>(context.node.outputs[0].shape.elements())),
        bytes_(static_cast<unsigned>(size_of(context.node.outputs[0].dtype))),
        code_(engine::constant_code(context.node.outputs[0].dtype, value)) {}

  void enqueue(const DeviceCall& call) const override {
    if (code_ == 0 && size_ != 0) return call.device.fill(call.out[0], 0, size_ * bytes_);
    call.device.launch("fill", group_grid(call.device, size_),
                       FillGroups{code_, call.out[0], bytes_, detail::aligned_groups(call.out[0], bytes_), size_});
  }

 private:
  uint64_t size_;
  unsigned bytes_;
  uint64_t code_;
};

}  // namespace

std::unique_ptr<OpKernel> make_add_n(const OpContext& context, Device& device) {
  return std::make_unique<AddNKernel>(context, device);
}
std::unique_ptr<OpKernel> make_fill(const OpContext& context, Device&) {
  return std::make_unique<ConstantKernel>(context, attribute<double>(context.node, "value"));
}
std::unique_ptr<OpKernel> make_zeros(const OpContext& context, Device&) {
  return std::make_unique<ConstantKernel>(context, 0.0);
}
std::unique_ptr<OpKernel> make_ones(const OpContext& context, Device&) {
  return std::make_unique<ConstantKernel>(context, 1.0);
}

}  // namespace softamp::cuda
