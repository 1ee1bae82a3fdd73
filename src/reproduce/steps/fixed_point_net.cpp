#include "src/reproduce/steps/fixed_point_net.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/math_exp.h"
#include "softamp/numerics/math_log.h"
#include "softamp/numerics/round.h"
#include "softamp/train/initializer.h"

namespace softamp::reproduce {
namespace {

constexpr size_t kRowsAtOnce = 16;  ///< that one thread takes

template <class Body>
void for_rows(size_t rows, const Body& body) {
  tbb::parallel_for(tbb::blocked_range<size_t>(0, rows, kRowsAtOnce),
                    [&](const tbb::blocked_range<size_t>& r) { body(r.begin(), r.end()); });
}

/// Random words in ascending order of index: those of 16 bits come eight from a block of Philox, as in
/// RandomBits::bits.
class Words {
 public:
  Words(const RandomBits& random, uint32_t step, uint32_t operation, int bits)
      : random_(random), step_(step), operation_(operation), bits_(bits) {}
  uint32_t at(uint64_t index) {
    if (bits_ > 16) return random_.bits(step_, operation_, index, bits_);
    if (index >> 3 != number_) {
      number_ = index >> 3;
      block_ = random_.block(step_, operation_, number_);
    }
    return block_.lane16(static_cast<uint32_t>(index & 7)) & ((1u << bits_) - 1);
  }

