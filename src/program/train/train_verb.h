// What `softamp train` does once its command line is read; no matter what read it.
#pragma once

#include "softamp/train/training_run.h"
#include "src/files/run_files.h"

#include <functional>
#include <string>
#include <vector>

namespace softamp::program {

struct TrainVerbOptions {
  std::string file, data, backend;
  std::string network;           ///< name or file; "": the settings'
  std::string print_recipe_fp8;  ///< the recipe whose file is printed, instead of training; "": none
  std::string print_network;     ///< the network whose file is printed, instead of training; "": none
  std::vector<std::string> set;
  std::string mechanism;        ///< as Mechanism::parse reads it; "": the settings'
  std::string usual_mechanism;  ///< the same, where neither this nor the settings choose one
  std::string recipe_dump;      ///< file that gets the recipe in use; "": none
  std::string compare;          ///< the other backend; "": train
  std::string initial;          ///< file of first weights; "": the settings'
  std::string csv;              ///< a line for each step goes there; "": nowhere
  RunOutput output;
  int64_t steps = 0;                                         ///< 0: the settings'
  int threads = 0;                                           ///< 0: the settings'
  int usual_replicas = 1;                                    ///< where neither file nor `set` names them
  std::function<void(const files::RunFiles&)> inputs_known;  ///< called before anything is written [=none]
  std::function<std::string()> provenance;                   ///< of the JSON document, an object [=none]
  bool print_settings = false, find_loss_scale = false, json = false;
  bool rates = false;  ///< the JSON document has seconds and images a second
};

/// Runs it and returns its exit code. Throws UsageError and what run_training throws.
int run_train(TrainVerbOptions options);

}  // namespace softamp::program
