// softamp.Graph and softamp.Executor: graphs of tensor operations, from JSON and from TensorFlow's GraphDefs.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <map>

#include "softamp/graph/graph_json.h"
#include "softamp/graph/graph_text.h"
#include "softamp/names/names.h"
#include "src/names/name_rows.h"
#include "src/python/bindings.h"
#include "src/python/errors.h"
#include "src/python/executor_options.h"
#include "src/python/gil.h"
#include "src/python/graph_def.h"
#include "src/python/interrupt.h"
#include "src/python/tensors.h"

namespace softamp::python {
namespace {

nb::list shape_list(const Shape& shape) {
  nb::list all;
  for (const int64_t extent : shape) all.append(extent);
  return all;
}

nb::list nodes_of(const Graph& graph) {
  nb::list all;
  for (const Node& node : graph.nodes()) {
    nb::dict one;
    one["name"] = text(node.name);
    one["op"] = text(node.op);
    nb::list inputs, outputs;
    for (const Port& p : node.inputs) inputs.append(text(graph.port_name(p)));
    for (const TensorType& t : node.outputs) {
      nb::dict type;
      type["dtype"] = nb::str(name_of(t.dtype));
      type["shape"] = shape_list(t.shape);
      outputs.append(type);
    }
    one["inputs"] = inputs;
    one["outputs"] = outputs;
    all.append(one);
  }
  return all;
}

/// Tensors that nothing reads: what a run computes where nothing is asked for and the file names no outputs.
std::vector<std::string> unread(const Graph& graph) {
  std::vector<bool> read(static_cast<size_t>(graph.size()));
  for (const Node& node : graph.nodes())
    for (const Port& p : node.inputs)
      if (p.node >= 0) read[static_cast<size_t>(p.node)] = true;
  std::vector<std::string> names;
  for (int n = 0; n < graph.size(); ++n)
    if (!read[static_cast<size_t>(n)] && !graph.node(n).outputs.empty() && graph.node(n).op != "Placeholder")
      names.push_back(graph.node(n).name);
  return names;
}

/// An executor with the graph that it keeps, and Ctrl-C.
class ExecutorObject {
 public:
  ExecutorObject(Graph graph, std::map<std::string, std::string> ports, ExecutorOptions options)
      : ports_(std::move(ports)) {
    options.stop = [this] { return watch_ && watch_->stopped(); };
    executor_ = make_executor(std::move(graph), std::move(options));
  }

  nb::dict run(nb::dict feeds, const std::vector<std::string>& fetches) {
    const Use use(*this);
    std::vector<Feed> given;
    for (const auto& [name, value] : feeds) {
      const std::string key(word(name, "feeds"));
      given.emplace_back(key, tensor_from(value, key.c_str(), expected(key)));
    }
    std::vector<std::string> ports;
    for (const std::string& fetch : fetches) {
      const auto port = ports_.find(fetch);
      ports.push_back(port == ports_.end() ? fetch : port->second);
    }
    StopWatch watch;
    RunResult result;
    try {
      watch_ = &watch;
      const Released released;
      result = executor_->run(given, ports);
    } catch (const RunStopped&) {
      watch_ = nullptr;
      watch.rethrow();
      throw;
    } catch (...) {
      watch_ = nullptr;
      throw;
    }
    watch_ = nullptr;
    nb::dict values;
    for (size_t i = 0; i < fetches.size(); ++i) values[text(fetches[i])] = array_of(result.values[i]);
    nb::list operations;
    for (const OperationStatus& o : result.operations) {
      nb::dict one;
      one["name"] = text(o.name);
      one["op"] = text(o.op);
      one["status"] = nb::cast(o.status);
      operations.append(one);
    }
    nb::dict statistics;
    for (const NamedStatistics& s : result.statistics) statistics[text(s.name)] = text(s.statistics.json());
    nb::dict all;
    all["step"] = result.step;
    all["values"] = values;
    all["operations"] = operations;
    all["statistics"] = statistics;
    return all;
  }

  /// Calls `use` with the executor, while no run goes on.
  template <typename Call>
  auto with_executor(Call call) {
    const Use use(*this);
    return call(*executor_);
  }

 private:
  /// One call at a time: others come from threads, and from handlers of signals within a run. Throws RuntimeError.
  class Use {
   public:
    explicit Use(ExecutorObject& e) : e_(e) {
      if (e_.in_use_)
        throw std::runtime_error("Executor: a run goes on in another thread; expected one call at a time");
      e_.in_use_ = true;
    }
    ~Use() { e_.in_use_ = false; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    ExecutorObject& e_;
  };

  /// The dtype that a placeholder declares, so that unsigned integers can be bfloat16.
  std::optional<DType> expected(const std::string& name) const {
    const int node = executor_->graph().find(name);
    if (node < 0 || executor_->graph().node(node).outputs.empty()) return std::nullopt;
    return executor_->graph().node(node).outputs[0].dtype;
  }

