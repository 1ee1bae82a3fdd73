// Histograms of the exponents of weights, activations and gradients, layer by layer, in some steps of a run: what a
// loss scale moves (Micikevicius et al., "Mixed Precision Training", ICLR 2018, figure 3).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "softamp/train/training_run.h"

namespace softamp::train_detail {

/// Throws std::invalid_argument unless the ending is .json, .svg, .png or .pdf, and as check_plot_file.
void check_histograms_file(const std::string& file);

class Histograms {
 public:
  /// RunOutput::histograms of a run that does steps first .. total - 1. others: what else observes every step.
  Histograms(Trainer& trainer, const RunOutput& output, Trainer::Observer others, int64_t first, int64_t total);

  /// Around each step. Only in a step that is looked at does the trainer get an observer.
  void begin(int64_t step);
  void end();

  /// {"softamp_histograms":1,"steps":[{"step":0,"loss_scale":256,"tensors":[...]}]}; "" where no file was asked for.
  std::string json() const;
  /// Of all steps that were looked at; none where nothing was asked for.
  std::optional<ExponentTotals> totals() const;
  /// Into RunOutput::histograms, in the format of its ending.
  void write(const TrainSettings& settings) const;

 private:
  using Kind = LayerExponents::Kind;
  using Key = std::tuple<std::string, Kind, DType>;  ///< layer first
  struct Counted {
    ExponentHistogram counts, unscaled;  ///< unscaled: of gradients
  };
  struct Step {
    int64_t step = 0;
    float loss_scale = 1;
    std::map<Key, Counted> tensors;
  };
  bool chosen(int64_t step) const;
  std::string layer_of(const std::string& node) const;
  void see(const std::string& layer, Kind kind, const TensorType& type, const void* data);
  void see_node(std::string_view phase, const Node& node, const TensorType& type, const void* data);

  Trainer& trainer_;
  std::string file_;
  bool counts_;  ///< in some steps
  Trainer::Observer others_;
  std::vector<std::string> scopes_;  ///< of the model's variables
  int64_t first_, total_, every_;
  bool looking_ = false;
  Step now_;  ///< until the step has ended
  std::vector<Step> steps_;
};

}  // namespace softamp::train_detail
