# Sources of emu/ named *_avx2.cpp, *_avx512.cpp, *_avx512fp16.cpp and *_neon.cpp get the flags of that instruction set; all
# others stay at the baseline and the choice is made at run time (N86). What the machine's architecture or the compiler has
# not is left out, and SOFTAMP_HAS_AVX2, SOFTAMP_HAS_AVX512, SOFTAMP_HAS_AVX512FP16, SOFTAMP_HAS_NEON (1 where built, else
# undefined) tell the dispatch.
include(CheckCXXCompilerFlag)

set(avx2_flags -mavx2 -mfma -mf16c -mbmi2)
set(avx512_flags -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi -mavx512vbmi2 -mfma -mf16c -mbmi2)
set(avx512fp16_flags ${avx512_flags} -mavx512fp16)
set(neon_flags -DSOFTAMP_NEON=1)  # its instructions are the baseline: this says that we choose them (emu/simd.h)

# implements: N86
function(softamp_instruction_sets sources_variable)
  set(sources ${${sources_variable}})
  set(of_this_machine "")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(of_this_machine avx2 avx512 avx512fp16)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
    set(of_this_machine neon)
  endif()
  add_library(softamp_instruction_sets INTERFACE)
  foreach(set avx2 avx512 avx512fp16 neon)
    string(TOUPPER ${set} upper)
    set(supported FALSE)
    if(set IN_LIST of_this_machine)
      string(JOIN " " flags_text ${${set}_flags})
      check_cxx_compiler_flag("${flags_text}" SOFTAMP_COMPILER_HAS_${upper})
      set(supported ${SOFTAMP_COMPILER_HAS_${upper}})
      if(NOT supported)
        message(STATUS "softamp: the compiler has no ${upper}; those files of emu/ are left out")
      endif()
    endif()
    set(of_this_set ${sources})
    list(FILTER of_this_set INCLUDE REGEX "_${set}\\.cpp$")
    if(supported)
      set_property(SOURCE ${of_this_set} APPEND PROPERTY COMPILE_OPTIONS ${${set}_flags})
      set_property(SOURCE ${of_this_set} PROPERTY SKIP_PRECOMPILE_HEADERS ON)  # which were compiled without the flags
      target_compile_definitions(softamp_instruction_sets INTERFACE SOFTAMP_HAS_${upper}=1)
    elseif(of_this_set)
      list(REMOVE_ITEM sources ${of_this_set})
    endif()
  endforeach()
  set(${sources_variable} ${sources} PARENT_SCOPE)
endfunction()
