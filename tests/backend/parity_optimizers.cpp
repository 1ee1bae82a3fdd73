// Updates of optimizers in every combination of dtypes, three in a row so that slots move, on variables too; and
// AllFinite.
#include "parity.h"
#include "tests/backend/update_rules.h"

namespace softamp::parity {
namespace {

using test::UpdateRule;
using test::UpdateTypes;

constexpr DType kH = DType::kFloat16, kB = DType::kBFloat16, kF = DType::kFloat32;

constexpr UpdateTypes kUpdateTypes[] = {{kF, kF, kF}, {kH, kH, kH}, {kB, kB, kB}, {kF, kF, kH},
                                        {kH, kF, kH}, {kF, kH, kB}, {kB, kF, kB}};

struct Scalars {
  double rate, decay;
  bool apply;
};
constexpr Scalars kScalars[] = {{0.01, 0.001, true}, {-0.0, 0, true}, {1.5e30, -2.0, true}, {0.1, 0.1, false}};

/// Adds an update; returns its outputs, var first.
std::vector<Port> update(GraphBuilder& b, const UpdateRule& rule, std::vector<Port> state, Port grad,
                         const Port (&scalars)[3]) {
  std::vector<Port> in = state;
  if (rule.has_rates()) in.push_back(scalars[0]);
  if (std::string(rule.op) == "ApplyAdam") in.push_back(scalars[1]);
  in.push_back(grad);
  in.push_back(scalars[2]);
  const Port var = b.add(rule.op, in, rule.attributes);
  std::vector<Port> out;
  for (size_t k = 0; k <= rule.slots; ++k) out.push_back({var.node, static_cast<int>(k)});
  return out;
}

void run(Suite& suite, const std::string& name, const UpdateRule& rule, const UpdateTypes& types, const Scalars& s,
         const Setting& setting, const Shape& shape, bool plain) {
  Case c;
  c.name = name;
  GraphBuilder b;
  const auto fed = [&](const std::string& input, Tensor value) {
    const Port p = b.placeholder(input, value.type().dtype, value.type().shape);
    c.feeds.emplace(input, std::move(value));
    return p;
  };
  Tensor apply = truths(Shape{}, 1);
  *static_cast<uint8_t*>(apply.data()) = s.apply;
  const Port scalars[] = {fed("rate", Tensor::full(kF, Shape{}, s.rate)),
                          fed("decay", Tensor::full(kF, Shape{}, s.decay)), fed("apply", std::move(apply))};
  const Port grads[] = {fed("g0", floats(types.grad, shape, 4, plain)), fed("g1", floats(types.grad, shape, 5, plain)),
                        fed("g2", floats(types.grad, shape, 6, true))};
  std::vector<Port> state{fed("var", floats(types.var, shape, 1, plain))}, variables;
  variables.push_back(b.add_named("w", "VariableV2", {}, {{"dtype", types.var}, {"shape", shape}}));
  for (size_t k = 0; k < rule.slots; ++k) {
    const std::string number = std::to_string(k);
    state.push_back(fed("s" + number, floats(types.slot, shape, 2 + k, plain)));
    variables.push_back(b.add_named("v" + number, "VariableV2", {}, {{"dtype", types.slot}, {"shape", shape}}));
  }
  for (const Port grad : grads) state = update(b, rule, state, grad, scalars);
  const std::vector<Port> moved = update(b, rule, variables, grads[2], scalars);
  for (size_t k = 0; k < moved.size(); ++k)
    b.add("Assign", {moved[k]}, {{"ref", k == 0 ? std::string("w") : "v" + std::to_string(k - 1)}});
  c.graph = b.build();
  c.options = setting.options;
  suite.run(c);
}

void all_finite(Suite& suite) {
  for (const DType type : {kH, kB, kF})
    for (const bool plain : {true, false}) {
      const std::string name = std::string("AllFinite ") + name_of(type) + (plain ? " plain" : "");
      if (!suite.wants(name)) continue;
      Case c;
      c.name = name;
      GraphBuilder b;
      std::vector<Port> some, many;
      const auto fed = [&](const Shape& shape) {
        const std::string input = "x" + std::to_string(c.feeds.size());
        c.feeds.emplace(input, floats(type, shape, c.feeds.size(), plain));
        return b.placeholder(input, type, shape);
      };
      for (const int64_t n : {0, 1, 7, 8, 9, 255, 4096, 0}) some.push_back(fed({n}));
      some.push_back(fed({3, suite.elements()}));
      some.push_back(fed({}));
      b.add("AllFinite", some);
      for (int k = 0; k < 250; ++k) many.push_back(fed({k % 7, 5}));
      b.add("AllFinite", many);
      b.add("AllFinite", {fed({100000})});
      c.graph = b.build();
      c.options = settings()[0].options;
      suite.run(c);
    }
}

}  // namespace

void optimizers(Suite& suite) {
  const int64_t large = suite.elements() / 2;
  for (const Setting& setting : settings())
    for (const UpdateRule& rule : test::update_rules())
      for (const UpdateTypes& types : kUpdateTypes) {
        if (!rule.has_rates() && (types.slot != types.var || types.grad != types.var)) continue;
        const auto word = rule.attributes.find("weight_update");
        const std::string how = word == rule.attributes.end() ? "" : " weight " + std::get<std::string>(word->second);
        const std::string name = std::string(rule.op) + how + " " + name_of(types.var) + " " + name_of(types.slot) +
                                 " " + name_of(types.grad) + " " + setting.name + " ";
        if (suite.wants(name + "plain")) run(suite, name + "plain", rule, types, kScalars[0], setting, {large}, true);
        if (suite.wants(name + "any")) run(suite, name + "any", rule, types, kScalars[0], setting, {7, 61}, false);
        if (types.var != types.grad || types.var == kB) continue;  // what follows does not depend on dtypes
        for (const Scalars& s : kScalars) {
          const std::string more = name + std::to_string(s.rate) + (s.apply ? "" : " not applied");
          if (suite.wants(more)) run(suite, more, rule, types, s, setting, {5, 3, 11}, s.rate == 0.1);
        }
        if (types.var != kF) continue;
        for (const Shape& shape : {Shape{3, 0}, Shape{}})
          if (suite.wants(name + shape.text()))
            run(suite, name + shape.text(), rule, types, kScalars[0], setting, shape, false);
      }
  all_finite(suite);
}

}  // namespace softamp::parity
