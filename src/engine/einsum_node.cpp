#include "softamp/engine/einsum_node.h"

#include <cstring>
#include <utility>

#include "softamp/engine/structure_maps.h"
#include "softamp/graph/einsum.h"

namespace softamp::engine {
namespace {

using Extents = std::map<char, int64_t>;

std::vector<int64_t> extents_of(const std::string& letters, const Extents& extents) {
  std::vector<int64_t> all;
  for (const char c : letters) all.push_back(extents.at(c));
  return all;
}
int64_t elements_of(const std::string& letters, const Extents& extents) {
  int64_t count = 1;
  for (const char c : letters) count *= extents.at(c);
  return count;
}

/// From axes in the order `from` to axes in the order `to`.
EinsumStep transposition(const Node& einsum, const std::string& from, const std::string& to, const Extents& extents,
                         int source) {
  const DType type = einsum.outputs[0].dtype;
  std::vector<int64_t> perm;
  for (const char c : to) perm.push_back(static_cast<int64_t>(from.find(c)));
  EinsumStep step{"Transpose", {}, {{type, Shape(extents_of(from, extents))}}, {source}};
  step.node.name = einsum.name;
  step.node.op = "Transpose";
  step.node.attributes["perm"] = std::move(perm);
  step.node.outputs = {{type, Shape(extents_of(to, extents))}};
  return step;
}

constexpr size_t kAlignment = 256;

}  // namespace

EinsumNode::EinsumNode(const OpContext& c) {
  const Node& node = c.node;
  const EinsumEquation e(attribute<std::string>(node, "equation"));
  const Extents extents = e.extents(c.inputs[0].shape, c.inputs[1].shape);
  const DType type = node.outputs[0].dtype;
  left_ = e.left;
  const int64_t batch = elements_of(e.batch, extents), inner = elements_of(e.inner, extents);

  EinsumStep multiply{"BatchMatMulV2", {}, {}, {}};
  multiply.node.name = node.name;
  multiply.node.op = node.op;
  for (const char* name : {"batch_sum", "partialsType"}) multiply.node.attributes[name] = node.attributes.at(name);
  // An operand: its own letters before the inner ones (of the left operand) or after them.
  const auto operand = [&](int input, const std::string& own, bool own_first, const char* swapped_name) {
    const std::string& term = e.terms[input];
    const std::string straight = e.batch + (own_first ? own + e.inner : e.inner + own),
                      other = e.batch + (own_first ? e.inner + own : own + e.inner);
    const bool swapped = term == other && term != straight;
    int source = input;
    if (term != straight && !swapped) {
      steps.push_back(transposition(node, term, straight, extents, input));
      source = -static_cast<int>(steps.size());
    }
    const int64_t extent = elements_of(own, extents);
    const bool tall = own_first != swapped;  // its own letters come first
    multiply.inputs.push_back({type, tall ? Shape{batch, extent, inner} : Shape{batch, inner, extent}});
    multiply.from.push_back(source);
    multiply.node.attributes[swapped_name] = swapped;
  };
  operand(left_, e.rows, true, "adj_x");
  operand(1 - left_, e.columns, false, "adj_y");
  multiply.node.outputs = {{type, Shape{batch, elements_of(e.rows, extents), elements_of(e.columns, extents)}}};
  product = steps.size();
  steps.push_back(std::move(multiply));
  const std::string made = e.batch + e.rows + e.columns;
  if (made != e.result) steps.push_back(transposition(node, made, e.result, extents, -1 - static_cast<int>(product)));
  for (size_t s = 0; s + 1 < steps.size(); ++s) {
    steps[s].offset = between_bytes;
    between_bytes += (steps[s].node.outputs[0].bytes() + kAlignment - 1) / kAlignment * kAlignment;
  }
}

uint64_t EinsumNode::element_of(uint64_t place) const {
  if (product + 1 == steps.size()) return place;
  // The axes of the product, by their place in the output: each is found by its stride in the product.
  const kernel::StructureMap map = structure_maps(steps.back().node, steps.back().inputs).uses[0].map;
  uint64_t index = 0;
  for (int a = 0; a < map.rank; ++a) {
    const auto extent = static_cast<uint64_t>(map.axis[a].extent), stride = static_cast<uint64_t>(map.axis[a].stride);
    index = index * extent + place / stride % extent;
  }
  return index;
}

std::vector<uint64_t> EinsumNode::operands_at(const OpKernel& multiply, const void* const* in,
                                              const kernel::Environment& e, uint64_t index) const {
  std::vector<std::vector<std::byte>> moved(steps.size());
  const void* operands[2];
  for (size_t i = 0; i < 2; ++i) {
    const int from = steps[product].from[i];
    operands[i] = from < 0 ? nullptr : in[from];
    if (from >= 0) continue;
    const auto s = static_cast<size_t>(-1 - from);
    const kernel::StructureMap map = structure_maps(steps[s].node, steps[s].inputs).uses[0].map;
    const size_t element = size_of(steps[s].inputs[0].dtype);
    const int64_t count = steps[s].node.outputs[0].shape.elements();
    moved[s].resize(static_cast<size_t>(count) * element);
    for (int64_t at = 0; at < count; ++at)
      std::memcpy(moved[s].data() + static_cast<size_t>(at) * element,
                  static_cast<const std::byte*>(in[steps[s].from[0]]) +
                      static_cast<size_t>(kernel::source_of(map, at)) * element,
                  element);
    operands[i] = moved[s].data();
  }
  if (product + 1 < steps.size())
    index = static_cast<uint64_t>(kernel::source_of(structure_maps(steps.back().node, steps.back().inputs).uses[0].map,
                                                    static_cast<int64_t>(index)));
  std::vector<uint64_t> codes = multiply.operands_at(operands, e, index);
  if (left_ == 1 && codes.size() == 2) std::swap(codes[0], codes[1]);
  return codes;
}

}  // namespace softamp::engine
