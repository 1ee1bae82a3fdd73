// A network file is read into layer specifications, which are all checked before anything is built.
#include "softamp/train/network_file.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"
#include "src/files/input_file.h"
#include "src/numbers/decimal_text.h"
#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"
#include "src/text/word.h"
#include "src/train/network/layer_types.h"

namespace softamp {
namespace network_detail {
namespace {

using Json = nlohmann::ordered_json;
using files::excerpt;
using graph_detail::nearest_of;

constexpr int64_t kVersion = 1, kMostLayers = 4000;
constexpr size_t kMostName = 256;  // bytes: each layer in a repeat has it, and each of its variables and nodes
/// Of all masks of attention together, a byte each.
constexpr double kMostMasks = 1 << 30;

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
  throw std::invalid_argument(place + ": " + what);
}

std::string list_of(const std::vector<std::string>& words) {
  return joined(words, ", ", [](const std::string& w) { return w.empty() ? std::string("\"\"") : w; });
}

/// The members of an object, each of which must be known.
class Members {
 public:
  Members(const Json& json, std::string place, std::vector<std::string> known, const std::string& of)
      : json_(json), place_(std::move(place)) {
    if (!json.is_object()) refuse(place_, "is " + excerpt(json.dump()) + "; expected an object of " + of);
    for (const auto& [key, value] : json.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        refuse(place_, "'" + excerpt(key) + "' is no option of " + of + "; expected " +
                           (known.empty() ? "none" : list_of(known)) + nearest_of(key, known));
  }

  const Json* find(std::string_view key) const {
    const auto at = json_.find(std::string(key));
    return at == json_.end() ? nullptr : &*at;
  }
  const Json& at(std::string_view key, const char* expected) const {
    const Json* found = find(key);
    if (!found) refuse(place_, "there is no '" + std::string(key) + "'; expected " + expected);
    return *found;
  }
  [[noreturn]] void wrong(std::string_view key, const Json& value, const std::string& expected) const {
    refuse(place_, "'" + std::string(key) + "' is " + excerpt(value.dump()) + "; expected " + expected);
  }
  int64_t whole(std::string_view key, int64_t least, int64_t most) const {
    const std::string expected = least == most
                                     ? std::to_string(least)
                                     : "a whole number in " + std::to_string(least) + " .. " + std::to_string(most);
    const Json& value = at(key, expected.c_str());
    const std::optional<int64_t> number = whole_number_in<int64_t>(value, least, most);
    if (!number) wrong(key, value, expected);
    return *number;
  }
  std::string word(std::string_view key, const std::vector<std::string>& words, const char* usual = nullptr) const {
    if (usual && !find(key)) return usual;
    const std::string expected = words.empty() ? "a text" : "one of " + list_of(words);
    const Json& value = at(key, expected.c_str());
    if (!value.is_string()) wrong(key, value, expected);
    const auto text = value.get<std::string>();
    if (words.empty()) return text;
    if (const std::string* const known = find_word(words, text)) return *known;
    wrong(key, value, expected + nearest_of(text, words));
  }
  Shape shape(std::string_view key, int rank, const char* expected) const {
    const Json& value = at(key, expected);
    std::vector<int64_t> extents;
    if (!value.is_array()) wrong(key, value, expected);
    for (const Json& extent : value) {
      const auto number = whole_number_in<int64_t>(extent, 1, 1 << 24);
      if (!number) wrong(key, value, expected);
      extents.push_back(*number);
    }
    const auto found = static_cast<int>(extents.size());
    if (rank > 0 ? found != rank : found < 1 || found > Shape::kMaxRank - 1) wrong(key, value, expected);
    double elements = 1;
    for (const int64_t extent : extents) elements *= static_cast<double>(extent);
    if (elements > kMostElements) wrong(key, value, std::string(expected) + ", at most 2^28 elements together");
    return Shape(std::span<const int64_t>(extents));
  }
  const std::string& place() const { return place_; }

 private:
  static constexpr double kMostElements = 1 << 28;
  const Json& json_;
  std::string place_;
};

constexpr double kLargestFloat32 = 0x1.fffffep127;

/// "normal(0, 0.02)", as Initializer::text writes it.
std::optional<Initializer> initializer_of(const std::string& text) {
  const size_t open = text.find('(');
  constexpr std::string_view kNames[] = {"zeros",  "ones",    "glorot_uniform",  "constant",
                                         "normal", "uniform", "truncated_normal"};
  const std::string name = our_word(kNames, text.substr(0, open));
  std::vector<double> numbers;
  if (open != std::string::npos) {
    if (!text.ends_with(')')) return {};
    const std::string inside = text.substr(open + 1, text.size() - open - 2);
    for (size_t from = 0; from <= inside.size();) {
      const size_t comma = std::min(inside.find(',', from), inside.size());
      std::string part = inside.substr(from, comma - from);
      part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
      const std::optional<double> x = number_of_decimal(part);
      if (!x || !(std::abs(*x) <= kLargestFloat32)) return {};
      numbers.push_back(*x);
      from = comma + 1;
    }
  }
  const size_t n = numbers.size();
  if (n == 0) {
    if (name == "zeros") return Initializer::zeros();
    if (name == "ones") return Initializer::ones();
    if (name == "glorot_uniform") return Initializer::glorot_uniform();
  }
  if (n == 1 && name == "constant") return Initializer::constant(numbers[0]);
  if (n == 2 && numbers[1] >= 0) {
    if (name == "normal") return Initializer::normal(numbers[1], numbers[0]);
    if (name == "truncated_normal") return Initializer::truncated_normal(numbers[1], numbers[0]);
  }
  if (n == 2 && name == "uniform" && numbers[0] < numbers[1]) return Initializer::uniform(numbers[0], numbers[1]);
  return {};
}

class LayerReader {
 public:
  /// vocabulary: the input's; 0: it has no tokens.
  explicit LayerReader(int64_t vocabulary) : vocabulary_(vocabulary) {}

