// A plan of casts applied to a GraphDef, and the one change that TensorFlow's pass makes first.
#include <algorithm>
#include <charconv>
#include <utility>

#include "src/precision/graph_def/graph_def_impl.h"
#include "src/precision/graph_def/open_bodies.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

using graph_def::AttrValue;
using graph_def::NodeDef;
using graph_def_detail::HeldGraph;
using graph_def_detail::output_name;
using graph_def_detail::parse_input;

graph_def::DataType data_type(DType t) { return static_cast<graph_def::DataType>(element_type(t)); }

class GraphDefApplication {
 public:
  GraphDefApplication(const HeldGraph& held, const CastPlan& plan)
      : held_(held), graph_(held.graph), plan_(plan), place_(held.place) {}

  graph_def::GraphDef run() {
    // Everything except the nodes; they are copied one by one, with casts between them.
    result_ = rest_of(graph_);
    gather_casts();
    result_.mutable_node()->Reserve(graph_.node_size() + static_cast<int>(plan_.casts.size()));
    for (int n = 0; n < graph_.node_size(); ++n) {
      numbers_.push_back(result_.node_size());
      *result_.add_node() = graph_.node(n);
      for (size_t c = casts_begin_[static_cast<size_t>(n)]; c < casts_begin_[static_cast<size_t>(n) + 1]; ++c)
        add_cast(plan_.casts[static_cast<size_t>(casts_[c])]);
    }
    retype_all();
    for (const PlannedCast& cast : plan_.casts)
      for (const auto& [reader, input] : cast.readers) redirect(reader, input, cast.name);
    for (const CastPlan::Redirect& r : plan_.redirected)
      redirect(r.node, r.input, output_name(graph_.node(checked(r.to.node)).name(), r.to.port));
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw GraphDefError(std::string(place_) + ": the plan of casts " + what +
                        "; expected the plan of this graph's picture");
  }

  static graph_def::GraphDef rest_of(const graph_def::GraphDef& graph) {
    graph_def::GraphDef rest;
    if (graph.has_library()) *rest.mutable_library() = graph.library();
    if (graph.has_versions()) *rest.mutable_versions() = graph.versions();
    if (graph.has_debug_info()) *rest.mutable_debug_info() = graph.debug_info();
    rest.set_version(graph.version());
    rest.GetReflection()->MutableUnknownFields(&rest)->MergeFrom(graph.GetReflection()->GetUnknownFields(graph));
    return rest;
  }

  int checked(int node) const {
    if (node < 0 || node >= graph_.node_size())
      fail("names node number " + std::to_string(node) + " of " + std::to_string(graph_.node_size()));
    return node;
  }

  /// Numbers of casts by producer, in the plan's order.
  void gather_casts() {
    casts_begin_.assign(static_cast<size_t>(graph_.node_size()) + 1, 0);
    for (const PlannedCast& cast : plan_.casts) ++casts_begin_[static_cast<size_t>(checked(cast.from.node)) + 1];
    for (size_t n = 1; n < casts_begin_.size(); ++n) casts_begin_[n] += casts_begin_[n - 1];
    std::vector<size_t> next(casts_begin_.begin(), casts_begin_.end() - 1);
    casts_.resize(plan_.casts.size());
    for (size_t c = 0; c < plan_.casts.size(); ++c)
      casts_[next[static_cast<size_t>(plan_.casts[c].from.node)]++] = static_cast<int>(c);
  }

  void add_cast(const PlannedCast& cast) {
    const NodeDef& producer = graph_.node(cast.from.node);
    NodeDef& node = *result_.add_node();
    node.set_name(cast.name);
    node.set_op("Cast");
    node.add_input(output_name(producer.name(), cast.from.port));
    node.set_device(cast.device);
    auto& attributes = *node.mutable_attr();
    const bool to_low = cast.to != DType::kFloat32;
    attributes["SrcT"].set_type(data_type(to_low ? DType::kFloat32 : plan_.low));
    attributes["DstT"].set_type(data_type(cast.to));
    attributes["Truncate"].set_b(false);
    for (const char* name : {"layer", "_layer"})
      if (const AttrValue* value = graph_def_detail::find_attribute(producer, name)) attributes[name] = *value;
  }

