// Which map (kernel/structure.h) each output of an operation that moves elements has to each of its inputs.
#pragma once

#include <array>
#include <vector>

#include "softamp/engine/kernel_registry.h"
#include "softamp/engine/op_kernel.h"
#include "softamp/kernel/structure.h"

namespace softamp::engine {

struct MapUse {
  size_t input = 0, output = 0;
  kernel::StructureMap map;
};

/// An operation as maps: output element i is that of the first use of its output whose source is not -1, else `fill`.
struct StructureMaps {
  std::vector<MapUse> uses;
  bool filled = false;  ///< some elements may have no source
  uint64_t fill = 0;    ///< code of the elements without a source
};

/// Transpose, ConcatV2, Pack, Unpack, Split, SplitV, Pad, Slice, StridedSlice, Tile.
StructureMaps structure_maps(const Node& node, std::span<const TensorType> inputs);

/// The axis, counted from 0.
inline int axis_of(const Node& node, int rank) {
  const int64_t axis = attribute<int64_t>(node, "axis");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

/// What an engine has for the operations that move elements: copies of input 0, maps, and three more.
template <class Factory>
struct StructureKernels {
  Factory copy, map, gather, one_hot, segment_sum;
};

template <class Factory>
constexpr auto structure_entries(const StructureKernels<Factory>& k) {
  return std::to_array<KernelEntry<Factory>>({
      {"Assign", k.copy},         {"ConcatV2", k.map},     {"ExpandDims", k.copy},
      {"GatherV2", k.gather},     {"Identity", k.copy},    {"OneHot", k.one_hot},
      {"OutfeedEnqueue", k.copy}, {"Pack", k.map},         {"Pad", k.map},
      {"PrintTensor", k.copy},    {"Reshape", k.copy},     {"Slice", k.map},
      {"Split", k.map},           {"SplitV", k.map},       {"Squeeze", k.copy},
      {"StopGradient", k.copy},   {"StridedSlice", k.map}, {"Tile", k.map},
      {"Transpose", k.map},       {"Unpack", k.map},       {"UnsortedSegmentSum", k.segment_sum},
  });
}

}  // namespace softamp::engine
