#include "src/train/run/histograms.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "softamp/engine/program.h"
#include "softamp/names/names.h"
#include "src/files/output_file.h"
#include "src/numbers/decimal_text.h"
#include "src/text/printable.h"
#include "src/train/run/exponent_plot.h"

namespace softamp::train_detail {
namespace {

constexpr std::string_view kBackward = "gradients/";

bool is_document(const std::string& file) { return std::filesystem::path(file).extension() == ".json"; }

/// In quotes, for JSON.
std::string quoted_for_json(const std::string& text) {
  std::string result = "\"";
  for (const char c : files::printable(text)) result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return result + "\"";
}

std::string scope_of(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

/// The exponent of a power of two; none of another number.
std::optional<int> power_of(float scale) {
  int exponent = 0;
  if (std::frexp(scale, &exponent) != 0.5F) return std::nullopt;
  return exponent - 1;
}

}  // namespace

void check_histograms_file(const std::string& file) {
  if (is_document(file)) return files::try_output(file);
  const std::string ending = std::filesystem::path(file).extension().string();
  if (ending != ".svg" && ending != ".png" && ending != ".pdf")
    throw std::invalid_argument("histograms '" + files::printable(file) +
                                "': expected a file name that ends in .json, .svg, .png or .pdf");
  check_plot_file(file);
}

Histograms::Histograms(Trainer& trainer, const RunOutput& output, Trainer::Observer others, int64_t first,
                       int64_t total)
    : trainer_(trainer),
      file_(output.histograms),
      counts_(!file_.empty() || output.count_exponents),
      others_(std::move(others)),
      first_(first),
      total_(total),
      every_(output.histogram_every > 0 ? output.histogram_every : std::max<int64_t>(1, total / 10)) {
  for (const VariableSpec& v : trainer.model().variables) scopes_.push_back(scope_of(v.name));
}

bool Histograms::chosen(int64_t step) const {
  return counts_ && (step == first_ || step + 1 == total_ || step % every_ == 0);
}

/// The scope of the variables whose operations these are; else the node's own.
std::string Histograms::layer_of(const std::string& node) const {
  std::string best;
  for (const std::string& scope : scopes_)
    if (scope.size() > best.size() && node.starts_with(scope + "/")) best = scope;
  if (!best.empty()) return best;
  const std::string own = scope_of(node);
  return own.empty() ? node : own;
}

void Histograms::see(const std::string& layer, Kind kind, const TensorType& type, const void* data) {
  Counted& counted = now_.tensors[{layer, kind, type.dtype}];
  const ExponentHistogram counts = exponents_of(type, data);
  counted.counts.add(counts);
  if (kind != Kind::kGradients) return;
  const std::optional<int> power = power_of(now_.loss_scale);
  counted.unscaled.add(power ? counts.shifted(-*power) : exponents_of_quotients(type, data, double{now_.loss_scale}));
}

void Histograms::see_node(std::string_view phase, const Node& node, const TensorType& type, const void* data) {
  if (!is_floating(type.dtype) || engine::is_alias(node)) return;
  if (node.op == "VariableV2" || node.op == "Placeholder" || node.op == "Const") return;
  if (phase == "forward") return see(layer_of(node.name), Kind::kActivations, type, data);
  if (phase != "backward" || !node.name.starts_with(kBackward)) return;
  const std::string of = node.name.substr(kBackward.size(), node.name.find("_grad/") - kBackward.size());
  see(layer_of(of), Kind::kGradients, type, data);
}

void Histograms::begin(int64_t step) {
  looking_ = chosen(step);
  if (!looking_) return;
  now_ = {step, trainer_.loss_scale().scale(), {}};
  for (const VariableSpec& v : trainer_.model().variables)
    if (const Tensor& t = trainer_.variable(v.name); is_floating(t.dtype()))
      see(scope_of(v.name).empty() ? v.name : scope_of(v.name), Kind::kWeights, t.type(), t.data());
  trainer_.observe([this](std::string_view phase, int replica, uint32_t execution, const Node& node, int port,
                          const TensorType& type, const void* data) {
    see_node(phase, node, type, data);
    if (others_) others_(phase, replica, execution, node, port, type, data);
  });
}

void Histograms::end() {
  if (!looking_) return;
  trainer_.observe(others_);
  steps_.push_back(std::move(now_));
  looking_ = false;
}

std::string Histograms::json() const {
  if (file_.empty()) return {};
  std::string text = "{\"softamp_histograms\":1,\"steps\":[";
  for (size_t s = 0; s < steps_.size(); ++s) {
    text += (s ? ",\n" : "\n") + std::string("{\"step\":") + std::to_string(steps_[s].step) +
            ",\"loss_scale\":" + round_trip_text(steps_[s].loss_scale) + ",\"tensors\":[";
    bool first = true;
    for (const auto& [key, counted] : steps_[s].tensors) {
      const auto& [layer, kind, dtype] = key;
      text += std::string(first ? "\n" : ",\n") + " {\"layer\":" + quoted_for_json(layer) + ",\"kind\":\"" +
              name_of(kind) + "\",\"dtype\":\"" + std::string(name_of(dtype)) +
              "\",\"counts\":" + counted.counts.json();
      if (kind == Kind::kGradients) text += ",\"unscaled\":" + counted.unscaled.json();
      text += "}";
      first = false;
    }
    text += "]}";
  }
  return text + "]}\n";
}

std::optional<ExponentTotals> Histograms::totals() const {
  if (!counts_) return std::nullopt;
  ExponentTotals totals;
  for (const Step& step : steps_) {
    ExponentTotals one{1, step.loss_scale, step.loss_scale, {}};
    for (const auto& [key, counted] : step.tensors) {
      const auto& [layer, kind, dtype] = key;
      one.layers.push_back({layer, kind, dtype, counted.counts, counted.unscaled});
    }
    totals.add(one);
  }
  return totals;
}

void Histograms::write(const TrainSettings& settings) const {
  if (file_.empty() || steps_.empty()) return;
  if (is_document(file_)) return files::write_file(file_, json());
  Plot plot = gradient_exponents(*totals());
  plot.title = "Gradients of " + settings.network + " in " + settings.precision;
  write_plot(plot, file_);
}

}  // namespace softamp::train_detail
