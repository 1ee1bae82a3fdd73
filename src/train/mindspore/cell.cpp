#include "softamp/train/mindspore/cell.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "src/train/cast_node.h"

namespace softamp::cells {
namespace {

bool low_or_single(DType t, bool strict) {
  return t == DType::kFloat16 || t == DType::kFloat32 || (t == DType::kBFloat16 && !strict);
}
[[noreturn]] void refuse_dtype() { throw std::invalid_argument("dst_type should inside float32 or float16."); }

/// Whether this cell and all within may be strict.
bool knows_no_bfloat16(const Cell& cell) {
  return cell.compute_dtype() != DType::kBFloat16 && cell.output_dtype() != DType::kBFloat16 &&
         std::all_of(cell.cells().begin(), cell.cells().end(), [](const Cell* c) { return knows_no_bfloat16(*c); });
}
/// Whether this cell and all within take the dtype.
bool takes(const Cell& cell, DType dtype) {
  return low_or_single(dtype, cell.strict()) &&
         std::all_of(cell.cells().begin(), cell.cells().end(), [&](const Cell* c) { return takes(*c, dtype); });
}

void apply_at(Cell& cell, const std::string& above, const LayerRule& rule) {
  const std::string path = above.empty() || cell.name().empty() ? above + cell.name() : above + "/" + cell.name();
  const LayerPrecision p = rule(cell.kind(), path);
  if (p.cast_input) {
    cell.to_float(p.compute);  // also sets the cells within, which are asked next
    cell.set_output(p.output);
  }
  for (Cell* within : cell.cells()) apply_at(*within, path, rule);
}

}  // namespace

Cell::Cell(Cell& parent, std::string name) : name_(std::move(name)) {
  for (const Cell* other : parent.cells_)
    if (other->name_ == name_)
      throw std::invalid_argument("cell '" + parent.name_ + "' has a cell '" + name_ +
                                  "' already; expected another name");
  parent.cells_.push_back(this);
  parent_ = &parent;
  strict_ = parent.strict_;
}

Cell::~Cell() {
  for (Cell* cell : cells_)
    if (cell->parent_ == this) cell->parent_ = nullptr;
  if (!parent_) return;
  // Usually the last one: cells are destroyed in reverse order.
  std::vector<Cell*>& cells = parent_->cells_;
  cells.erase(std::next(std::find(cells.rbegin(), cells.rend(), this)).base());
}

void Cell::adopt(Cell& cell) { cells_.push_back(&cell); }

Cell& Cell::set_strict() {
  if (!knows_no_bfloat16(*this)) refuse_dtype();
  strict_ = true;
  for (Cell* cell : cells_) cell->set_strict();
  return *this;
}

Cell& Cell::to_float(DType dtype) {
  if (!takes(*this, dtype)) refuse_dtype();
  compute_ = dtype;
  for (Cell* cell : cells_) cell->to_float(dtype);
  return *this;
}

Cell& Cell::set_output(std::optional<DType> dtype) {
  if (dtype && !low_or_single(*dtype, strict_))
    throw std::invalid_argument("cell '" + name_ + "': output dtype is " + name_of(*dtype) + "; expected float32" +
                                (strict_ ? " or float16" : ", float16 or bfloat16"));
  output_ = dtype;
  return *this;
}

Port Cell::operator()(CellBuild& build, std::span<const Port> inputs) {
  const auto scope = build.store.scope(name_, {}, true);
  const auto cast = [&](Port p, const std::optional<DType>& to, const char* name) {
    const DType from = build.builder().type(p).dtype;
    return to && is_floating(from) ? cast_to(build.builder(), p, *to, name) : p;
  };
  std::vector<Port> entered(inputs.begin(), inputs.end());
  for (Port& p : entered) {
    const Graph& graph = build.builder().graph();
    if (p.node < 0 || p.node >= graph.size() || p.port < 0 ||
        static_cast<size_t>(p.port) >= graph.node(p.node).outputs.size())
      throw GraphError("cell '" + build.store.scope_path() + "': input is output " + std::to_string(p.port) +
                       " of node number " + std::to_string(p.node) + "; expected an output of a node of the graph");
    p = cast(p, compute_, "input_cast");
  }
  return cast(construct(build, entered), output_, "output_cast");
}

// implements: N292
Port Cell::parameter(CellBuild& build, std::string_view name, const Shape& shape, const Initializer& initializer,
                     bool trainable) const {
  const std::string text(name);
  const Port kept = build.store.get({text, shape, DType::kFloat32, initializer, trainable}).port;
  if (!compute_ || *compute_ == DType::kFloat32) return kept;
  return add_cast(build.builder(), kept, *compute_, text + "_cast");
}

void Cell::expect_inputs(std::span<const Port> inputs, size_t count) const {
  if (inputs.size() != count)
    throw GraphError("cell '" + name_ + "': " + std::to_string(inputs.size()) + " inputs; expected " +
                     std::to_string(count));
}

void apply_rule(Cell& network, const LayerRule& rule) { apply_at(network, {}, rule); }

WithLossCell::WithLossCell(Cell& backbone, Cell& loss_fn, bool cast_to_float32)
    : backbone_(backbone), loss_fn_(loss_fn), cast_(cast_to_float32) {
  adopt(backbone);
  adopt(loss_fn);
}

Port WithLossCell::construct(CellBuild& build, std::span<const Port> inputs) {
  expect_inputs(inputs, 2);
  Port out = backbone_(build, inputs[0]), label = inputs[1];
  const auto scope = build.store.scope("loss_fn", {}, true);
  GraphBuilder& b = build.builder();
  if (cast_)
    for (Port* p : {&out, &label})
      if (is_floating(b.type(*p).dtype)) *p = cast_to(b, *p, DType::kFloat32, "float32_cast");
  return loss_fn_(build, {out, label});
}

}  // namespace softamp::cells
