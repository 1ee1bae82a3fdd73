#include "src/train/replicas/replica_drift.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "softamp/graph/trace.h"
#include "src/train/replicas/exchange_calls.h"
#include "src/train/replicas/replica_options.h"

namespace softamp {
namespace {

/// Of two numbers with different codes.
double distance(double a, double b) {
  const double d = std::fabs(a - b);
  return d >= 0 ? d : std::numeric_limits<double>::infinity();
}

/// The first of the largest distances, variable by variable, replica by replica, element by element.
struct Farthest {
  double distance = -1;
  uint64_t variable = 0;
  int64_t replica = 0, element = 0;

  bool before(const Farthest& other) const {
    if (distance != other.distance) return distance > other.distance;
    if (variable != other.variable) return variable < other.variable;
    return replica != other.replica ? replica < other.replica : element < other.element;
  }
};

void compare(const Tensor& first, const Tensor& other, uint64_t variable, int64_t replica, Farthest& farthest) {
  if (first.same_bits(other)) return;
  for (int64_t i = 0; i < first.elements(); ++i) {
    if (first.code(i) == other.code(i)) continue;
    const double d = distance(first.value(i), other.value(i));
    if (d > farthest.distance) farthest = {d, variable, replica, i};
  }
}

std::optional<ReplicaDrift> drift_of(const Farthest& farthest, const TrainingStep& training) {
  if (farthest.distance < 0) return std::nullopt;
  return ReplicaDrift{farthest.distance, training.model().variables[farthest.variable].name,
                      static_cast<int>(farthest.replica), farthest.element};
}

}  // namespace

// implements: N282
std::optional<ReplicaDrift> replica_drift(const TrainingStep& training) {
  const std::vector<VariableSpec>& variables = training.model().variables;
  Farthest farthest;
  for (size_t v = 0; v < variables.size(); ++v)
    for (int r = 1; r < training.replicas(); ++r)
      compare(training.variable(variables[v].name, 0), training.variable(variables[v].name, r), v, r, farthest);
  return drift_of(farthest, training);
}

std::optional<ReplicaDrift> shared_replica_drift(const TrainingStep& training) {
  Exchange& exchange = *training.options().exchange;
  const std::vector<VariableSpec>& variables = training.model().variables;
  // Hashes first, which agree almost always: of each replica, each variable.
  constexpr size_t kDigits = 32;
  std::string hashes;
  for (int r = 0; r < training.replicas(); ++r)
    for (const VariableSpec& v : variables) {
      const Tensor& value = training.variable(v.name, r);
      hashes += hash_text(value.data(), value.bytes());
    }
  const std::vector<std::string> all = train_detail::gather_equal_texts(exchange, hashes);

  Farthest farthest;
  for (size_t v = 0; v < variables.size(); ++v) {
    const std::string_view wanted = std::string_view(all[0]).substr(v * kDigits, kDigits);
    bool same = true;
    for (const std::string& of_rank : all)
      for (size_t r = 0; r < static_cast<size_t>(training.replicas()); ++r)
        same = same && std::string_view(of_rank).substr((r * variables.size() + v) * kDigits, kDigits) == wanted;
    if (same) continue;
    const Tensor& mine = training.variable(variables[v].name, 0);
    Tensor first(mine.type());
    std::vector<Exchange::Room> only_first(all.size());
    only_first[0] = train_detail::room_of(first);
    exchange.all_gather(exchange.rank() == 0 ? train_detail::bytes_of(mine) : Exchange::Bytes(), only_first);
    for (int r = 0; r < training.replicas(); ++r)
      compare(first, training.variable(variables[v].name, r), v, first_replica(training.options()) + r, farthest);
  }
  for (const Farthest& of_rank : train_detail::gather_values(exchange, farthest))
    if (of_rank.before(farthest)) farthest = of_rank;
  return drift_of(farthest, training);
}

}  // namespace softamp
