// The trainings behind `vanishing-update`: one small network, weights kept in four ways; and what is judged of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

/// How weights are kept and updated.
struct Keeping {
  std::string name;       ///< "fp16, nearest"
  std::string precision;  ///< as Precision::parse
  bool stochastic = false;
};

/// fp32; fp16 nearest; fp16 stochastic; fp16 with fp32 masters: in this order.
const std::vector<Keeping>& keepings();

struct UpdateSetup {
  int64_t image = 14;     ///< height and width of generated images
  int64_t images = 2048;  ///< of them
  int64_t units = 32;     ///< of the hidden layer
  int64_t batch = 32;
  uint64_t steps = 2000;
  double rate = 2e-5;  ///< of Adam: about the size of every update
  int bits = 13;       ///< random bits of the stochastic one
};

/// Loss of each step. `told` hears the share of them that is done.
std::vector<double> losses_of(const UpdateSetup& setup, const Keeping& keeping, uint64_t seed,
                              const std::function<void(double)>& told);

/// `ends`: for each way, in the order of keepings(), the last loss of each seed (1 or more, all alike). Ways are
/// compared seed by seed, with the same images and first weights, and by order alone, without a constant of ours.
/// "Learns less": in every seed the loss to nearest is the highest of all ways, which n seeds of ways that do not
/// differ would show with a chance of 4^-n. "As fp32": in every seed the loss is nearer to that of fp32 than to that of
/// nearest. With other random bits than the usual ones the stochastic way is recorded and judges no other.
std::vector<Check> judged(const std::vector<std::vector<double>>& ends, bool usual_bits);

}  // namespace softamp::reproduce
