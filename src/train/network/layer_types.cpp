#include "src/train/network/layer_types.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "softamp/train/layers.h"
#include "src/train/cast_node.h"

namespace softamp::network_detail {
namespace {

using Kind = OptionKind;

OptionType whole(const char* name, double least = 1, double most = kMostExtent) {
  return {name, Kind::kWhole, least, most};
}
OptionType number(const char* name, double least, double most, bool below_most = false) {
  return {name, Kind::kNumber, least, most, below_most};
}
OptionType word(const char* name, std::vector<std::string> words = {}) {
  return {name, Kind::kWord, 0, 0, false, std::move(words)};
}
OptionType usually(OptionType option, Value value) {
  option.required = false;
  option.usual = std::move(value);
  return option;
}
OptionType flag(const char* name, bool usual) { return usually({name, Kind::kTruth}, usual); }
OptionType initializer(const char* name, const Initializer& usual) {
  return usually({name, Kind::kInitializer}, usual);
}
OptionType path(const char* name) { return {name, Kind::kLayers}; }

OptionType padding(const char* usual) { return usually(word("padding", {"SAME", "VALID"}), std::string(usual)); }
OptionType partials() { return usually(word("partials", {"", "half", "float"}), std::string()); }
OptionType function() {
  std::vector<std::string> names = layers::activation_names();
  names.insert(names.begin(), "");
  return usually(word("activation", std::move(names)), std::string());
}
OptionType epsilon(double usual) { return usually(number("epsilon", 1e-12, 1), usual); }
OptionType rate(const char* name) { return number(name, 0, 1, true); }
Initializer of_transformers() { return Initializer::normal(0.02); }
OptionType bias_initializer() { return initializer("bias_initializer", Initializer::zeros()); }
OptionType kernel_initializer() { return initializer("kernel_initializer", Initializer::glorot_uniform()); }

/// The name for a layer's function: its own, or the default one.
std::string name_or(const LayerSpec& s, const Place& place, const char* usual) {
  return s.name.empty() ? usual : numbered(s.name, place);
}

Port activated(VariableStore& store, Port x, const std::string& name) {
  return name.empty() ? x : layers::activation(store, x, name);
}

/// Two paths become one of a dtype that both can give: that of the wider.
void to_one_dtype(VariableStore& store, std::vector<Port>& ports) {
  GraphBuilder& builder = store.builder();
  DType widest = builder.type(ports[0]).dtype;
  for (const Port p : ports)
    if (size_of(builder.type(p).dtype) > size_of(widest)) widest = builder.type(p).dtype;
  for (Port& p : ports) p = cast_to(builder, p, widest);
}

/// A variable that is there already is told with TensorFlow's advice, which is none for a file.
std::string in_words_of_files(const std::string& what) {
  const size_t advice = what.find(", disallowed. Did you mean to set reuse=True?");
  if (advice == std::string::npos) return what;
  return what.substr(0, advice) + "; expected a 'name' that no layer before has; in a repeat, one with {i}";
}

std::vector<LayerType> all_types() {
  return {
      {"conv2d",
       true,
       {whole("filters"), usually(whole("kernel"), int64_t{3}), usually(whole("stride"), int64_t{1}), padding("SAME"),
        flag("use_bias", true), function(), kernel_initializer(), bias_initializer(), partials()},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         const layers::Conv2DOptions o{s.whole("kernel"),
                                       s.whole("stride"),
                                       s.word("padding"),
                                       s.truth("use_bias"),
                                       s.word("activation") == "relu",
                                       s.initializer("kernel_initializer"),
                                       s.initializer("bias_initializer"),
                                       s.word("partials")};
         const Port y = layers::conv2d(store, x, s.whole("filters"), o, name_or(s, place, "conv2d"));
         return o.relu ? y : activated(store, y, s.word("activation"));
       }},
      {"depthwise_conv2d",
       true,
       {usually(whole("kernel"), int64_t{3}), usually(whole("stride"), int64_t{1}),
        usually(whole("multiplier"), int64_t{1}), padding("SAME"), flag("use_bias", true), function(),
        kernel_initializer(), bias_initializer(), partials()},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         const layers::DepthwiseConv2DOptions o{s.whole("kernel"),
                                                s.whole("stride"),
                                                s.whole("multiplier"),
                                                s.word("padding"),
                                                s.truth("use_bias"),
                                                s.initializer("kernel_initializer"),
                                                s.initializer("bias_initializer"),
                                                s.word("partials")};
         return activated(store, layers::depthwise_conv2d(store, x, o, name_or(s, place, "depthwise_conv2d")),
                          s.word("activation"));
       }},
      {"dense",
       true,
       {whole("units"), flag("use_bias", true), function(), kernel_initializer(), bias_initializer(), partials()},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         const layers::DenseOptions o{s.truth("use_bias"), s.word("activation") == "relu",
                                      s.initializer("kernel_initializer"), s.initializer("bias_initializer"),
                                      s.word("partials")};
         const Port y = layers::dense(store, x, s.whole("units"), o, name_or(s, place, "dense"));
         return o.relu ? y : activated(store, y, s.word("activation"));
       }},
      {"dense_column",
       true,
       {whole("units")},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         return layers::dense_column(store, x, s.whole("units"), name_or(s, place, "dense"));
       }},
      {"batch_norm",
       true,
       {usually(number("momentum", 0, 1), 0.99), epsilon(1e-3), flag("moving_averages", false)},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         layers::BatchNormOptions o;
         o.momentum = s.number("momentum");
         o.epsilon = s.number("epsilon");
         o.moving_averages = s.truth("moving_averages");
         return layers::batch_norm(store, x, o, name_or(s, place, "batch_normalization"));
       }},
      {"group_norm",
       true,
       {usually(whole("groups"), int64_t{1}), epsilon(1e-3)},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         return layers::group_norm(store, x, {s.whole("groups"), s.number("epsilon"), {}},
                                   name_or(s, place, "group_norm"));
       }},
      {"layer_norm",
       true,
       {epsilon(1e-5)},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         return layers::layer_norm(store, x, {s.number("epsilon"), {}}, name_or(s, place, "layer_norm"));
       }},
      {"max_pool",
       false,
       {usually(whole("size"), int64_t{2}), usually(whole("stride"), int64_t{2}), padding("VALID")},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place&) {
         return layers::max_pool(store, x, s.whole("size"), s.whole("stride"), s.word("padding"));
       }},
      {"average_pool",
       false,
       {usually(whole("size"), int64_t{2}), usually(whole("stride"), int64_t{2}), padding("VALID")},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place&) {
         return layers::average_pool(store, x, s.whole("size"), s.whole("stride"), s.word("padding"));
       }},
      {"global_average_pool",
       false,
       {},
       [](VariableStore& store, Port x, const LayerSpec&, const Place&) {
         return layers::global_average_pool(store, x);
       }},
      {"flatten",
       false,
       {},
       [](VariableStore& store, Port x, const LayerSpec&, const Place&) { return layers::flatten(store, x); }},
      {"activation",
       false,
       {word("function", layers::activation_names()), flag("approximate", true),
        usually(number("alpha", -1e6, 1e6), 0.2)},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place&) {
         return layers::activation(store, x, s.word("function"), {s.truth("approximate"), s.number("alpha")});
       }},
      {"dropout",
       false,
       {rate("rate")},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place&) {
         return layers::dropout(store, x, s.number("rate"));
       }},
      {"embedding",
       true,
       {whole("vocabulary"), whole("units"), initializer("initializer", of_transformers())},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         return layers::embedding(store, x, s.whole("vocabulary"), s.whole("units"), {{}, s.initializer("initializer")},
                                  name_or(s, place, "embedding"));
       }},
      {"position_embedding",
       true,
       {usually(whole("context", 0), int64_t{0}), initializer("initializer", of_transformers())},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         return layers::position_embedding(store, x, {s.whole("context"), s.initializer("initializer")},
                                           name_or(s, place, "position_embedding"));
       }},
      {"self_attention",
       true,
       {whole("heads"), flag("causal", true), usually(rate("dropout"), 0.0), flag("use_bias", true),
        initializer("kernel_initializer", of_transformers()), initializer("projection_initializer", of_transformers()),
        partials()},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         return layers::self_attention(
             store, x,
             {s.whole("heads"), s.truth("causal"), s.number("dropout"), s.truth("use_bias"),
              s.initializer("kernel_initializer"), s.initializer("projection_initializer"), s.word("partials")},
             name_or(s, place, "attention"));
       }},
      {"transformer_block",
       true,
       {whole("heads"), usually(whole("hidden", 0), int64_t{0}), flag("causal", true), usually(rate("dropout"), 0.0),
        usually(word("activation", layers::activation_names()), std::string("gelu")), epsilon(1e-5),
        flag("use_bias", true), initializer("kernel_initializer", of_transformers()),
        initializer("projection_initializer", of_transformers()), partials()},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         return layers::transformer_block(
             store, x,
             {s.whole("heads"), s.whole("hidden"), s.truth("causal"), s.number("dropout"), s.word("activation"),
              s.number("epsilon"), s.truth("use_bias"), s.initializer("kernel_initializer"),
              s.initializer("projection_initializer"), s.word("partials")},
             name_or(s, place, "block"));
       }},
      {"tied_output",
       true,
       {usually(word("embedding"), std::string("embedding")), partials()},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         return layers::tied_output(store, x, s.word("embedding"), name_or(s, place, "tied_output"),
                                    s.word("partials"));
       }},
      {"residual_block",
       true,
       {whole("filters")},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         return layers::residual_block(store, x, s.whole("filters"), name_or(s, place, "block"));
       }},
      {"downsample_block",
       true,
       {whole("filters")},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         return layers::downsample_block(store, x, s.whole("filters"), name_or(s, place, "downsample"));
       }},
      {"residual",
       true,
       {path("layers"), usually(path("shortcut"), Layers{}), function()},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         const auto scope = store.layer_scope(name_or(s, place, "residual"), "residual");
         std::vector<Port> paths = {add_layers(store, x, s.layers("layers"), place),
                                    add_layers(store, x, s.layers("shortcut"), place)};
         to_one_dtype(store, paths);
         return activated(store, store.builder().add("AddV2", {paths[0], paths[1]}), s.word("activation"));
       }},
      {"concat",
       true,
       {{"branches", Kind::kBranches}},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         const auto scope = store.layer_scope(name_or(s, place, "concat"), "concat");
         std::vector<Port> paths;
         for (const Layers& branch : s.branches("branches")) paths.push_back(add_layers(store, x, branch, place));
         to_one_dtype(store, paths);
         const int64_t last = store.builder().type(paths[0]).shape.rank() - 1;
         return store.builder().add("ConcatV2", paths, {{"axis", last}});
       }},
      {"sequential",
       true,
       {path("layers")},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place& place) {
         const auto scope = store.layer_scope(name_or(s, place, "sequential"), "sequential");
         return add_layers(store, x, s.layers("layers"), place);
       }},
      {"repeat",
       false,
       {whole("times", 0, 10000), usually(whole("from", 0, 1 << 20), int64_t{1}), path("layers")},
       [](VariableStore& store, Port x, const LayerSpec& s, const Place&) {
         for (int64_t i = 0; i < s.whole("times"); ++i)
           x = add_layers(store, x, s.layers("layers"), {s.whole("from") + i});
         return x;
       }},
  };
}

}  // namespace

const std::vector<LayerType>& layer_types() {
  static const std::vector<LayerType> types = all_types();
  return types;
}

Port add_layers(VariableStore& store, Port x, const Layers& layers, const Place& place) {
  for (const LayerSpec& layer : layers) try {
      x = layer.type->add(store, x, layer, place);
    } catch (const std::invalid_argument& e) {  // a GraphError, or a shape with too many elements
      const std::string what = e.what(), file = layer.place.substr(0, layer.place.find(": "));
      throw GraphError(what.starts_with(file + ": ") ? what : layer.place + ": " + in_words_of_files(what));
    }
  return x;
}

std::string numbered(std::string text, const Place& place) {
  for (size_t at = text.find("{i}"); at != std::string::npos; at = text.find("{i}"))
    text.replace(at, 3, std::to_string(place.repetition));
  return text;
}

}  // namespace softamp::network_detail
