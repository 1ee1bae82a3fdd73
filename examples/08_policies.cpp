// Keras' dtype policies: layers that are written without a cast, what the policy casts, and what it does not.
//
// SimpleDense, MyLayer and AddRandom are the classes by which Keras' own pages explain policies.
// tests: K02, K09, K10, K15, K20, K25
#include <cstdio>
#include <string>

#include "softamp/findings/tensor_text.h"
#include "softamp/graph/executor.h"
#include "softamp/graph/graph_text.h"
#include "softamp/train/keras/layer_classes.h"

using namespace softamp;

namespace {

/// One product; nothing in it says which dtype it is of.
class SimpleDense : public Layer {
 public:
  using Layer::Layer;

 protected:
  void build(const LayerValue& inputs) override { kernel_ = add_weight("kernel", {type(inputs).shape[1], 2}); }
  LayerValue call(const LayerArguments& in) override { return op("MatMul", {in[0], kernel_.read()}); }
  std::string default_name() const override { return "simple_dense"; }

 private:
  Weight kernel_;
};

/// Two arguments: the first is cast, the second is not.
class MyLayer : public Layer {
 public:
  using Layer::Layer;

 protected:
  LayerValue call(const LayerArguments& in) override { return LayerValue::list({plus_one(in[0]), plus_one(in[1])}); }
  std::string default_name() const override { return "my_layer"; }

 private:
  Port plus_one(Port x) const { return op("AddV2", {x, constant(1, type(x).dtype)}); }
};

/// Makes a tensor of its own: it must be of the inputs' dtype.
class AddRandom : public Layer {
 public:
  AddRandom(LayerContext& context, bool with_dtype, LayerOptions options)
      : Layer(context, std::move(options)), with_dtype_(with_dtype) {}

 protected:
  LayerValue call(const LayerArguments& in) override {
    const TensorType& inputs = type(in[0]);
    const Shape shape = inputs.shape;
    return op("AddV2", {in[0], with_dtype_ ? random_normal(shape, inputs.dtype) : random_normal(shape)});
  }
  std::string default_name() const override { return "add_random"; }

 private:
  bool with_dtype_;
};

const char* name_of_any(const std::optional<DType>& dtype) { return dtype ? name_of(*dtype) : "-"; }

void line(const Layer& layer, const GraphBuilder& builder, Port output) {
  std::printf("  %-14s %-29s computes in %-8s keeps %-8s gives %s\n", layer.name().c_str(),
              text(layer.dtype_policy()).c_str(), name_of_any(layer.compute_dtype()), name_of_any(layer.dtype()),
              name_of(builder.type(output).dtype));
}

void simple_dense() {
  std::printf("SimpleDense under each policy\n");
  for (const char* policy : {"float32", "mixed_float16", "mixed_bfloat16", "float16"}) {
    GraphBuilder builder;
    VariableStore store(builder);
    const MixedPrecisionContext precision;
    LayerContext context(store, precision);
    SimpleDense layer(context, {.dtype = policy});
    const Port y = layer(builder.placeholder("x", DType::kFloat32, {1, 3}));
    line(layer, builder, y);
    if (layer.dtype_policy() == Policy("mixed_float16")) std::printf("%s", text(builder.build()).c_str());
  }
}

void my_layer() {
  std::printf("\nMyLayer(dtype=\"float64\") called with two float32 tensors\n");
  GraphBuilder builder;
  VariableStore store(builder);
  const MixedPrecisionContext precision;
  LayerContext context(store, precision);
  MyLayer layer(context, {.dtype = "float64"});
  const Port a = builder.placeholder("a", DType::kFloat32, {}), b = builder.placeholder("b", DType::kFloat32, {});
  const LayerValue both = layer(a, b);
  std::printf("  a + 1 is %s, b + 1 is %s: only the first argument is cast\n", name_of(builder.type(both[0]).dtype),
              name_of(builder.type(both[1]).dtype));
}

void add_random() {
  std::printf("\nAddRandom under mixed_float16\n");
  GraphBuilder builder;
  VariableStore store(builder);
  MixedPrecisionContext precision;
  const PolicyScope scope(precision, "mixed_float16");
  LayerContext context(store, precision);
  const Port x = builder.placeholder("x", DType::kFloat32, {2, 2});
  for (const bool with_dtype : {true, false}) {
    std::printf("  random_normal(shape%s): ", with_dtype ? ", dtype of the inputs" : "");
    AddRandom layer(context, with_dtype, {});
    try {
      std::printf("gives %s\n", name_of(builder.type(layer(x)).dtype));
    } catch (const DtypeMismatchError& e) {
      std::printf("%s\n", e.what());
    }
  }
}

/// A classifier's end: softmax in float16, and, as Keras' guide has it, in float32.
void softmax_at_the_end() {
  std::printf("\nTwo dense layers under mixed_float16, and softmax\n");
  GraphBuilder builder;
  VariableStore store(builder);
  MixedPrecisionContext precision;
  precision.set_global_policy("mixed_float16");
  LayerContext context(store, precision);
  layers::Dense hidden(context, 16, {.activation = "relu"}), logits(context, 4);
  layers::Activation half(context, "softmax"), single(context, "softmax", {.dtype = "float32"});
  const Port x = builder.placeholder("x", DType::kFloat32, {1, 8});
  const Port h = hidden(x), z = logits(h), p = half(z), q = single(z);
  line(hidden, builder, h);
  line(logits, builder, z);
  line(half, builder, p);
  line(single, builder, q);

  const std::vector<std::string> fetches = {builder.graph().port_name(p), builder.graph().port_name(q)};
  const auto executor = make_executor(builder.build());
  for (const VariableSpec& v : store.variables())
    executor->set_variable(v.name, initial_value(v.initializer, v.type, v.name, 1));
  const Tensor input = initial_value(Initializer::normal(1), {DType::kFloat32, {1, 8}}, "x", 1);
  const Feed feed{"x", &input};
  const RunResult result = executor->run({&feed, 1}, fetches);
  for (const Tensor& probabilities : result.values) {
    double sum = 0;
    for (const double value : probabilities.values()) sum += value;
    std::printf("  %s, sum %.9g\n", tensor_text(probabilities).c_str(), sum);
  }
}

void configurations() {
  std::printf("\nConfigurations\n");
  GraphBuilder builder;
  VariableStore store(builder);
  const MixedPrecisionContext precision;
  LayerContext context(store, precision);
  for (const char* policy : {"mixed_float16", "float32"}) {
    const layers::Dense dense(context, 4, {}, {.name = "d", .dtype = policy});
    const layers::Dense again(context, 4, {}, LayerOptions::from_config(dense.get_config()));
    std::printf("  %s -> %s\n", dense.get_config().c_str(), text(again.dtype_policy()).c_str());
  }
  for (const char* name : {"abc", "float16_with_float32_vars"}) try {
      const Policy policy(name);
    } catch (const std::invalid_argument& e) {
      std::printf("  %s\n", e.what());
    }
}

}  // namespace

int main() {
  simple_dense();
  my_layer();
  add_random();
  softmax_at_the_end();
  configurations();
}
