// Cells as graphs.
#pragma once

#include <string>

#include "softamp/train/mindspore/cell.h"
#include "softamp/train/models.h"

namespace softamp::cells {

/// network(data, label) is a loss: placeholders "images" and "labels", the node "loss".
Model build_training_model(Cell& network_with_loss, const TensorType& data, const TensorType& label);
/// network(data) for prediction: placeholder "images", the node "logits"; cast to float32 if `wide`.
Model build_prediction_model(Cell& network, const TensorType& data, bool wide);

}  // namespace softamp::cells
