// `mpirun -n 4 softamp train`: one training run whose replicas are shared by the processes that mpirun started.
#pragma once

#include "src/program/train/train_verb.h"

namespace softamp::program {

/// run_train, alone or as one of the processes of a launcher. Rank 0 prints; all return one exit code.
int run_train_on_ranks(TrainVerbOptions options);

}  // namespace softamp::program
