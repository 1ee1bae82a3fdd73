// The kernels of operations that move elements. None raises a flag.
#include "cuda/structure/copy_box.h"
#include "cuda/structure/structure_index.h"
#include "softamp/engine/structure_maps.h"
#include "softamp/graph/operation.h"

namespace softamp::cuda {
namespace {

using engine::MapUse;
using engine::StructureMaps;

/// The bytes of input 0, under another shape or the same.
class CopyKernel final : public OpKernel {
 public:
  CopyKernel(const OpContext& c, Device&) : bytes_(c.inputs[0].bytes()) {}
  bool in_place() const override { return true; }
  void enqueue(const DeviceCall& call) const override {
    if (bytes_ && call.in[0] != call.out[0]) call.device.copy(call.out[0], call.in[0], bytes_);
  }

 private:
  size_t bytes_;
};

class MapKernel final : public OpKernel {
 public:
  MapKernel(const OpContext& c, Device&)
      : maps_(engine::structure_maps(c.node, c.inputs)),
        element_(size_of(c.inputs[0].dtype)),
        elements_(c.node.outputs[0].shape.elements()) {
    for (const MapUse& use : maps_.uses) boxes_.emplace_back(use.map, element_);
  }

  void enqueue(const DeviceCall& call) const override {
    // Boxes do not overlap; if they leave gaps, everything is filled first.
    if (maps_.filled && boxes_[0].elements() != elements_)
      enqueue_fill(call.device, call.out[0], element_, static_cast<uint64_t>(elements_), maps_.fill);
    for (size_t i = 0; i < boxes_.size(); ++i)
      boxes_[i].enqueue(call.device, call.in[maps_.uses[i].input], call.out[maps_.uses[i].output]);
  }

 private:
  StructureMaps maps_;
  std::vector<CopyBox> boxes_;
  size_t element_;
  int64_t elements_;  ///< of output 0
};

}  // namespace

std::span<const KernelEntry> structure_kernels() {
  static constexpr auto entries = engine::structure_entries<KernelFactory>(
      {make_kernel<CopyKernel>, make_kernel<MapKernel>, make_gather, make_one_hot, make_segment_sum});
  return entries;
}

}  // namespace softamp::cuda