  /// A mask is as large as the square of what it masks: a short file must not ask for much memory.
  void check_masks(const std::string& place, int64_t length) const {
    const double all = static_cast<double>(attentions_) * static_cast<double>(length) * static_cast<double>(length);
    if (all > kMostMasks)
      refuse(place, std::to_string(attentions_) + " layers with attention over " + std::to_string(length) +
                        " places; expected at most 2^30 pairs of places together");
  }

  Layers layers(const Json& json, const std::string& place, int64_t times) {
    if (!json.is_array()) refuse(place, "is " + excerpt(json.dump()) + "; expected a list of layers");
    Layers all;
    size_t number = 0;
    for (const Json& one : json) all.push_back(layer(one, place + "[" + std::to_string(number++) + "]", times));
    return all;
  }

 private:
  LayerSpec layer(const Json& json, const std::string& place, int64_t times) {
    if (!json.is_object()) refuse(place, "is " + excerpt(json.dump()) + "; expected an object with a 'type'");
    const auto named = json.find("type");
    std::vector<std::string> types;
    for (const LayerType& t : layer_types()) types.push_back(t.name);
    if (named == json.end() || !named->is_string())
      refuse(place, (named == json.end() ? "there is no 'type'" : "'type' is " + excerpt(named->dump())) +
                        "; expected one of " + list_of(types));
    const std::string wanted = our_word(types, named->get<std::string>());
    const auto at = std::find(types.begin(), types.end(), wanted);
    if (at == types.end())
      refuse(place,
             "unknown layer '" + excerpt(wanted) + "'; expected one of " + list_of(types) + nearest_of(wanted, types));
    LayerSpec spec;
    spec.type = &layer_types()[static_cast<size_t>(at - types.begin())];
    spec.place = place + " (" + wanted + ")";
    std::vector<std::string> known = {"type"};
    if (spec.type->named) known.emplace_back("name");
    for (const OptionType& o : spec.type->options) known.push_back(o.name);
    const Members members(json, spec.place, known, wanted);
    if (members.find("name")) {
      spec.name = members.word("name", {});
      if (spec.name.empty()) members.wrong("name", *members.find("name"), "a text that is not empty");
      if (spec.name.size() > kMostName)
        members.wrong("name", *members.find("name"),
                      "at most " + std::to_string(kMostName) + " bytes, not " + std::to_string(spec.name.size()));
    }
    if ((count_ += times) > kMostLayers)
      refuse(spec.place, "the network has more than " + std::to_string(kMostLayers) + " layers");
    if (wanted == "self_attention" || wanted == "transformer_block") attentions_ += times;
    int64_t inner = times;
    for (const OptionType& o : spec.type->options) {
      const Json* given = members.find(o.name);
      if (!given && o.required) refuse(spec.place, "there is no '" + o.name + "'; expected " + expected_of(o));
      Value value = given ? read(members, o, *given, inner) : o.usual;
      if (o.name == "times") inner = std::max<int64_t>(1, times * std::get<int64_t>(value));
      if (inner > kMostLayers)
        refuse(spec.place, "the network has more than " + std::to_string(kMostLayers) + " layers");
      spec.values.emplace(o.name, std::move(value));
    }
    if (const int64_t rows = wanted == "embedding" ? spec.whole("vocabulary") : vocabulary_; rows < vocabulary_)
      refuse(spec.place, "'vocabulary' is " + std::to_string(rows) + ", and that of the input " +
                             std::to_string(vocabulary_) + "; expected at least as many");
    return spec;
  }