  std::map<std::string, std::string> ports_;
  bool in_use_ = false;
  StopWatch* watch_ = nullptr;
  std::unique_ptr<Executor> executor_;
};

struct GraphObject {
  GraphFile file;
};

GraphObject* graph_from_json(nb::handle json, nb::handle folder) {
  JsonOptions options;
  options.source = "graph";
  if (!folder.is_none()) options.folder = std::string(word(folder, "folder"));
  return new GraphObject{read_graph_file(word(json, "json"), options)};
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<ExecutorObject>(m, "Executor")
      .def("run",
           [](ExecutorObject& e, nb::dict feeds, nb::list fetches) {
             std::vector<std::string> names;
             for (const nb::handle fetch : fetches) names.emplace_back(word(fetch, "fetches"));
             return e.run(feeds, names);
           })
      .def("variable",
           [](ExecutorObject& e, nb::handle name) {
             return e.with_executor([&](Executor& x) { return array_of(x.variable(word(name, "name"))); });
           })
      .def("set_variable",
           [](ExecutorObject& e, nb::handle name, nb::handle value) {
             e.with_executor([&](Executor& x) {
               const std::string_view key = word(name, "name");
               x.set_variable(key, tensor_from(value, "value", x.variable(key).dtype()));
             });
           })
      .def("take_outfeed",
           [](ExecutorObject& e, nb::handle queue) {
             return e.with_executor([&](Executor& x) {
               nb::list all;
               for (const Tensor& t : x.take_outfeed(word(queue, "queue"))) all.append(array_of(t));
               return all;
             });
           })
      .def_prop_ro("step", [](ExecutorObject& e) { return e.with_executor([](Executor& x) { return x.step(); }); })
      .def("set_step",
           [](ExecutorObject& e, nb::handle step) {
             e.with_executor(
                 [&](Executor& x) { x.set_step(static_cast<uint32_t>(whole(step, "step", 0, Executor::kSteps - 1))); });
           })
      .def_prop_ro("warnings", [](ExecutorObject& e) {
        nb::list all;
        e.with_executor([&](Executor& x) {
          for (const std::string& warning : x.warnings()) all.append(text(warning));
        });
        return all;
      });

  nb::class_<GraphObject>(m, "GraphFile")
      .def_static("from_json", graph_from_json, nb::rv_policy::take_ownership, nb::arg("json").none(),
                  nb::arg("folder").none())
      .def_static(
          "load", [](nb::handle path) { return new GraphObject{load_graph(std::string(word(path, "path")))}; },
          nb::rv_policy::take_ownership)
      .def_prop_ro("nodes", [](const GraphObject& g) { return nodes_of(g.file.graph); })
      .def_prop_ro("outputs",
                   [](const GraphObject& g) {
                     nb::list all;
                     for (const std::string& name : g.file.outputs.empty() ? unread(g.file.graph) : g.file.outputs)
                       all.append(text(name));
                     return all;
                   })
      .def("json", [](const GraphObject& g) { return text(graph_json(g.file.graph, g.file.outputs)); })
      .def("text", [](const GraphObject& g) { return text(softamp::text(g.file.graph)); })
      .def(
          "executor",
          [](const GraphObject& g, nb::dict options, std::optional<std::string> stochastic) {
            const ExecutorOptions o = executor_options_from(options);
            auto executor = std::make_unique<ExecutorObject>(g.file.graph, std::map<std::string, std::string>{}, o);
            const graph_detail::GraphUse use = graph_detail::use_of(g.file.graph, o);
            stochastic ? refuse_idle_options(options, o, use, stochastic->c_str())
                       : refuse_idle_options(options, o, use);
            return executor.release();
          },
          nb::rv_policy::take_ownership, nb::arg("options"), nb::arg("stochastic") = nb::none());
  m.def("is_tensor_core", [](nb::handle accumulator) {
    return is_tensor_core(named(accumulator, "accumulator", accumulator_from_name));
  });
  m.def("is_own", [](nb::handle operands) {
    return named(operands, "tensor_core_operands", tensor_core_operands_from_name) == TensorCoreOperands::kOwn;
  });
  m.def("our_partials", [](nb::handle partials) { return name_rows::our_partials(word(partials, "partials")); });
  m.def("word_of", [](const char* name, nb::handle object, nb::list words) {
    std::vector<std::string> known;
    for (const nb::handle each : words) known.emplace_back(word(each, name));
    return named(object, name, [&](std::string_view text) { return name_rows::word_from_name(name, known, text); });
  });
  m.def(
      "run_graph_def",
      [](nb::handle path, nb::dict feeds, nb::handle fetches, nb::dict options) {
        const ExecutorOptions o = executor_options_from(options);
        RunnableGraphDef r = runnable_graph_def(std::string(word(path, "path")), feeds, fetches, o);
        graph_detail::GraphUse use = graph_detail::use_of(r.graph, o);
        use.draws |= r.begins_by_drawing;
        ExecutorObject executor(std::move(r.graph), std::move(r.ports), o);
        refuse_idle_options(options, o, use);
        executor.with_executor([&](Executor& x) {
          for (const auto& [name, value] : r.variables) x.set_variable(name, value);
        });
        nb::dict given;
        for (const auto& [name, value] : r.feeds) given[text(name)] = array_of(value);
        return executor.run(given, r.fetches);
      },
      nb::arg("path").none(), nb::arg("feeds"), nb::arg("fetches").none(), nb::arg("options"));
}

}  // namespace softamp::python
