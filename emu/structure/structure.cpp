// Kernels of the operations that move elements. None raises a flag.
#include <cstring>

#include "emu/parallel.h"
#include "emu/stop_check.h"
#include "emu/structure/copy_box.h"
#include "emu/structure/line_writer.h"
#include "emu/structure/structure_index.h"
#include "softamp/engine/structure_maps.h"
#include "softamp/graph/operation.h"

namespace softamp::emu {

using engine::MapUse;
using engine::StructureMaps;
namespace {

/// The bytes of input 0, under another shape or the same.
class CopyKernel final : public OpKernel {
 public:
  explicit CopyKernel(const OpContext& c) : bytes_(c.inputs[0].bytes()), threads_(c.settings.threads) {}
  bool in_place() const override { return true; }
  void run(const OpCall& call) const override {
    if (call.in[0] == call.out[0]) return;
    const std::byte* in = static_cast<const std::byte*>(call.in[0]);
    std::byte* out = static_cast<std::byte*>(call.out[0]);
    auto body = [&](size_t begin, size_t end, size_t) {
      LineWriter(out + begin, bytes_ > kCopyStreamFrom).put(in + begin, end - begin);
    };
    parallel_ranges(bytes_, size_t{1} << 18, 64, threads_, body);
  }

 private:
  size_t bytes_;
  int threads_;
};

void fill(void* out, size_t element, int64_t count, uint64_t code, int threads) {
  auto body = [&](size_t begin, size_t end, size_t) {
    std::byte* const bytes = static_cast<std::byte*>(out);
    switch (element) {
      case 1: std::memset(bytes + begin, static_cast<int>(code), end - begin); break;
      case 2: std::fill_n(reinterpret_cast<uint16_t*>(bytes) + begin, end - begin, static_cast<uint16_t>(code)); break;
      case 4: std::fill_n(reinterpret_cast<uint32_t*>(bytes) + begin, end - begin, static_cast<uint32_t>(code)); break;
      default: std::fill_n(reinterpret_cast<uint64_t*>(bytes) + begin, end - begin, code);
    }
  };
  parallel_ranges(static_cast<size_t>(count), size_t{1} << 16, 64, threads, body);
}

class MapKernel final : public OpKernel {
 public:
  explicit MapKernel(const OpContext& c)
      : maps_(engine::structure_maps(c.node, c.inputs)),
        element_(size_of(c.inputs[0].dtype)),
        threads_(c.settings.threads),
        reference_(c.settings.reference) {
    for (const TensorType& output : c.node.outputs) {
      elements_.push_back(output.shape.elements());
      streams_.push_back(output.bytes() > kCopyStreamFrom);
    }
    for (const MapUse& use : maps_.uses) boxes_.emplace_back(use.map, element_);
  }

  void run(const OpCall& call) const override {
    if (reference_) return run_reference(call);
    // Boxes do not overlap; if they leave gaps, these are filled as the rows between them are written, or everything is
    // filled first.
    if (maps_.filled && boxes_[0].elements() != elements_[0]) {
      if (boxes_[0].rows())
        return boxes_[0].run_filling(call.in[0], call.out[0], threads_, streams_[0], maps_.fill, elements_[0]);
      fill(call.out[0], element_, elements_[0], maps_.fill, threads_);
    }
    for (size_t i = 0; i < boxes_.size(); ++i) {
      const MapUse& use = maps_.uses[i];
      boxes_[i].run(call.in[use.input], call.out[use.output], threads_, streams_[use.output]);
    }
  }

 private:
  void run_reference(const OpCall& call) const {
    StopCheck check(call.stop);
    for (size_t output = 0; output < elements_.size(); ++output)
      for (int64_t i = 0; i < elements_[output]; ++i) {
        const void* from = &maps_.fill;  // little-endian: the code's first bytes
        for (const MapUse& use : maps_.uses) {
          if (use.output != output) continue;
          const int64_t source = kernel::source_of(use.map, i);
          if (source < 0) continue;
          from = static_cast<const std::byte*>(call.in[use.input]) + static_cast<size_t>(source) * element_;
          break;
        }
        std::memcpy(static_cast<std::byte*>(call.out[output]) + static_cast<size_t>(i) * element_, from, element_);
        check.after(maps_.uses.size() * StopCheck::kBody);
      }
  }

  StructureMaps maps_;
  std::vector<CopyBox> boxes_;
  std::vector<int64_t> elements_;
  std::vector<uint8_t> streams_;  // per output: whether stores bypass the caches
  size_t element_;
  int threads_;
  bool reference_;
};

}  // namespace

std::span<const KernelEntry> structure_kernels() {
  static constexpr auto entries = engine::structure_entries<KernelFactory>(
      {make_kernel<CopyKernel>, make_kernel<MapKernel>, make_gather, make_one_hot, make_segment_sum});
  return entries;
}

}  // namespace softamp::emu
