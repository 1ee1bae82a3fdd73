// What updates of optimizers are tried with: every rule with usual attributes and with those that make terms vanish.
#pragma once

#include <string>
#include <vector>

#include "softamp/graph/operation.h"

namespace softamp::test {

struct UpdateRule {
  const char* op;
  size_t slots;
  Attributes attributes;

  bool has_rates() const { return std::string(op) != "ApplyCompensated"; }
};
inline const std::vector<UpdateRule>& update_rules() {
  static const std::vector<UpdateRule> rows = {
      {"ApplyGradientDescent", 0, {}},
      {"ApplyMomentum", 1, {{"momentum", 0.9}}},
      {"ApplyMomentum", 1, {{"momentum", 0.99}, {"use_nesterov", true}}},
      {"ApplyRMSProp", 2, {{"rho", 0.9}, {"momentum", 0.5}, {"epsilon", 1e-3}}},
      {"ApplyRMSProp", 2, {{"rho", 0.0}, {"momentum", 0.0}, {"epsilon", 0.0}}},
      {"ApplyAdam", 2, {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}}},
      {"ApplyAdam", 2, {{"beta1", 0.0}, {"beta2", 1.0}, {"epsilon", 0.0}}},
      {"ApplyGradientDescent", 0, {{"weight_update", std::string("stochastic")}}},
      {"ApplyGradientDescent", 0, {{"weight_update", std::string("step")}}},
      {"ApplyMomentum", 1, {{"momentum", 0.9}, {"weight_update", std::string("nearest")}}},
      {"ApplyMomentum", 1, {{"momentum", 0.9}, {"weight_update", std::string("step")}}},
      {"ApplyMomentum", 1, {{"momentum", 0.99}, {"use_nesterov", true}, {"weight_update", std::string("step")}}},
      {"ApplyRMSProp", 2, {{"rho", 0.9}, {"momentum", 0.5}, {"epsilon", 1e-3}, {"weight_update", std::string("step")}}},
      {"ApplyAdam",
       2,
       {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}, {"weight_update", std::string("stochastic")}}},
      {"ApplyAdam", 2, {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}, {"weight_update", std::string("step")}}},
      {"ApplyCompensated", 1, {}},  // dtypes are all that of var
  };
  return rows;
}

struct UpdateTypes {
  DType var, slot, grad;
};

}  // namespace softamp::test
