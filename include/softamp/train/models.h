// The networks of the tutorial and of common examples, each one function from a batch of images to logits, and
// `build_model`, which puts placeholders, precision and a loss around them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/train/losses.h"
#include "softamp/train/variable.h"

namespace softamp {

/// The dtypes of a network.
struct Precision {
  std::string name = "float32";
  DType compute = DType::kFloat32;     ///< of images, activations and activation gradients
  DType parameters = DType::kFloat32;  ///< of variables; norms of bfloat16 activations keep theirs in float32
  /// float32, float16, bfloat16; mixed (= mixed_float16, whose name becomes "mixed": float32 variables, cast at use),
  /// mixed_bfloat16. Throws std::invalid_argument with the names there are.
  static Precision parse(std::string_view text);
  static std::vector<std::string> names();
  bool operator==(const Precision&) const = default;
};

/// From images [batch, height, width, channels] to logits [batch, classes]; under a loss of one's own from inputs of
/// any type to outputs of any type.
using Network = std::function<Port(VariableStore& store, Port images)>;

/// What one sample of a network's input is.
struct NetworkInput {
  enum class Kind : uint8_t {
    kImage,     ///< 8-bit pixels [height, width, channels], fed as x / 255
    kFeatures,  ///< floating numbers of any shape, fed as they are
    kTokens,    ///< int32 [length], each in 0 .. vocabulary - 1
  };
  Kind kind = Kind::kImage;
  Shape shape{};
  int64_t vocabulary = 0;  ///< kTokens
  /// kTokens of a text: "characters" are numbered by the text, in the order of their code points; "bytes" are 0 .. 255.
  std::string encoding{};
};

/// What a network's output means, and so what labels are and how it is judged.
struct NetworkOutput {
  enum class Kind : uint8_t {
    kClasses,    ///< logits [batch, classes]; a label is an int32
    kNextToken,  ///< logits [batch, length, vocabulary]; labels are the tokens one further
    kValues,     ///< numbers [batch, ...]; labels have the same shape
    kBinary,     ///< logits [batch, ...]; labels have the same shape, of 0 and 1
  };
  Kind kind = Kind::kClasses;
  int64_t classes = 10;                                              ///< kClasses; kNextToken: the vocabulary
  Shape shape{};                                                     ///< kValues, kBinary: of one sample
  std::string loss = "sparse_categorical_crossentropy_from_logits";  ///< loss_names()
};

/// Networks by name: "resnet8", "resnet14", ... (6N+2), "fashion_cnn" (model B), "lenet5", "small_cnn" (conv 3x3 8,
/// pool, conv 3x3 16, pool, dense: learns the generated images in a minute), "small_resnet" (conv 3x3 8, pool, batch
/// norm, residual block, pool, batch norm, downsample block 16, dense: every kind of layer, cheap); or a file
/// (network_file.h). Throws std::invalid_argument: unknown name; a depth that is not 6N+2 >= 8: "... must be of the
/// form 6N+2 (8, 14, 20, 26)"; as load_network.
struct NetworkInfo {
  std::string name;
  std::array<int64_t, 3> image;  ///< height, width, channels that it is made for; zeros where its input is no image
  Network build;
  int64_t classes = 10;  ///< that an output may be; 0 where it is no class
  NetworkInput input{};
  NetworkOutput output{};
  std::string json{};  ///< the file
};
NetworkInfo find_network(std::string_view name);
std::vector<std::string> network_names();

/// The deepest residual network of this form in the literature (He, Zhang, Ren, Sun, CVPR 2016).
inline constexpr int64_t kDeepestResnet = 1202;
/// Throws std::invalid_argument unless depth >= 8 and depth mod 6 == 2, naming the form 6N+2 (8, 14, 20, 26); and for
/// one above kDeepestResnet.
void check_resnet_depth(int64_t depth);
Network resnet(int64_t depth);
Network fashion_cnn();
Network lenet5();
Network small_cnn();
Network small_resnet();

struct ModelOptions {
  int64_t batch_size = 32;
  std::array<int64_t, 3> image{28, 28, 1};
  int64_t classes = 10;
  Precision precision;
  bool loss_in_float32 =
      true;  ///< logits are cast to float32 before the loss (TUTORIAL X7); false: the shipped scripts' way
  /// The compute dtype of each layer [=all in `precision`]. `precision` is then float32: images come in float32, and
  /// layers cast them.
  std::optional<LayerRule> layers{};
  std::string mechanism{};  ///< the rule's name in reports: "level O2" [="layer rule"]
};

/// A forward graph, ready for a trainer.
///   "images" Placeholder [batch, h, w, c] of the compute dtype (under a rule of layers: float32); "labels" Placeholder
///   int32 [batch]
///   "logits" [batch, classes]; "loss" scalar: mean of the sparse softmax cross-entropies
struct Model {
  Graph graph;
  std::vector<VariableSpec> variables;  ///< in order of creation
  std::string images = "images", labels = "labels", logits = "logits", loss = "loss";
  Precision precision;
  std::vector<RuledLayer> layers{};  ///< the rule's answers, in order [=no rule]
  std::string mechanism{};           ///< the rule's name; "": no rule
  /// What computes `logits` and `loss` of the trained network, with the same placeholders, names and variables, where
  /// that is another graph [=none: `graph` itself does]. It assigns no variable.
  std::optional<Graph> evaluation{};

  int64_t parameters() const;  ///< elements of all variables
  int64_t trainable_parameters() const;
  int64_t parameter_bytes() const;
};
/// Variables and layers are at the top level ("block1/conv2d/kernel"), the loss under "loss_fn". If parameters are kept
/// wider than the compute dtype, the whole network is built under float32_parameters(). A network that asks its store
/// whether it trains (VariableStore::training) is called a second time, with a store that says no; Model::evaluation is
/// that graph if it is another. Both calls give outputs of one type and the same variables. Throws
/// std::invalid_argument: an extent below 1, a precision other than those above, logits of another type than [batch,
/// classes] of the compute dtype (under a rule: of any floating dtype), a rule with a precision other than float32, the
/// first variable that the two graphs do not share; GraphError: input that a layer refuses, and a network that uses one
/// of the four names.
Model build_model(const Network& network, const ModelOptions& options);

/// What goes into a network of one's own and into its loss in one step; axis 0 is the sample.
struct ModelInputs {
  TensorType inputs;  ///< such as float32 [32, 64]; floating inputs of another dtype than `precision` computes in are
                      ///< cast, others go into the network as they are
  TensorType labels;  ///< such as int32 [32]
  Precision precision{};
  bool loss_in_float32 = true;        ///< outputs of 16 bits are cast to float32 before the loss
  std::optional<LayerRule> layers{};  ///< as ModelOptions::layers
  std::string mechanism{};            ///< as ModelOptions::mechanism
};
/// The same for any network and any loss: placeholders "inputs" and "labels", nodes "outputs" (an Identity) and "loss",
/// the mean of what the loss gives. Throws std::invalid_argument: a scalar, another number of inputs than of labels, a
/// precision as above, an output or a loss that is not floating; GraphError as above, and what the loss throws.
Model build_model(const Network& network, const LossFunction& loss, const ModelInputs& inputs);

}  // namespace softamp
