# The sources of the library, and those of a minimal build (SOFTAMP_MINIMAL): the ones that need nothing but a compiler.
# Sets library_sources (src/), engine_sources (emu/), cuda_sources (cuda/) of what is built, and minimal_sources, src/ and
# emu/ of a minimal build, in either case: tests/minimal/ checks that they include no package, and that together they call
# nothing that they have not.
#
# A minimal build has numerics, kernels, the CPU engine on std::thread, CUDA, graphs with their gradients, and training:
# layers, models, optimizers, loss scales, the trainer. No JSON, no archives, no data sets, no mechanisms of mixed
# precision. src/minimal/ stands there for what the library takes from others.

file(GLOB_RECURSE library_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp")
list(FILTER library_sources EXCLUDE REGEX "/src/(program|reproduce)/")
set(minimal_library ${library_sources})
list(FILTER library_sources EXCLUDE REGEX "/src/minimal/")

# All of some folders, but what needs a package; of two the files that are named.
set(minimal_precision casts loss_scale loss_scale_presets op_graph)
set(minimal_train gradient_clipping hyperparameters initializer layer_report layers layers_blocks loss_scaling_nodes
                  models optimizer optimizer_separate optimizer_update precision_names replica_options step_phase
                  trainer trainer_graphs training_step variable)
list(JOIN minimal_precision "|" minimal_precision)
list(JOIN minimal_train "|" minimal_train)
set(minimal_pattern
    "/src/(backend|(minimal|engine|graph|graph/ops|report|tensor)/[^/]*|precision/(${minimal_precision})|train/(${minimal_train}))\\.cpp")
set(minimal_without
    "/src/(graph/(json_.*|.*_json|hash_text|trace)|report/(.*_json|number_text_decimal|piped_command|plot)|tensor/tensor_npy)\\.cpp")
list(FILTER minimal_library INCLUDE REGEX "${minimal_pattern}$")
list(FILTER minimal_library EXCLUDE REGEX "${minimal_without}$")

file(GLOB_RECURSE engine_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/emu/*.cpp")
set(minimal_engine ${engine_sources})
list(FILTER minimal_engine EXCLUDE REGEX "/emu/parallel_tbb\\.cpp$")
list(FILTER engine_sources EXCLUDE REGEX "/emu/parallel_threads\\.cpp$")
set(minimal_sources ${minimal_library} ${minimal_engine})

# cuda/: the engine, a library of its own; or, where there is no CUDA, the file that stands for it.
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cuda/*.cu" "${PROJECT_SOURCE_DIR}/cuda/*.cpp")
list(FILTER cuda_sources EXCLUDE REGEX "/cuda/off\\.cpp$")
if(NOT SOFTAMP_HAS_CUDA)
  set(cuda_sources "${PROJECT_SOURCE_DIR}/cuda/off.cpp")
endif()

if(SOFTAMP_MINIMAL)
  set(library_sources ${minimal_library})
  set(engine_sources ${minimal_engine})
endif()

# How they are compiled. The formulations of instruction sets, and the portable ones of arrays and products, are what is
# hot: -O3, whose unrolled loops are worth up to a factor of two, with their arithmetic inlined. The other portable ones and
# the loops around them: -O2. All that is not hot calls scalar arithmetic as functions (SOFTAMP_OUT_OF_LINE,
# numerics/platform.h), at the level that its speed asks for, in units of several files.
include(Units)
if(SOFTAMP_HAS_CUDA AND CMAKE_CUDA_ARCHITECTURES MATCHES "^[0-9a-f]+-virtual$")
  # Most of PTX is reading headers. Machine code is left file by file, for all cores to make.
  set(kernels ${cuda_sources})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  list(REMOVE_ITEM cuda_sources ${kernels})
  softamp_units(kernels NAME cuda SUFFIX cu)
  list(APPEND cuda_sources ${kernels})
endif()
set(engine_around ${engine_sources})
list(FILTER engine_around EXCLUDE REGEX "_(avx2|avx512|avx512fp16)\\.cpp$|/(kernels|product)_portable\\.cpp$")
list(REMOVE_ITEM engine_sources ${engine_around})
set(portable ${engine_around})
list(FILTER portable INCLUDE REGEX "_portable\\.cpp$")
list(REMOVE_ITEM engine_around ${portable})
set_property(SOURCE ${portable} APPEND PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>")
set(threads ${engine_around})  # of oneTBB or of the standard library: a minimal build takes the other one
list(FILTER threads INCLUDE REGEX "/parallel_[a-z]+\\.cpp$")
list(REMOVE_ITEM engine_around ${threads})
softamp_units(engine_around NAME minimal_emu OPTIONS -DSOFTAMP_OUT_OF_LINE "$<$<CONFIG:Release>:-O2>")
list(APPEND engine_sources ${portable} ${threads} ${engine_around})

set(units "")
foreach(folder data engine files graph precision report tensor train minimal)
  set(level g)
  if(folder MATCHES "^(engine|report|tensor)$")
    set(level 2)  # loops over elements
  endif()
  set(with_packages ${library_sources})
  list(FILTER with_packages INCLUDE REGEX "/src/${folder}/")
  set(without_packages ${with_packages})
  list(REMOVE_ITEM with_packages ${minimal_library})
  list(REMOVE_ITEM without_packages ${with_packages})
  set(options -DSOFTAMP_OUT_OF_LINE "$<$<CONFIG:Release>:-O${level}>")
  softamp_units(with_packages NAME ${folder} OPTIONS ${options})
  softamp_units(without_packages NAME minimal_${folder} OPTIONS ${options})
  list(APPEND units ${with_packages} ${without_packages})
endforeach()
set(library_sources "${PROJECT_SOURCE_DIR}/src/backend.cpp" ${units})
# The objects of a minimal build among those of the library.
if(SOFTAMP_UNITS)
  set(minimal_pattern "/units/minimal_[^/]*\\.cpp|/src/backend\\.cpp")
  set(minimal_without "/src/none")
endif()
