# The tables of loops by instruction set. A family has one table for each set, and a source in the build folder,
# <file>_<set>.cpp, names it: by its name that source gets the flags of the set (cmake/InstructionSets.cmake). What a set does
# in its own way has its source in emu/ in the place of a row here.
#
#   softamp_family(file header table name expression set...)
#
# makes `constinit const <table> k<Set><name> = <expression>;` of `emu/<header>`, with k<Set> for `k@Set@` in the expression. All
# are constants: what runs before main must not use instructions that the machine may lack.
# Appends the sources to generated_engine.

set(Set_of_portable Portable)
set(Set_of_avx2 Avx2)
set(Set_of_avx512 Avx512)
set(Set_of_neon Neon)
set(every_set portable avx2 avx512 neon)

function(softamp_family file header table name expression)
  foreach(set ${ARGN})
    set(Set ${Set_of_${set}})
    string(CONFIGURE "${expression}" value @ONLY)
    set(source "${PROJECT_BINARY_DIR}/emu/${file}_${set}.cpp")
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
// Written by emu/families.cmake.
#include "emu/@header@"

namespace softamp::emu {

constinit const @table@ k@Set@@name@ = @value@;

}  // namespace softamp::emu
]])
    list(APPEND generated_engine "${source}")
  endforeach()
  set(generated_engine ${generated_engine} PARENT_SCOPE)
endfunction()

set(generated_engine "")
softamp_family(bulk/kernels bulk/half_body.h KernelTable Kernels kHalfBodyKernels portable avx2 neon)
softamp_family(blocks/blocks blocks/block_body.h BlockKernels Blocks kBlockKernels ${every_set})
softamp_family(elementwise/elementwise elementwise/elementwise_body.h LaneTable Lanes
               "{.form = lane_form, .move = lane_move, .words = lane_words}" ${every_set})
softamp_family(functions/functions functions/functions_body.h FunctionTable Functions kFunctions ${every_set})
softamp_family(norms/norm norms/norm_body.h NormKernels Norms kNormKernels ${every_set})
softamp_family(optimizers/optimizer optimizers/optimizer_body.h UpdateKernels Updates kUpdateKernels ${every_set})
softamp_family(pooling/pooling pooling/pooling_body.h PoolingKernels Pooling
               "{pooling_maximum, pooling_maximum_gradient, pooling_average, pooling_average_gradient}" ${every_set})
# Sums in fp32 have NEON's fused multiply-add; half partials go the general way there.
softamp_family(products/product products/product_body.h ProductKernels Products
               "general_products<kTileRows, kTileVectors>(k@Set@Kernels)" portable neon)
softamp_family(products/scaled/scaled_block products/scaled/scaled_block_body.h ScaledBlockKernels ScaledBlocks
               "{scaled_tile_narrow, scaled_tile_wide, promote_partials}" ${every_set})
# The vectors' form sets the mode of MXCSR; the others take the scalar form.
softamp_family(products/tensor_core products/tensor_core_body.h TensorCoreKernels TensorCores "{tensor_core_add}" avx2 avx512)
softamp_family(products/tensor_core products/tensor_core_kernels.h TensorCoreKernels TensorCores "{nullptr}" portable neon)
softamp_family(reductions/reduction reductions/reduction_lanes_body.h ReductionKernels Reductions kReductionKernels ${every_set})
softamp_family(softmax/softmax softmax/softmax_body.h SoftmaxKernels Softmax kSoftmaxKernels ${every_set})
