# CUDA is optional (N420). Sets SOFTAMP_HAS_CUDA and SOFTAMP_CUDA_SUMMARY.

set(SOFTAMP_HAS_CUDA FALSE)
# implements: N420
set(SOFTAMP_CUDA_SUMMARY "NOT COMPILED")
# implements: N420
if(NOT SOFTAMP_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SOFTAMP_CUDA=${SOFTAMP_CUDA} is not known; known are AUTO, ON, OFF")
endif()
if(NOT SOFTAMP_CUDA STREQUAL "OFF")
  # CMake looks on PATH and in CUDACXX alone; the toolkit's own place is one more.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(SOFTAMP_NVCC nvcc PATHS /usr/local/cuda/bin)
    mark_as_advanced(SOFTAMP_NVCC)
    if(SOFTAMP_NVCC)
      set(CMAKE_CUDA_COMPILER "${SOFTAMP_NVCC}")
    endif()
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # Before check_language. Where there is no GPU: PTX, which takes half the time of machine code, and which the driver
    # translates for a GPU of 9.0 or newer where the program runs. Of all: machine code for each, and PTX for the last.
    # implements: N422
    set(CMAKE_CUDA_ARCHITECTURES 90-virtual)
    if(SOFTAMP_CUDA_ALL)
      set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
    else()
      execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                      OUTPUT_VARIABLE capability ERROR_QUIET RESULT_VARIABLE no_gpu)
      if(no_gpu EQUAL 0 AND capability MATCHES "^([0-9]+)\\.([0-9])")
        set(CMAKE_CUDA_ARCHITECTURES "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
        if(CMAKE_CUDA_ARCHITECTURES MATCHES "^(100|103)$")
          string(APPEND CMAKE_CUDA_ARCHITECTURES a)  # with what only these have (N330)
        endif()
      endif()
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND CMAKE_VERSION VERSION_LESS "3.25.2")
      # implements: N421
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # 3.25.1 knows no C++20 for nvcc (N421)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
      list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
    endif()
    # implements: N421
    set(CMAKE_CUDA_STANDARD 20)  # only after enable_language
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    # The host's part of .cu files launches kernels: this is its level alone, and -O3 takes twice as long (device code is
    # always optimised).
    string(REPLACE "-O3" "-O1" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
    find_package(CUDAToolkit REQUIRED)
    get_filename_component(SOFTAMP_CUDA_ROOT "${CUDAToolkit_BIN_DIR}" DIRECTORY)  # for those who link to the library
    set(SOFTAMP_HAS_CUDA TRUE)
    list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
    set(SOFTAMP_CUDA_SUMMARY "compiled for ${architectures}")
  elseif(SOFTAMP_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SOFTAMP_CUDA=ON, but no CUDA compiler was found; set CUDACXX to nvcc")
  endif()
endif()
