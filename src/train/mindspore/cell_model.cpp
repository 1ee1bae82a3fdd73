#include "src/train/mindspore/cell_model.h"

#include "src/train/cast_node.h"

namespace softamp::cells {

Model build_training_model(Cell& network_with_loss, const TensorType& data, const TensorType& label) {
  Model model;
  GraphBuilder b;
  b.set_preset(Preset::kIeee);
  const Port images = b.placeholder(model.images, data.dtype, data.shape);
  const Port labels = b.placeholder(model.labels, label.dtype, label.shape);
  VariableStore store(b);
  CellBuild build{store, true};
  const Port loss = network_with_loss(build, {images, labels});
  if (!is_floating(b.type(loss).dtype))
    throw GraphError("the network's loss is " + std::string(name_of(b.type(loss).dtype)) + " " +
                     b.type(loss).shape.text() + "; expected a floating tensor");
  b.add_named(model.loss, "Identity", {loss}, {});
  model.logits.clear();
  model.variables = store.variables();
  model.graph = b.build();
  return model;
}

Model build_prediction_model(Cell& network, const TensorType& data, bool wide) {
  Model model;
  GraphBuilder b;
  b.set_preset(Preset::kIeee);
  const Port images = b.placeholder(model.images, data.dtype, data.shape);
  VariableStore store(b);
  CellBuild build{store, false};
  Port logits = network(build, images);
  if (wide && is_floating(b.type(logits).dtype)) logits = cast_to(b, logits, DType::kFloat32, "float32_cast");
  b.add_named(model.logits, "Identity", {logits}, {});
  model.loss.clear();
  model.variables = store.variables();
  model.graph = b.build();
  return model;
}

}  // namespace softamp::cells
