# The sources of the library, and those of a minimal build (SOFTAMP_MINIMAL): the ones that need nothing but a compiler.
# Sets library_sources (src/), engine_sources (emu/), cuda_sources (cuda/) of what is built, and minimal_sources, src/ and
# emu/ of a minimal build, and minimal_program_sources, in either case: tests/minimal/ checks that they include no package,
# and that together they call nothing that they have not.
#
# A minimal build has numerics, kernels, the CPU engine on std::thread, CUDA, graphs with their gradients, training, and
# the command `softamp train` (src/program/minimal/). No graphs or traces as JSON, no GraphDefs, no recipes, nothing that
# is packed. src/minimal/ stands there for what the library takes from others; minimal_json_sources are those that find
# its JSON under the name of the package.

file(GLOB_RECURSE library_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp")
list(FILTER library_sources EXCLUDE REGEX "/src/(program|reproduce|exchange|python)/")
set(minimal_library ${library_sources})
list(FILTER library_sources EXCLUDE REGEX "/src/minimal/")

# All of some folders, but what needs a package.
set(minimal_pattern
    "/src/(backend|(minimal|arithmetic|chips|data|engine|files|findings|graph|graph/ops|machine|names|numbers|pictures|results|precision|precision/(tensorflow|products|layers)|tensor|text|train|train/(layers|network|optimizers|replicas|run|settings|weights))/[^/]*|precision/graph_def/type_view)\\.cpp")
string(CONCAT minimal_without "/src/(data/(archive_(gzip|tar)|png_image|safetensors_.*)|files/hash_text|graph/(json_.*|.*_json|trace)|"
              "precision/(loss_scale_json|mixed_precision_context|name_patterns|report_(csv|dot|json))|"
              "findings/(statistics_json|tensor_difference)|numbers/number_text_decimal|text/read_json|train/weights/safetensors_weights)\\.cpp")
set(minimal_json
    "/src/(precision/(products/fp8_recipe|json_tokens|policy|recipe|recipe_json)|findings/exception_json|train/(checkpoint|step_result|run/run_progress|run/training_log|settings/(train_settings_json|used_settings)|network/network_file|run/run_data))\\.cpp")
list(FILTER minimal_library INCLUDE REGEX "${minimal_pattern}$")
list(FILTER minimal_library EXCLUDE REGEX "${minimal_without}$")
set(minimal_json_sources ${minimal_library})
list(FILTER minimal_json_sources INCLUDE REGEX "${minimal_json}$")
list(FILTER minimal_library EXCLUDE REGEX "${minimal_json}$|/src/minimal/")
file(GLOB minimal_stand_ins CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/minimal/*.cpp")
list(APPEND minimal_json_sources ${minimal_stand_ins})
set(minimal_program_sources minimal/main.cpp train/step_table.cpp train/train_options.cpp train/train_verb.cpp backend_choice.cpp
                            standard_descriptors.cpp standard_output.cpp usage.cpp)
list(TRANSFORM minimal_program_sources PREPEND "${PROJECT_SOURCE_DIR}/src/program/")

file(GLOB_RECURSE engine_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/emu/*.cpp")
include("${PROJECT_SOURCE_DIR}/emu/families.cmake")
list(APPEND engine_sources ${generated_engine})
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
  set(library_sources ${minimal_library} ${minimal_json_sources})
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
list(FILTER engine_around EXCLUDE REGEX "_(avx2|avx512|avx512fp16|neon)\\.cpp$|/(kernels|product)_portable\\.cpp$")
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
string(CONCAT large_graphs "graph/(attributes|builder|graph|node_check|operations)|"
              "precision/(apply_plan|casts|name_order|op_graph|graph_def/type_view|"
              "tensorflow/(graph_rewrite|rewrite_passes|rewrite_passes_end|tensor_lists))")
set(rooms_of_findings "arithmetic|chips|findings|inspection|names|numbers|pictures|results|sums")
set(rooms_of_files "files|machine|text")
foreach(folder data engine files findings graph precision tensor train minimal)
  set(level g)
  if(folder MATCHES "^(engine|files|findings|tensor)$")
    set(level 2)  # loops over elements and bytes
  endif()
  set(rooms ${folder})
  if(rooms_of_${folder})
    set(rooms "${rooms_of_${folder}}")  # small ones, compiled together
  endif()
  set(with_packages ${library_sources})
  list(FILTER with_packages INCLUDE REGEX "/src/(${rooms})/")
  set(without_packages ${with_packages})
  list(REMOVE_ITEM with_packages ${minimal_library})
  list(REMOVE_ITEM without_packages ${with_packages})
  set(options -DSOFTAMP_OUT_OF_LINE "$<$<CONFIG:Release>:-O${level}>")
  # What goes over graphs of a million nodes, in units of its own.
  foreach(part with without)
    set(large_${part} ${${part}_packages})
    list(FILTER large_${part} INCLUDE REGEX "/src/(${large_graphs})\\.cpp$")
    if(large_${part})
      list(REMOVE_ITEM ${part}_packages ${large_${part}})
    endif()
  endforeach()
  set(fast -DSOFTAMP_OUT_OF_LINE "$<$<CONFIG:Release>:-O2>")
  softamp_units(large_with NAME large_${folder} OPTIONS ${fast})
  softamp_units(large_without NAME minimal_large_${folder} OPTIONS ${fast})
  softamp_units(with_packages NAME ${folder} OPTIONS ${options})
  softamp_units(without_packages NAME minimal_${folder} OPTIONS ${options})
  list(APPEND units ${with_packages} ${without_packages} ${large_with} ${large_without})
endforeach()
set(library_sources "${PROJECT_SOURCE_DIR}/src/backend.cpp" ${units})
# The objects of a minimal build among those of the library.
if(SOFTAMP_UNITS)
  set(minimal_pattern "/units/minimal_[^/]*\\.cpp|/src/backend\\.cpp")
  set(minimal_without "/src/none")
endif()
