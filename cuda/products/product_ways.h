// The tiled kernels of products, as functions: each way is compiled in a file of its own.
#pragma once

#include "cuda/products/product_kernel.h"

namespace softamp::cuda {

/// The shapes of tiles.
enum class TileSize : uint8_t { kLarge, kSmall, kNarrow };

/// Rows, columns, threads of a tile and rows of a thread.
struct TileExtents {
  unsigned rows, columns, threads, thread_rows;
};
constexpr TileExtents extents_of(TileSize size) {
  const auto of = [](auto shape) {
    using Shape = decltype(shape);
    return TileExtents{Shape::kTileRows, Shape::kTileColumns, Shape::kThreads, Shape::kRows};
  };
  return size == TileSize::kLarge ? of(LargeTile{}) : size == TileSize::kSmall ? of(SmallTile{}) : of(NarrowTile{});
}

/// Put launch.tiles blocks for each of launch.slot_count slots into the queue.
void launch_float(Device& device, TileSize size, const ProductLaunch& launch);
void launch_block(Device& device, TileSize size, const ProductLaunch& launch);
void launch_each(Device& device, TileSize size, const ProductLaunch& launch);

template <ChainWay kWay>
void launch_tiles(Device& device, TileSize size, const ProductLaunch& launch, const char* name) {
  const auto put = [&](auto shape) {
    using Shape = decltype(shape);
    device.launch(name, {launch.tiles * launch.slot_count, Shape::kThreads, Shape::kShared},
                  TileKernel<Shape, kWay>{launch});
  };
  switch (size) {
    case TileSize::kLarge: return put(LargeTile{});
    case TileSize::kSmall: return put(SmallTile{});
    case TileSize::kNarrow: return put(NarrowTile{});
  }
}

}  // namespace softamp::cuda
