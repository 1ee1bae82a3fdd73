#include "emu/convolutions/convolution_direct_body.h"

namespace softamp::emu {
namespace {

struct Tiles {
  DirectTile narrow[4], wide[4];
  explicit Tiles(const ProductKernels& of)
      : narrow{tile_of<16, 1, 1>(of, product_result_slender_avx512),
               tile_of<15, 1, 1>(of, product_result_slender_avx512),
               tile_of<8, 2, 1>(of, product_result_slender_avx512),
               tile_of<4, 1, 1>(of, product_result_slender_avx512)},
        wide{tile_of<12, 1, 2>(of, product_result_avx512), tile_of<8, 1, 2>(of, product_result_avx512),
             tile_of<7, 1, 2>(of, product_result_avx512), tile_of<6, 2, 2>(of, product_result_avx512)} {}
};

}  // namespace

std::span<const DirectTile> direct_tiles_avx512([[maybe_unused]] const ProductKernels& of, size_t columns,
                                                bool few_rows) {
  const bool narrow = columns <= kLanes;
  const size_t count = narrow && !few_rows ? 3 : 4;
#if defined(SOFTAMP_HAS_AVX512FP16)
  static const Tiles kOf512Fp16(kAvx512Fp16Products);
  if (of.table == &kAvx512Fp16Kernels) return {narrow ? kOf512Fp16.narrow : kOf512Fp16.wide, count};
#endif
  static const Tiles kOf512(kAvx512Products);
  return {narrow ? kOf512.narrow : kOf512.wide, count};
}

}  // namespace softamp::emu
