// A block of GPT-2 and a small GPT in plain loops of binary64, from their published formulas.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "softamp/tensor/tensor.h"

namespace softamp::test::plain {

using Values = std::vector<double>;
/// Weights by the names of the variables.
using Weights = std::map<std::string, Values>;

/// x: rows of `width`.
inline Values layer_norm(const Values& x, size_t width, const Values& gamma, const Values& beta, double epsilon) {
  Values y(x.size());
  for (size_t row = 0; row < x.size(); row += width) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < width; ++i) mean += x[row + i] / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i)
      variance += (x[row + i] - mean) * (x[row + i] - mean) / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i)
      y[row + i] = (x[row + i] - mean) / std::sqrt(variance + epsilon) * gamma[i] + beta[i];
  }
  return y;
}

inline Values dense(const Values& x, size_t in, const Values& kernel, const Values& bias) {
  const size_t out = bias.size();
  Values y;
  for (size_t row = 0; row < x.size(); row += in)
    for (size_t o = 0; o < out; ++o) {
      double sum = bias[o];
      for (size_t i = 0; i < in; ++i) sum += x[row + i] * kernel[i * out + o];
      y.push_back(sum);
    }
  return y;
}

struct Extents {
  size_t batch, time, units, heads;
};

/// Causal attention of many heads, written as a sum over the positions that each may see.
inline Values attention(const Values& x, const Extents& e, const Weights& w, const std::string& at) {
  const Values qkv = dense(x, e.units, w.at(at + "/qkv/kernel"), w.at(at + "/qkv/bias"));
  const size_t width = e.units / e.heads;
  Values seen(x.size());
  const auto entry = [&](size_t b, size_t t, size_t part, size_t h, size_t d) {
    return qkv[((b * e.time + t) * 3 + part) * e.units + h * width + d];
  };
  for (size_t b = 0; b < e.batch; ++b)
    for (size_t h = 0; h < e.heads; ++h)
      for (size_t t = 0; t < e.time; ++t) {
        Values shares;
        double total = 0;
        for (size_t s = 0; s <= t; ++s) {
          double score = 0;
          for (size_t d = 0; d < width; ++d) score += entry(b, t, 0, h, d) * entry(b, s, 1, h, d);
          shares.push_back(std::exp(score / std::sqrt(static_cast<double>(width))));
          total += shares.back();
        }
        for (size_t s = 0; s <= t; ++s)
          for (size_t d = 0; d < width; ++d)
            seen[(b * e.time + t) * e.units + h * width + d] += shares[s] / total * entry(b, s, 2, h, d);
      }
  return dense(seen, e.units, w.at(at + "/projection/kernel"), w.at(at + "/projection/bias"));
}

/// Hendrycks, Gimpel 2016, the formula with tanh.
inline double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

inline Values block(Values x, const Extents& e, const Weights& w, const std::string& at) {
  const auto norm = [&](const char* name) {
    return layer_norm(x, e.units, w.at(at + name + "/gamma"), w.at(at + name + "/beta"), 1e-5);
  };
  const Values first = attention(norm("/layer_norm"), e, w, at + "/attention");
  for (size_t i = 0; i < x.size(); ++i) x[i] += first[i];
  Values hidden = dense(norm("/layer_norm_1"), e.units, w.at(at + "/mlp/hidden/kernel"), w.at(at + "/mlp/hidden/bias"));
  for (double& v : hidden) v = gelu(v);
  const Values second =
      dense(hidden, 4 * e.units, w.at(at + "/mlp/projection/kernel"), w.at(at + "/mlp/projection/bias"));
  for (size_t i = 0; i < x.size(); ++i) x[i] += second[i];
  return x;
}

/// Logits of a GPT of `layers` blocks for tokens [batch, time].
inline Values gpt(const std::vector<size_t>& tokens, const Extents& e, size_t layers, const Weights& w) {
  const Values &table = w.at("embedding/embeddings"), &positions = w.at("position_embedding/positions");
  Values x;
  for (size_t p = 0; p < tokens.size(); ++p)
    for (size_t u = 0; u < e.units; ++u)
      x.push_back(table[tokens[p] * e.units + u] + positions[p % e.time * e.units + u]);
  for (size_t i = 1; i <= layers; ++i) x = block(x, e, w, "block" + std::to_string(i));
  x = layer_norm(x, e.units, w.at("layer_norm/gamma"), w.at("layer_norm/beta"), 1e-5);
  Values logits;
  for (size_t p = 0; p < tokens.size(); ++p)
    for (size_t v = 0; v * e.units < table.size(); ++v) {
      double sum = 0;
      for (size_t u = 0; u < e.units; ++u) sum += x[p * e.units + u] * table[v * e.units + u];
      logits.push_back(sum);
    }
  return logits;
}

/// The mean over all places of -ln of the share that the softmax gives the label.
inline double next_token_loss(const Values& logits, const std::vector<size_t>& labels) {
  const size_t classes = logits.size() / labels.size();
  double loss = 0;
  for (size_t p = 0; p < labels.size(); ++p) {
    double total = 0;
    for (size_t c = 0; c < classes; ++c) total += std::exp(logits[p * classes + c]);
    loss += std::log(total) - logits[p * classes + labels[p]];
  }
  return loss / static_cast<double>(labels.size());
}

}  // namespace softamp::test::plain
