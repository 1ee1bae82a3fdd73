// Short words for tests of executors: tensors, runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "softamp/graph/executor.h"
#include "softamp/graph/operation.h"
#include "tests/refusal.h"

namespace softamp::test {

inline Tensor tensor(DType dtype, const Shape& shape, const std::vector<double>& values) {
  return Tensor::from_values(dtype, shape, values);
}
inline Tensor halves(const std::vector<double>& values) {
  return tensor(DType::kFloat16, Shape{static_cast<int64_t>(values.size())}, values);
}
inline Tensor floats(const std::vector<double>& values) {
  return tensor(DType::kFloat32, Shape{static_cast<int64_t>(values.size())}, values);
}

using Tensors = std::map<std::string, const Tensor*>;
using Names = std::vector<std::string>;

inline RunResult run(Executor& executor, const Tensors& feeds, const Names& fetches) {
  std::vector<Feed> list;
  for (const auto& [name, value] : feeds) list.push_back({name, value});
  return executor.run(list, fetches);
}

inline ExecutorOptions stopping_on(bool inv, bool div0, bool oflo) {
  ExecutorOptions o;
  o.config.floating_point_behaviour.inv = inv;
  o.config.floating_point_behaviour.div0 = div0;
  o.config.floating_point_behaviour.oflo = oflo;
  return o;
}
inline ExecutorOptions stochastic(RandomEngine random = RandomEngine::kPhilox) {
  ExecutorOptions o;
  o.config.floating_point_behaviour.esr = StochasticRoundingBehaviour::kOn;
  o.random = random;
  return o;
}

}  // namespace softamp::test
