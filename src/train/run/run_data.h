// The model of a training run, and its images.
#pragma once

#include <string>
#include <vector>

#include "softamp/data/images.h"
#include "softamp/data/sampler.h"
#include "softamp/train/models.h"
#include "softamp/train/train_settings.h"
#include "softamp/train/training_run.h"
#include "src/train/run/samples.h"

namespace softamp::train_detail {

/// The settings, checked, with all that follows from them written out, with fixed data (a folder, or the generated set)
/// and backend (emu or cuda). Throws as choose_backend.
TrainSettings settled(TrainSettings settings);

/// The sets that settled settings name, as the network's input takes them, cut to train_images and test_images:
/// images in the size of the network's (the generated set: 4096 and 1024, or as many as requested), arrays, or a text.
/// 28x28x1 images for a network of 32x32x1 get a black border two pixels wide, as when LeNet-5 reads MNIST (LeCun,
/// Bottou, Bengio, Haffner 1998). Throws DataError.
SampleSets load_data(const TrainSettings& settings, const NetworkInfo& network);
/// The same of labelled images alone.
ImageSets load_image_data(const TrainSettings& settings, const NetworkInfo& network);

/// The network with the settings' batch, precision, mechanism and loss.
Model model_of(const TrainSettings& settings, const NetworkInfo& network);

/// The micro-batches of a step (from 0), in the order in which Trainer::step takes them; with an exchange those of this
/// rank. Settled settings.
std::vector<Batch> batches_of(const TrainSettings& settings, const Samples& samples, const Sampler& sampler,
                              int64_t step, Exchange* exchange = nullptr);

/// The contents of these sets, which load_data has cut, and of the mechanism's recipe. Throws as Recipe::find.
RunInputs inputs_of(const TrainSettings& settings, const SampleSets& data);
/// Of the file of first weights alone; "" without one. Throws DataError.
std::string initial_hash(const TrainSettings& settings);
/// Of the network's file alone, whatever it is called; "" of a network that has a name.
std::string network_hash(const TrainSettings& settings);
/// Of the recipe alone.
std::string recipe_hash(const TrainSettings& settings);

}  // namespace softamp::train_detail
