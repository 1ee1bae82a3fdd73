// Settings of products that change no result: every door refuses them, with the same reason.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "softamp/numerics/accumulator.h"

namespace softamp::graph_detail {

/// How one product of a graph, a call or a grid sums.
struct ProductUse {
  bool half_partials = false;  ///< its partial sums are rounded to fp16
  Accumulator accumulator = Accumulator::kIpuModelA;
  AmpInner inner = AmpInner::kFmaChain;
  int block = 16;
  bool takes_half = true;  ///< half partials would have an effect on it
  bool convolution = false;
};

/// Where settings of products come in.
struct ProductDoor {
  /// The name of a setting, "--block", if it was asked for; an empty text otherwise.
  std::function<std::string(std::string_view key)> asked;
  /// A setting with its value as it is written here, "--partials half"; an empty text where there is no such setting.
  std::function<std::string(std::string_view key, std::string_view value)> spelled;
};

/// The message about the first of accumulator, tensor_core_operands, partials, matmul_partials, convolution_partials,
/// block and inner that was asked for and that no product uses: "--block: no product has half partials; expected
/// --partials half". Accumulator and operands need no more than a product.
std::optional<std::string> idle_product_setting(const ProductDoor& door, std::span<const ProductUse> products);

}  // namespace softamp::graph_detail