  static std::string expected_of(const OptionType& o) {
    switch (o.kind) {
      case OptionKind::kWhole:
        return "a whole number in " + std::to_string(static_cast<int64_t>(o.least)) + " .. " +
               std::to_string(static_cast<int64_t>(o.most));
      case OptionKind::kNumber:
        return "a number from " + shortest_decimal(o.least) + (o.below_most ? " up to, but not including, " : " to ") +
               shortest_decimal(o.most);
      case OptionKind::kTruth: return "true or false";
      case OptionKind::kWord: return o.words.empty() ? "a text" : "one of " + list_of(o.words);
      case OptionKind::kInitializer:
        return "an initialiser: zeros, ones, constant(C), glorot_uniform, normal(MEAN, DEVIATION), "
               "truncated_normal(MEAN, DEVIATION) or uniform(LOW, HIGH)";
      case OptionKind::kLayers: return "a list of layers";
      case OptionKind::kBranches: return "a list of at least one list of layers";
    }
    return {};
  }

  Value read(const Members& members, const OptionType& o, const Json& value, int64_t times) {
    const std::string place = members.place().substr(0, members.place().rfind(" (")) + "." + o.name;
    switch (o.kind) {
      case OptionKind::kWhole:
        if (const auto number =
                whole_number_in<int64_t>(value, static_cast<int64_t>(o.least), static_cast<int64_t>(o.most)))
          return *number;
        break;
      case OptionKind::kNumber:
        if (value.is_number())
          if (const auto x = value.get<double>(); x >= o.least && (o.below_most ? x < o.most : x <= o.most)) return x;
        break;
      case OptionKind::kTruth:
        if (value.is_boolean()) return value.get<bool>();
        break;
      case OptionKind::kWord: return members.word(o.name, o.words);
      case OptionKind::kInitializer:
        if (value.is_string())
          if (const auto found = initializer_of(value.get<std::string>())) return *found;
        break;
      case OptionKind::kLayers: return layers(value, place, times);
      case OptionKind::kBranches: {
        if (!value.is_array() || value.empty()) break;
        std::vector<Layers> branches;
        for (const Json& one : value)
          branches.push_back(layers(one, place + "[" + std::to_string(branches.size()) + "]", times));
        return branches;
      }
    }
    members.wrong(o.name, value, expected_of(o));
  }

