// One text for every backend: graphs that are run on two of them and must give the same bits, flags and lowest
// offending indices (N61, N429). Plain functions, so that a machine with a GPU needs no test library (tests/gpu.sh).
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "softamp/graph/executor.h"

namespace softamp::parity {

/// Every type of a tensor.
inline constexpr DType kAllTypes[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                                      DType::kFloat64, DType::kInt32,    DType::kBool};

/// A graph to run and what to compare.
struct Case {
  std::string name;  ///< "AddV2 float16 nearest": says what is run, to the person who reads of a difference
  Graph graph;
  std::map<std::string, Tensor> feeds;
  std::vector<std::string> fetches;  ///< empty: every tensor of the graph
  ExecutorOptions options;           ///< backend and status are set by the suite
  int steps = 3;                     ///< runs of the graph, one after the other: the third is replayed on a GPU
};

/// What a difference looks like; also the suite's figures.
// tests: N300
struct Report {
  uint64_t cases = 0, failed = 0, elements = 0;
  std::vector<std::string> differences;  ///< one text per failed case
  uint64_t digest = 0;                   ///< of the backend's results, case by case: the same on every machine
};

class Suite {
 public:
  /// elements: about how many elements a large case should have (2^12 where kernels run serially on the host, 10^7 on a
  /// GPU); filter: only cases whose name contains it; part, parts: only this one of so many parts of the cases.
  Suite(std::string backend, int64_t elements, std::string filter = {}, uint64_t part = 0, uint64_t parts = 1)
      : backend_(std::move(backend)), elements_(elements), filter_(std::move(filter)), part_(part), parts_(parts) {}

  int64_t elements() const { return elements_; }
  /// Whether the case of this name is to run: asked before it is made.
  bool wants(const std::string& name) const;
  /// No case runs from here on; the names of those that would go to `names`.
  void only_name(std::vector<std::string>& names) { names_ = &names; }
  /// Runs the case on "emu" and on the backend, and compares values, flags, indices, and variables.
  void run(const Case& c);
  /// Counts a case that the caller ran on "emu" and on backend(): `difference` is empty where there is none; `results`
  /// says what the backend gave, for the digest.
  void note(const std::string& name, const std::string& difference, uint64_t elements, const std::string& results);
  const std::string& backend() const { return backend_; }
  const Report& report() const { return report_; }

 private:
  std::string backend_;
  int64_t elements_;
  std::string filter_;
  uint64_t part_, parts_;
  std::vector<std::string>* names_ = nullptr;
  Report report_;

  void digest(const std::string& text);
  void differs(std::string text);
};

/// Count, first index, both bit patterns and a histogram of distances (N429); empty where equal.
std::string difference_of(const Tensor& expected, const Tensor& found);

/// Codes of a floating tensor that meet every branch: all special values, subnormals, halves of quanta, and random
/// bits; `plain`: finite numbers of moderate size only.
Tensor floats(DType type, const Shape& shape, uint64_t seed, bool plain = false);
/// int32 in [low, high]; bool.
Tensor integers(const Shape& shape, uint64_t seed, int32_t low, int32_t high);
Tensor truths(const Shape& shape, uint64_t seed);
/// Those of the dtype; int32: within a million of 0.
Tensor any_tensor(const TensorType& type, uint64_t seed, bool plain = false);

/// The settings under which every family is run: nearest and stochastic, both overflows, ieee (all five flags), bits
/// above 16, a replica, policies of other chips, each with a name.
struct Setting {
  std::string name;
  ExecutorOptions options;
};
const std::vector<Setting>& settings();

/// A family's cases; each lives in parity_<family>.cpp.
struct Family {
  const char* name;
  void (*run)(Suite&);
};
void elementwise(Suite&);
void casts(Suite&);
void functions(Suite&);
void random_values(Suite&);
void products(Suite&);
void convolutions(Suite&);
void pooling(Suite&);
void reductions(Suite&);
void softmax(Suite&);
void norms(Suite&);
void structure(Suite&);
void optimizers(Suite&);
void rows(Suite&);         ///< every test row by itself: launches every kernel, and is over soon
void graphs(Suite&);       ///< random graphs over the whole table
void training(Suite&);     ///< steps of training
void transformer(Suite&);  ///< the same of a language model, every tensor of them
const std::vector<Family>& families();

}  // namespace softamp::parity
