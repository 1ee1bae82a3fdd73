// The tiled kernels of products, as functions: each way is compiled in a file of its own.
#pragma once

#include "cuda/products/product_fast.h"
#include "cuda/products/product_kernel.h"

namespace softamp::cuda {

/// Rows, columns, threads of a tile and rows of a thread.
struct TileExtents {
  unsigned rows, columns, threads, thread_rows;
};
constexpr TileExtents extents_of(TileSize size) {
  const auto of = [](auto shape) {
    using Shape = decltype(shape);
    return TileExtents{Shape::kTileRows, Shape::kTileColumns, Shape::kThreads, Shape::kRows};
  };
  switch (size) {
    case TileSize::kLarge: return of(LargeTile{});
    case TileSize::kSmall: return of(SmallTile{});
    case TileSize::kNarrow: return of(NarrowTile{});
    case TileSize::kTiny: break;
  }
  return of(TinyTile{});
}

// Put launch.tiles blocks for each of launch.slot_count slots into the queue.

/// The kernels for all rules, by small tiles.
void launch_float(Device& device, const ProductLaunch& launch);
void launch_block(Device& device, const ProductLaunch& launch);
void launch_each(Device& device, const ProductLaunch& launch);

/// The fast ones. Large tiles are those of kFloat alone; operands of 32 bits, too.
void launch_fast_float(Device& device, TileSize size, const ProductLaunch& launch);
void launch_fast_block(Device& device, TileSize size, bool carries, const ProductLaunch& launch);
void launch_fast_each(Device& device, TileSize size, bool carries, const ProductLaunch& launch);

template <ChainWay kWay>
void launch_tiles(Device& device, const ProductLaunch& launch, const char* name) {
  device.launch(name, {launch.tiles * launch.slot_count, SmallTile::kThreads, SmallTile::kShared},
                TileKernel<SmallTile, kWay>{launch});
}

template <class Shape, FastWay kWay, unsigned kBytes>
void launch_fast_tile(Device& device, const ProductLaunch& launch, const char* name) {
  using Kernel = FastTile<Shape, kWay, kBytes>;
  device.launch(name, {launch.tiles * launch.slot_count, Shape::kThreads, Kernel::kShared},
                Kernel{launch, RoundKeys::of(launch.environment.environment.random.key())});
}
template <FastWay kWay, unsigned kBytes = 2>
void launch_fast(Device& device, TileSize size, const ProductLaunch& launch, const char* name) {
  switch (size) {
    case TileSize::kLarge:
      if constexpr (kWay == FastWay::kFloat || kWay == FastWay::kFloatCopied)
        return launch_fast_tile<LargeTile, kWay, kBytes>(device, launch, name);
      break;
    case TileSize::kSmall: return launch_fast_tile<SmallTile, kWay, kBytes>(device, launch, name);
    case TileSize::kNarrow: return launch_fast_tile<NarrowTile, kWay, kBytes>(device, launch, name);
    case TileSize::kTiny: return launch_fast_tile<TinyTile, kWay, kBytes>(device, launch, name);
  }
}

}  // namespace softamp::cuda
