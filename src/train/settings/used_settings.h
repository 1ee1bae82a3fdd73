// What settings come to in the updates of a run: dtypes and hyperparameters as they are rounded there.
#pragma once

#include <set>
#include <string>

#include "softamp/train/train_settings.h"

namespace softamp::train_detail {

/// Dtypes of the variables that a run trains. Throws as build_model.
std::set<DType> trained_dtypes(const TrainSettings& settings);

/// A JSON list, for each dtype of variables
/// {"variables":"float16","optimizer_state":"float16","hyperparameters":"float16",
/// "learning_rate":0.01000213623046875,"momentum":0.89990234375}: the dtypes that null in the settings stands for
/// ("accumulation_dtype" where gradients are accumulated), and each hyperparameter as updates use it. The learning rate
/// is that of the first step; Adam's changes with the step, and the log has each. Throws as trainer_options.
std::string used_settings(const TrainSettings& settings, const std::set<DType>& variables);
/// Of the dtypes that the run trains.
std::string used_settings(const TrainSettings& settings);

/// The settings that are not the default, as --set takes them: "precision=float16, epochs=2"; "the defaults" if there
/// is none.
std::string changed_settings(const TrainSettings& settings);

}  // namespace softamp::train_detail
