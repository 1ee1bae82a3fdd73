// AllFinite: how many elements of each input are infinite or NaN. Counts are integers: no order matters.
#include <atomic>

#include "emu/op_kernel.h"
#include "emu/optimizers/optimizer_kernels.h"
#include "emu/parallel.h"
#include "softamp/kernel/reductions.h"

namespace softamp::emu {
namespace {

class AllFiniteKernel final : public OpKernel {
 public:
  explicit AllFiniteKernel(const OpContext& c)
      : type_(c.inputs[0].dtype), threads_(c.settings.threads), reference_(c.settings.reference) {
    for (const TensorType& t : c.inputs) sizes_.push_back(static_cast<size_t>(t.shape.elements()));
    vectors_ = &updates_of(c.settings.isa);
  }

  void run(const OpCall& call) const override {
    bool finite = true;
    for (size_t k = 0; k < sizes_.size(); ++k) {
      const uint64_t count = reference_ ? count_by_body(call.in[k], sizes_[k]) : count_in(call.in[k], sizes_[k]);
      static_cast<int32_t*>(call.out[1])[k] = static_cast<int32_t>(count);
      finite = finite && count == 0;
    }
    static_cast<uint8_t*>(call.out[0])[0] = finite;
  }

 private:
  uint64_t count_in(const void* codes, size_t n) const {
    std::atomic<uint64_t> count{0};
    auto body = [&](size_t begin, size_t end, size_t) {
      uint64_t found = 0;
      if (type_ == DType::kFloat64)
        found = count_by_body(static_cast<const uint64_t*>(codes) + begin, end - begin);
      else if (type_ == DType::kFloat32)
        found = vectors_->not_finite32(static_cast<const uint32_t*>(codes) + begin, end - begin);
      else
        found = vectors_->not_finite16(static_cast<const uint16_t*>(codes) + begin, end - begin,
                                       static_cast<uint16_t>(format_of(type_).infinity_code()));
      if (found) count.fetch_add(found, std::memory_order_relaxed);
    };
    parallel_ranges(n, size_t{1} << 16, 64, threads_, body);
    return count.load();
  }
  uint64_t count_by_body(const void* codes, size_t n) const {
    const FloatFormat f = format_of(type_);
    uint64_t count = 0;
    const kernel::Elements elements{codes, f};
    for (size_t i = 0; i < n; ++i) count += !f.is_finite(elements.code(i));
    return count;
  }

  std::vector<size_t> sizes_;
  DType type_;
  int threads_;
  bool reference_;
  const UpdateKernels* vectors_;
};

}  // namespace

// implements: N245
std::unique_ptr<OpKernel> make_all_finite(const OpContext& c) { return std::make_unique<AllFiniteKernel>(c); }

}  // namespace softamp::emu
