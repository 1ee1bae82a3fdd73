// What the tests of gradients run, and how they write tensors down.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/graph/executor_check.h"

namespace softamp::test {

using Results = std::vector<std::optional<Port>>;
using Ports = std::vector<Port>;

/// A graph's outputs under IEEE rounding; every placeholder is fed.
inline RunResult run(const Graph& graph, const std::vector<std::pair<std::string, Tensor>>& data,
                     const Results& wanted) {
  std::vector<Feed> feeds;
  for (const auto& [port, tensor] : data) feeds.push_back({port, &tensor});
  std::vector<std::string> fetches;
  for (const std::optional<Port>& p : wanted) fetches.push_back(graph.port_name(p.value()));
  ExecutorOptions options;
  options.semantics = Semantics::ieee();
  options.status = true;
  options.threads = 1;
  return make_executor(graph, options)->run(feeds, fetches);
}

inline std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out;
  for (int64_t i = 0; i < t.elements(); ++i) out.push_back(t.value(i));
  return out;
}

inline constexpr DType kHalf = DType::kFloat16, kSingle = DType::kFloat32;

}  // namespace softamp::test
