#include "src/program/network_graph.h"

#include "softamp/data/npy.h"
#include "softamp/train/initializer.h"
#include "softamp/train/network_file.h"
#include "src/files/input_file.h"
#include "src/program/usage.h"
#include "src/train/run/run_data.h"

#include <filesystem>
#include <utility>

namespace softamp::program {
namespace {

constexpr uint64_t kMostNetworkBytes = uint64_t{4} << 20;

}  // namespace

bool is_network(const std::string& file) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none) || std::filesystem::file_size(file, none) > kMostNetworkBytes)
    return false;
  const std::string text =
      files::read_input(file, "a graph or a network, a JSON file, or a GraphDef: .pb, .pbtxt", kMostNetworkBytes);
  const auto has = [&](const char* key) { return text.find(key) != std::string::npos; };
  return has("\"softamp_network\"") && !has("\"softamp_graph\"");
}

NetworkGraph load_network_graph(const std::string& file, const std::string& precision,
                                const std::map<std::string, std::string>& feeds, uint64_t seed, int64_t batch) {
  TrainSettings settings;
  if (!precision.empty()) settings = settings.with("precision", precision, "--precision");
  settings.network = file;
  settings.batch_size = batch;
  const NetworkInfo network = load_network(file);
  Model model = train_detail::model_of(settings, network);
  if (const auto fed = feeds.find(model.images); fed != feeds.end()) {
    const Shape shape = load_npy(fed->second, true).shape();
    if (shape.rank() > 0 && shape[0] != batch) {
      settings.batch_size = shape[0];
      model = train_detail::model_of(settings, network);
    }
  }
  NetworkGraph result{model.evaluation ? std::move(*model.evaluation) : std::move(model.graph), model.logits, {}};
  for (const VariableSpec& v : model.variables)
    result.variables.emplace(v.name, initial_value(v.initializer, v.type, v.name, seed));
  return result;
}

}  // namespace softamp::program