 private:
  RandomBits random_;
  uint32_t step_, operation_;
  int bits_;
  uint64_t number_ = ~uint64_t{0};
  RandomBlock block_{};
};

/// Cross-entropy of softmax(outputs) against `label`; `errors` = p - t. Both are fp32 operations one by one, in
/// ascending order; outputs are fp32 numbers.
double cross_entropy(std::span<const double> outputs, int32_t label, std::span<double> errors) {
  const auto greatest = static_cast<float>(*std::max_element(outputs.begin(), outputs.end()));
  const auto below = [&](size_t j) { return static_cast<float>(outputs[j]) - greatest; };
  float sum = 0;
  for (size_t j = 0; j < outputs.size(); ++j) {
    const float power = math::exp(math::Float(below(j))).value;
    errors[j] = power;
    sum += power;
  }
  for (double& e : errors) e = static_cast<float>(e) / sum;
  const auto wanted = static_cast<size_t>(label);
  errors[wanted] = static_cast<float>(errors[wanted]) - 1.0f;
  return math::log(math::Float(sum)).value - below(wanted);
}

/// `value` rounded to nearest even, as a code; beyond the format its limit.
double code_of(const FixedFormat& f, double value) {
  return std::clamp(std::nearbyint(std::ldexp(value, -f.quantum_exponent)), static_cast<double>(f.least),
                    static_cast<double>(f.greatest));
}

}  // namespace

int64_t rate_of(const NetSetup& net) {
  const int64_t rate = std::llrint(net.rate / static_cast<double>(net.batch) * std::ldexp(1.0, -kRateExponent));
  if (rate < 1 || net.rate > 0.5)
    throw std::invalid_argument("fixed-point: the learning rate is " + shortest_decimal(net.rate) + " for batches of " +
                                std::to_string(net.batch) + "; expected 2^-25 of the batch to 0.5");
  return rate;
}

void round_sums(std::span<const double> sums, int exponent, const FixedFormat& format, const RoundingPolicy& policy,
                const RandomBits& random, uint32_t step, uint32_t operation, uint64_t first, std::span<double> codes) {
  Words words(random, step, operation, policy.random_bits);
  for (size_t i = 0; i < sums.size(); ++i) {
    const Exact x{sums[i] < 0, exponent, static_cast<uint64_t>(std::fabs(sums[i]))};
    const uint32_t word = policy.stochastic() ? words.at(first + i) : 0;
    codes[i] = static_cast<double>(round_to_fixed(format, x, policy, word).value);
  }
}

FixedNet::FixedNet(const NetSetup& net, const FixedSetup& setup)
    : net_(net), setup_(setup), random_{net.seed}, images_(net.batch, net.widths.front()) {
  for (size_t l = 0; l + 1 < net.widths.size(); ++l) {
    const size_t in = net.widths[l], out = net.widths[l + 1], batch = net.batch;
    Layer layer{Grid(in, out),    Grid(1, out),     Grid(out, in),   Grid(batch, out),
                Grid(batch, out), Grid(batch, out), Grid(in, batch), Grid(in, out)};
    const TensorType type{DType::kFloat32, Shape{static_cast<int64_t>(in), static_cast<int64_t>(out)}};
    const Tensor first = initial_value(Initializer::normal(net.deviation), type, "dense" + std::to_string(l), net.seed);
    const std::vector<double> values = first.values();
    for (size_t i = 0; i < in; ++i)
      for (size_t j = 0; j < out; ++j) {
        // A weight rounded to nearest: it is data, not a result.
        const double value = values[i * out + j];
        layer.weights.row(i)[j] = setup.fixed ? code_of(setup.kept, value) : value;
      }
    layers_.push_back(std::move(layer));
  }
}

void FixedNet::keep(std::span<const double> sums, int exponent, const FixedFormat& format, const RoundingPolicy& policy,
                    uint32_t step, uint32_t operation, uint64_t first, std::span<double> out) const {
  if (setup_.fixed) return round_sums(sums, exponent, format, policy, random_, step, operation, first, out);
  for (size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<float>(sums[i]);
}

void FixedNet::load(const ImageSet& set, std::span<const int64_t> indices) {
  // There are 256 pixel values: pixel / 255, rounded to nearest in advance.
  double pixels[256];
  for (int p = 0; p < 256; ++p) {
    const double value = p / 255.0;
    pixels[p] = setup_.fixed ? code_of(setup_.output, value) : static_cast<float>(value);
  }
  const auto size = static_cast<size_t>(set.image_elements());
  for (size_t i = 0; i < indices.size(); ++i) {
    const uint8_t* from = set.pixels.data() + static_cast<size_t>(indices[i]) * size;
    for (size_t k = 0; k < size; ++k) images_.row(i)[k] = pixels[from[k]];
  }
}

void FixedNet::forward(const RoundingPolicy& policy, uint32_t step) {
  for (size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    const Grid& inputs = l == 0 ? images_ : layers_[l - 1].outputs;
    // The bias joins the sum at the products' point.
    std::vector<double> start(layer.biases.cells);
    if (setup_.fixed)
      for (double& b : start) b = std::ldexp(b, -setup_.output.quantum_exponent);
    const bool last = l + 1 == layers_.size();
    for_rows(net_.batch, [&](size_t first, size_t end) {
      multiply_rows(cells(), inputs, layer.weights, start.data(), layer.sums, first, end);
      for (size_t i = first; i < end; ++i) {
        const std::span<double> out = layer.outputs.line(i);
        keep(layer.sums.line(i), setup_.kept.quantum_exponent + setup_.output.quantum_exponent, setup_.output, policy,
             step, site(l, kOutput), i * out.size(), out);
        if (!last)
          for (double& x : out) x = std::max(x, 0.0);
      }
    });
  }
}

double FixedNet::last_errors(const ImageSet& set, std::span<const int64_t> indices, uint32_t step) {
  Layer& layer = layers_.back();
  std::vector<double> logits(layer.outputs.columns), errors(layer.outputs.columns);
  double total = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    for (size_t j = 0; j < logits.size(); ++j)
      logits[j] =
          setup_.fixed ? std::ldexp(layer.outputs.row(i)[j], setup_.output.quantum_exponent) : layer.outputs.row(i)[j];
    total += cross_entropy(logits, set.labels[static_cast<size_t>(indices[i])], errors);
    // p - t as an integer of units 2^-52, cut off there: far below the quantum, and its random bits, of any format
    // here.
    if (setup_.fixed)
      for (double& e : errors) e = std::trunc(std::ldexp(e, 52));
    keep(errors, -52, setup_.kept, setup_.rounding, step, site(layers_.size() - 1, kError), i * errors.size(),
         layer.errors.line(i));
  }
  return total / static_cast<double>(indices.size());
}

void FixedNet::backward(uint32_t step) {
  for (size_t l = layers_.size() - 1; l > 0; --l) {
    Layer &layer = layers_[l], &before = layers_[l - 1];
    transpose(layer.weights, layer.turned);
    for_rows(net_.batch, [&](size_t first, size_t end) {
      multiply_rows(cells(), layer.errors, layer.turned, nullptr, before.sums, first, end);
      for (size_t i = first; i < end; ++i) {
        const std::span<double> errors = before.errors.line(i), outputs = before.outputs.line(i);
        keep(before.sums.line(i), 2 * setup_.kept.quantum_exponent, setup_.kept, setup_.rounding, step,
             site(l - 1, kError), i * errors.size(), errors);
        for (size_t k = 0; k < errors.size(); ++k)
          if (outputs[k] <= 0) errors[k] = 0;
      }
    });
  }
}

void FixedNet::update(uint32_t step) {
  const auto rate = static_cast<double>(rate_of(net_));
  const auto apply = [&](std::span<double> sums, int exponent, uint32_t operation, uint64_t first,
                         std::span<double> updates, std::span<double> weights) {
    if (setup_.fixed) {
      for (double& s : sums) s *= rate;
      exponent += kRateExponent;
    } else {
      // The rate has few bits: its products with floats are exact here and rounded to fp32 below, as the sums of two
      // floats are.
      for (double& s : sums) s *= std::ldexp(rate, kRateExponent);
    }
    keep(sums, exponent, setup_.kept, setup_.rounding, step, operation, first, updates);
    for (size_t j = 0; j < weights.size(); ++j) {
      const double w = weights[j] - updates[j];
      weights[j] = setup_.fixed ? std::clamp(w, static_cast<double>(setup_.kept.least),
                                             static_cast<double>(setup_.kept.greatest))
                                : static_cast<float>(w);
    }
  };
  for (size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    transpose(l == 0 ? images_ : layers_[l - 1].outputs, layer.inputs_turned);
    const int exponent = setup_.kept.quantum_exponent + setup_.output.quantum_exponent;
    for_rows(layer.weights.rows, [&](size_t first, size_t end) {
      multiply_rows(cells(), layer.inputs_turned, layer.errors, nullptr, layer.updates, first, end);
      for (size_t k = first; k < end; ++k)
        apply(layer.updates.line(k), exponent, site(l, kUpdate), k * layer.weights.columns, layer.updates.line(k),
              layer.weights.line(k));
    });
    std::vector<double> sums(layer.biases.columns);
    for (size_t i = 0; i < net_.batch; ++i)
      for (size_t j = 0; j < sums.size(); ++j) {
        sums[j] += layer.errors.row(i)[j];
        if (!setup_.fixed) sums[j] = static_cast<float>(sums[j]);  // once more from binary64: as fp32 adds
      }
    std::vector<double> updates(sums.size());
    apply(sums, setup_.kept.quantum_exponent, site(l, kBiasUpdate), 0, updates, layer.biases.line(0));
  }
}

double FixedNet::train(const ImageSet& set, std::span<const int64_t> indices, uint32_t step) {
  load(set, indices);
  forward(setup_.rounding, step);
  const double loss = last_errors(set, indices, step);
  backward(step);
  update(step);
  return loss;
}

int64_t FixedNet::wrong(const ImageSet& set, int64_t count) {
  int64_t mistakes = 0;
  std::vector<int64_t> indices(net_.batch);
  for (int64_t first = 0; first < count; first += static_cast<int64_t>(indices.size())) {
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = (first + static_cast<int64_t>(i)) % set.count;
    load(set, indices);
    forward(RoundingPolicy::ieee(), 0);
    for (size_t i = 0; i < indices.size() && first + static_cast<int64_t>(i) < count; ++i) {
      const std::span<const double> outputs = layers_.back().outputs.line(i);
      const auto best = std::max_element(outputs.begin(), outputs.end()) - outputs.begin();
      mistakes += best != set.labels[static_cast<size_t>(indices[i])];
    }
  }
  return mistakes;
}

int64_t FixedNet::saturated() const {
  int64_t count = 0;
  if (!setup_.fixed) return count;
  const auto at_limit = [&](double w) {
    return w == static_cast<double>(setup_.kept.least) || w == static_cast<double>(setup_.kept.greatest);
  };
  for (const Layer& layer : layers_)
    for (const Grid* grid : {&layer.weights, &layer.biases})
      for (size_t i = 0; i < grid->rows; ++i)
        count += std::count_if(grid->line(i).begin(), grid->line(i).end(), at_limit);
  return count;
}

}  // namespace softamp::reproduce