  int64_t vocabulary_, count_ = 0, attentions_ = 0;
};

NetworkInput input_of(const Json& json, const std::string& place) {
  NetworkInput input;
  const std::vector<std::string> kinds = {"image", "features", "tokens"};
  const Members any(json, place, {"kind", "shape", "length", "vocabulary", "encoding"}, "an input");
  const std::string kind = any.word("kind", kinds);
  if (kind == "tokens") {
    const Members m(json, place, {"kind", "length", "vocabulary", "encoding"}, "tokens");
    input.kind = NetworkInput::Kind::kTokens;
    input.shape = Shape{m.whole("length", 1, 1 << 16)};
    input.vocabulary = m.whole("vocabulary", 2, 1 << 24);
    input.encoding = m.word("encoding", {"characters", "bytes"}, "characters");
    return input;
  }
  const Members m(json, place, {"kind", "shape"}, kind);
  const bool image = kind == "image";
  input.kind = image ? NetworkInput::Kind::kImage : NetworkInput::Kind::kFeatures;
  input.shape = m.shape("shape", image ? 3 : 0,
                        image ? "[height, width, channels]" : "a list of 1 to 7 extents, those of one sample");
  return input;
}

NetworkOutput output_of(const Json& json, const std::string& place, const NetworkInput& input) {
  NetworkOutput output;
  const Members any(json, place, {"kind", "count", "shape", "loss"}, "an output");
  const std::string kind = any.word("kind", {"classes", "next_token", "values", "binary"});
  using Kind = NetworkOutput::Kind;
  const std::string cross_entropy = output.loss;
  if (kind == "classes") {
    const Members m(json, place, {"kind", "count"}, kind);
    output.classes = m.whole("count", 2, 1 << 24);
    return output;
  }
  if (kind == "next_token") {
    const Members m(json, place, {"kind"}, kind);
    if (input.kind != NetworkInput::Kind::kTokens)
      refuse(place, "'kind' is next_token, but the input has no tokens; expected an input of the kind tokens");
    output.kind = Kind::kNextToken;
    output.classes = input.vocabulary;
    return output;
  }
  const bool binary = kind == "binary";
  const Members m(json, place, {"kind", "shape", "loss"}, kind);
  output.kind = binary ? Kind::kBinary : Kind::kValues;
  output.classes = 0;
  output.shape = m.shape("shape", 0, "a list of 1 to 7 extents, those of one sample");
  const std::vector<std::string> losses =
      binary ? std::vector<std::string>{"binary_crossentropy_from_logits"}
             : std::vector<std::string>{"mean_squared_error", "mean_absolute_error", "huber", "log_cosh"};
  output.loss = m.word("loss", losses, losses[0].c_str());
  return output;
}

/// What the network gives, against what its file says.
void check_output(const NetworkInfo& info, const TensorType& found, int64_t batch, const std::string& place) {
  std::vector<int64_t> extents = {batch};
  const auto append = [&](const Shape& shape) { extents.insert(extents.end(), shape.begin(), shape.end()); };
  if (info.output.kind == NetworkOutput::Kind::kNextToken) append(info.input.shape);
  if (info.output.classes > 0)
    extents.push_back(info.output.classes);
  else
    append(info.output.shape);
  const Shape expected{std::span<const int64_t>(extents)};
  if (found.shape == expected && is_floating(found.dtype)) return;
  throw GraphError(place + ": the last layer gives " + found.text() + "; expected floating numbers of shape " +
                   expected.text());
}

std::string markdown_of(const OptionType& o) {
  std::string range;
  switch (o.kind) {
    case OptionKind::kWhole:
      range = std::to_string(static_cast<int64_t>(o.least)) + " .. " + std::to_string(static_cast<int64_t>(o.most));
      break;
    case OptionKind::kNumber: range = shortest_decimal(o.least) + " .. " + shortest_decimal(o.most); break;
    case OptionKind::kTruth: range = "true, false"; break;
    case OptionKind::kWord:
      range = o.words.empty() ? "a text" : o.name == "activation" ? "an activation" : list_of(o.words);
      break;
    case OptionKind::kInitializer: range = "an initialiser"; break;
    case OptionKind::kLayers: range = "a list of layers"; break;
    case OptionKind::kBranches: range = "a list of lists of layers"; break;
  }
  std::string usual;
  if (!o.required) {
    if (const auto* n = std::get_if<int64_t>(&o.usual)) usual = std::to_string(*n);
    if (const auto* x = std::get_if<double>(&o.usual)) usual = shortest_decimal(*x);
    if (const auto* t = std::get_if<bool>(&o.usual)) usual = *t ? "true" : "false";
    if (const auto* w = std::get_if<std::string>(&o.usual)) usual = w->empty() ? "\"\"" : *w;
    if (const auto* i = std::get_if<Initializer>(&o.usual)) usual = i->text();
    if (std::holds_alternative<Layers>(o.usual)) usual = "[]";
    usual = " [=" + usual + "]";
  }
  return "`" + o.name + "` (" + range + ")" + usual;
}

}  // namespace
}  // namespace network_detail

NetworkInfo parse_network(std::string_view text, std::string_view place_text) {
  using namespace network_detail;
  const engine::DefaultEnvironment guard;
  const std::string place(place_text);
  const Json json = read_json(text, place, {kMostWrittenBytes, 64});
  const Members m(json, place, {"softamp_network", "name", "about", "input", "output", "layers"}, "a network");
  m.whole("softamp_network", kVersion, kVersion);
  NetworkInfo info;
  info.name = m.word("name", {}, "");
  m.word("about", {}, "");
  info.input = input_of(m.at("input", "an object with a 'kind'"), place + ": input");
  info.output = output_of(m.at("output", "an object with a 'kind'"), place + ": output", info.input);
  info.image = {0, 0, 0};
  if (info.input.kind == NetworkInput::Kind::kImage)
    for (size_t i = 0; i < 3; ++i) info.image[i] = info.input.shape[static_cast<int>(i)];
  info.classes = info.output.classes;
  LayerReader reader(info.input.kind == NetworkInput::Kind::kTokens ? info.input.vocabulary : 0);
  const auto layers =
      std::make_shared<const Layers>(reader.layers(m.at("layers", "a list of layers"), place + ": layers", 1));
  reader.check_masks(place + ": layers", info.input.shape[0]);
  info.json = std::string(text);
  const NetworkInfo facts = info;  // without the function that is made here
  info.build = [layers, facts, place](VariableStore& store, Port x) {
    const int64_t batch = store.builder().type(x).shape[0];
    const Port y = add_layers(store, x, *layers, {});
    check_output(facts, store.builder().type(y), batch, place);
    return y;
  };
  return info;
}

NetworkInfo load_network(const std::filesystem::path& file) {
  std::string text;
  try {
    text = files::read_input(file, "a JSON file of a network", kMostWrittenBytes);
  } catch (const files::InputError& e) {
    throw std::invalid_argument(e.what());
  }
  return parse_network(text, file.string());
}

bool names_network_file(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".json");
}

std::string network_layers_markdown() {
  using namespace network_detail;
  std::string text = "| layer | options |\n|---|---|\n";
  for (const LayerType& type : layer_types()) {
    std::string options;
    for (const OptionType& o : type.options) options += (options.empty() ? "" : "; ") + markdown_of(o);
    text += "| `" + type.name + "`" + (type.named ? "" : " (no `name`)") + " | " + options + " |\n";
  }
  return text;
}

}  // namespace softamp