  void retype_all() {
    ShortList<TypeUnit, 1> units;
    int of = -1;  // the plan names all units of a node one after another
    for (const auto& [number, unit] : plan_.retyped) {
      const NodeDef& node = graph_.node(checked(number));
      if (number != of) units = graph_def_detail::units_of(node, held_.signature(node), place_).units;
      of = number;
      if (unit < 0 || static_cast<size_t>(unit) >= units.size())
        fail("names unit " + std::to_string(unit) + " of '" + files::excerpt(node.name()) + "', which has " +
             std::to_string(units.size()));
      retype(number, units[static_cast<size_t>(unit)].attribute);
    }
  }

  void retype(int number, std::string_view name) {
    auto& attributes = *result_.mutable_node(numbers_[static_cast<size_t>(number)])->mutable_attr();
    const size_t bracket = name.ends_with(']') ? name.rfind('[') : std::string_view::npos;
    if (bracket == std::string_view::npos || attributes.contains(std::string(name))) {
      attributes[std::string(name)].set_type(data_type(plan_.low));
      return;
    }
    int index = 0;
    std::from_chars(name.data() + bracket + 1, name.data() + name.size() - 1, index);
    attributes[std::string(name.substr(0, bracket))].mutable_list()->set_type(index, data_type(plan_.low));
  }

  /// Inputs of the picture are the data inputs, which come before the control inputs, so they have the same numbers
  /// here.
  void redirect(int reader, int input, const std::string& to) {
    NodeDef& node = *result_.mutable_node(numbers_[static_cast<size_t>(checked(reader))]);
    if (input < 0 || input >= node.input_size() || parse_input(node.input(input)).control)
      fail("names input " + std::to_string(input) + " of '" + files::excerpt(node.name()) +
           "', which has no such data input");
    node.set_input(input, to);
  }

  const HeldGraph& held_;
  const graph_def::GraphDef& graph_;
  const CastPlan& plan_;
  std::string_view place_;
  std::vector<size_t> casts_begin_;
  std::vector<int> casts_, numbers_;  // casts by producer; numbers of the nodes in the result
  graph_def::GraphDef result_;
};

}  // namespace

GraphDefFile GraphDefFile::apply(const CastPlan& plan) const {
  return GraphDefFile(std::make_shared<const Impl>(GraphDefApplication(*impl_, plan).run(), impl_->place, impl_->open));
}

GraphDefFile GraphDefFile::with_fused_batch_norm_v2() const {
  const auto is_first_version = [](const NodeDef& node) {
    return node.op() == "FusedBatchNorm" || node.op() == "FusedBatchNormGrad";
  };
  const auto& nodes = impl_->graph.node();
  if (std::none_of(nodes.begin(), nodes.end(), is_first_version)) return *this;
  graph_def::GraphDef graph = impl_->graph;
  for (NodeDef& node : *graph.mutable_node()) {
    if (!is_first_version(node)) continue;
    node.set_op(node.op() + "V2");
    (*node.mutable_attr())["U"].set_type(graph_def::DT_FLOAT);
  }
  return GraphDefFile(std::make_shared<const Impl>(std::move(graph), impl_->place, impl_->open));
}

GraphDefFile GraphDefFile::opened(ListView<std::string> fetches, std::vector<std::string>* notes) const {
  if (impl_->open) throw std::logic_error("GraphDefFile::opened: the functions are open already");
  graph_def_detail::OpenedGraph open =
      graph_def_detail::opened(*impl_, std::vector<std::string>(fetches.begin(), fetches.end()));
  if (notes) *notes = std::move(open.notes);
  if (!open.open) return *this;
  return GraphDefFile(std::make_shared<const Impl>(std::move(open.graph), impl_->place, std::move(open.open)));
}

GraphDefFile GraphDefFile::closed() const {
  if (!impl_->open) return *this;
  return GraphDefFile(std::make_shared<const Impl>(graph_def_detail::closed(*impl_, *impl_->open), impl_->place));
}

}  // namespace softamp
