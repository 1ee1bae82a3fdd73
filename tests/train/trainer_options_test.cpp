// Options of a trainer that ask others: in which dtype each variable's gradients are summed, and where its executors
// are noted as sessions.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "softamp/precision/mechanism.h"
#include "softamp/precision/mixed_precision_context.h"
#include "softamp/train/trainer.h"
#include "tests/refusal.h"
#include "tests/train/sgd.h"

namespace softamp {
namespace {

using enum DType;
using test::refusal;
using test::sgd;

/// A model of two weights a and b: loss = mean(x a + x b); both gradients are the mean of x.
Model two_weights(DType parameters, DType compute = kFloat16) {
  GraphBuilder b;
  Model m;
  m.precision = {"test", compute, parameters};
  const Port x = b.placeholder("images", compute, {1, 1, 1, 1});
  b.placeholder("labels", kInt32, {1});
  VariableStore store(b);
  const auto getter = parameters == compute ? VariableStore::Getter{} : float32_parameters();
  const auto scope = store.scope("net", getter);
  std::vector<Port> products;
  for (const char* name : {"a", "b"})
    products.push_back(b.add("Mul", {x, store.get({name, {}, compute, Initializer::ones(), true}).port}, {}, name));
  const Port sum = b.add("Reshape", {b.add("AddV2", products)}, {{"shape", std::vector<int64_t>{1, 1}}}, "logits");
  const Port exact = compute == kFloat32 ? sum : b.add("Cast", {sum}, {{"DstT", kFloat32}}, "cast");
  const Port loss = b.add("Mean", {exact}, {}, "loss");
  m.logits = b.graph().port_name(sum);
  m.loss = b.graph().port_name(loss);
  m.variables = store.variables();
  m.graph = b.build();
  return m;
}

Batch one_number(double x) { return {Tensor::full(kFloat16, {1, 1, 1, 1}, x), Tensor(kInt32, {1})}; }

/// How much 1025 gradients, 1 and 1024 of 2^-11, take off two weights: 1.5 where they are summed in float32; in float16
/// each of the small ones is half an ulp of 1, and the sum stays.
std::pair<double, double> taken_off_both(DType parameters, const AccumulationDtype& sums) {
  TrainerOptions o;
  o.optimizer = sgd(1);
  o.accumulation = 1025;
  o.accumulation_dtype = sums;
  Trainer trainer(two_weights(parameters), o);
  std::vector<Batch> batches(1025);
  for (size_t i = 0; i < batches.size(); ++i) batches[i] = one_number(i == 0 ? 1 : 0x1p-11);
  trainer.step(batches);
  return {1 - trainer.variable("net/a").value(0), 1 - trainer.variable("net/b").value(0)};
}

// tests: G24
TEST(Accumulation, ADtypeForEachVariable) {  // TUTORIAL G24: none is the variable's, a dtype, or a function
  using Both = std::pair<double, double>;
  using Sums = std::optional<DType>;
  EXPECT_EQ(taken_off_both(kFloat32, {}), Both(1.5, 1.5)) << "none: as the float32 variables";
  EXPECT_EQ(taken_off_both(kFloat16, std::nullopt), Both(1, 1)) << "none: as the float16 variables";
  EXPECT_EQ(taken_off_both(kFloat16, kFloat32), Both(1.5, 1.5));
  std::vector<std::string> asked;
  const auto of_variable = [&](const VariableSpec& v) -> Sums {
    asked.push_back(v.name + ":" + name_of(v.type.dtype));
    return v.name == "net/a" ? Sums(kFloat32) : Sums();
  };
  EXPECT_EQ(taken_off_both(kFloat16, of_variable), Both(1.5, 1));
  EXPECT_EQ(asked, (std::vector<std::string>{"net/a:float16", "net/b:float16"}));
  const auto halves_of_b = [](const VariableSpec& v) { return v.name == "net/b" ? kFloat16 : kFloat32; };
  EXPECT_EQ(taken_off_both(kFloat32, halves_of_b), Both(1.5, 1));
  EXPECT_EQ(
      refusal<std::invalid_argument>([] { taken_off_both(kFloat16, [](const VariableSpec&) { return kInt32; }); }),
      "training: accumulation_dtype of variable 'net/a' is int32; expected float16, bfloat16 or float32, or "
      "nothing for that of the variable");
}

// tests: T05
TEST(Sessions, OfATrainerAreNotedByItsContext) {
  std::vector<std::string> warnings;
  const auto warnings_after = [&](const GraphPass& pass) {
    warnings.clear();
    MixedPrecisionContext context([&](LogLevel, const std::string& line) { warnings.push_back(line); });
    TrainerOptions o;
    o.precision = &context;
    o.pass = pass;
    Trainer trainer(two_weights(kFloat32, kFloat32), o);
    context.enable_graph_rewrite();
    return warnings.size();
  };
  EXPECT_EQ(warnings_after({}), 1u);
  EXPECT_TRUE(warnings.at(0).starts_with("You already have existing Sessions that do not use mixed precision."));
  EXPECT_EQ(warnings_after(Mechanism::parse("tensorflow").pass()), 0u) << "it uses mixed precision";
}

}  // namespace
}  // namespace softamp
