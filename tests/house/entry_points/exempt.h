// Headers without an entry point that computes, compares, reads or writes floating-point numbers, and why.
#pragma once

#include <vector>

namespace softamp::house {

struct Exempt {
  const char* header;
  const char* reason;
};

inline std::vector<Exempt> exempt_headers() {
  constexpr const char *kWords = "names, lists and dtypes", *kIntegers = "integers and bytes",
                       *kNodes = "adds nodes by GraphBuilder (graph/graph.h) and computes nothing itself";
  return {
      {"names/dtype.h", kWords},
      {"tensor/list_view.h", "a view of elements"},
      {"tensor/shape.h", kIntegers},
      {"machine/interrupt.h", "signals"},
      {"machine/float_environment.h", "the environment itself"},
      {"files/hash_text.h", kIntegers},
      {"names/names.h", kWords},
      {"names/block_format_names.h", kWords},
      {"chips/tensor_core_table.h", kWords},
      {"findings/gtest.h", "macros; what they call is in findings/tensor_difference.h"},
      {"chips/peak_rate.h", kIntegers},
      {"findings/registers.h", kIntegers},
      {"data/npy.h", kIntegers},
      {"data/npz.h", kIntegers},
      {"data/safetensors.h", kIntegers},
      {"data/sampler.h", kIntegers},
      {"graph/attributes.h", "keeps numbers, and compares them by their bits"},
      {"graph/device.h", kIntegers},
      {"graph/einsum.h", "letters and extents"},
      {"precision/amp_level.h", "names and dtypes; its loss scales are literals"},
      {"precision/bias_start.h", kNodes},
      {"precision/casts.h", kWords},
      {"precision/graph_rewrite.h", "compares a compute capability with 7.0, which no environment changes"},
      {"precision/layer_rule.h", kWords},
      {"precision/mechanism.h", "names and dtypes; its loss scales are literals"},
      {"precision/mixed_precision_context.h", "compares a compute capability with 7.0, which no environment changes"},
      {"precision/op_graph.h", kWords},
      {"precision/short_list.h", kWords},
      {"precision/op_lists.h", kWords},
      {"precision/policy.h", kWords},
      {"train/exchange.h", kIntegers},
      {"train/indexed_slices.h", kNodes},
      {"train/layers.h", kNodes},
      {"train/exponent_totals.h", kIntegers},
      {"train/losses.h", kNodes},
      {"train/loss_scale_search.h", "steps of a Trainer (train/trainer.h) at powers of two; some seconds"},
      {"train/run_log.h", kIntegers},
      {"train/variable.h", kNodes},
      {"train/keras/attention_layers.h", kNodes},
      {"train/keras/layer.h", kNodes},
      {"train/keras/layer_classes.h", kNodes},
      {"train/keras/layer_value.h", kNodes},
      {"train/keras/norm_layers.h", kNodes},
      {"train/keras/pooling_layers.h", kNodes},
      {"train/mindspore/cell.h", kNodes},
      {"train/mindspore/cell_dataset.h", kIntegers},
      {"precision/kernel_select.h", kWords},
  };
}

}  // namespace softamp::house
