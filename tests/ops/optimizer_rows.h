// The test rows of optimizers' updates and of what decides about them (node_rows.h).
#pragma once

#include "tests/ops/node_row.h"

namespace softamp::test {

inline const std::vector<NodeRow>& optimizer_rows() {
  using namespace rows_detail;
  static const In of_var{{2, 3}}, square{{2, 3}, 0, 2}, rate{{}, 0, 1}, applied{{}, 0, 0, {1}}, skipped{{}, 0, 0, {0}};
  static const Attributes adam{{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 0.001}};
  static const std::vector<NodeRow> kRows = {
      {"ApplyGradientDescent", {of_var, rate, of_var, applied}},
      {"ApplyGradientDescent", {of_var, rate, of_var, skipped}},
      {"ApplyMomentum", {of_var, of_var, rate, of_var, applied}, {{"momentum", 0.9}}},
      {"ApplyMomentum", {of_var, of_var, rate, of_var, applied}, {{"momentum", 0.9}, {"use_nesterov", true}}},
      {"ApplyRMSProp",
       {of_var, square, of_var, rate, of_var, applied},
       {{"rho", 0.9}, {"momentum", 0.5}, {"epsilon", 0.001}}},
      {"ApplyAdam", {of_var, of_var, square, rate, rate, of_var, applied}, adam},
      {"ApplyAdam", {of_var, of_var, square, rate, rate, of_var, skipped}, adam},
      {"ApplyCompensated", {of_var, of_var, of_var, applied}},
      {"ApplyCompensated", {of_var, of_var, of_var, skipped}},
      {"ApplyMomentum",
       {of_var, of_var, rate, of_var, applied},
       {{"momentum", 0.9}, {"weight_update", std::string("stochastic")}}},
      {"ApplyAdam",
       {of_var, of_var, square, rate, rate, of_var, applied},
       {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 0.001}, {"weight_update", std::string("step")}}},
      {"AllFinite", {of_var, {{5}}}},
  };
  return kRows;
}

}  // namespace softamp::test
