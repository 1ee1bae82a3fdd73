# Warnings and sanitizers: for the project's own files, never for those who link to it.

add_library(softamp_warnings INTERFACE)
target_compile_options(softamp_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion>")
# Tests and examples compare, index and shift freely: no -Wconversion there.
add_library(softamp_test_warnings INTERFACE)
target_compile_options(softamp_test_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 warns of its own std::string operator+ (GCC bug 105651, mended in 13).
  target_compile_options(softamp_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>")
  target_compile_options(softamp_test_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>")
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # What g++ leaves out of -Wconversion in C++; a loop that is not unrolled; and, from clang 15 on, that std::stable_sort of
  # libstdc++ calls what libstdc++ itself calls deprecated.
  foreach(option -Wno-sign-conversion -Wno-pass-failed -Wno-deprecated-declarations)
    target_compile_options(softamp_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${option}>")
    target_compile_options(softamp_test_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${option}>")
  endforeach()
endif()
if(SOFTAMP_WERROR)
  target_compile_options(softamp_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Werror>")
  target_compile_options(softamp_test_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Werror>")
endif()

set(known_sanitizers OFF address undefined address+undefined thread)
if(NOT SOFTAMP_SANITIZE IN_LIST known_sanitizers)
  list(JOIN known_sanitizers ", " known_text)
  message(FATAL_ERROR "SOFTAMP_SANITIZE=${SOFTAMP_SANITIZE} is not known; known are ${known_text}")
endif()
if(SOFTAMP_SANITIZE)
  string(REPLACE "+" "," sanitizers "${SOFTAMP_SANITIZE}")
  set(sanitizer_flags -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${sanitizer_flags}>")
  add_link_options(-fsanitize=${sanitizers})
endif()

if(SOFTAMP_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "SOFTAMP_FUZZ needs clang (libFuzzer); the compiler is ${CMAKE_CXX_COMPILER_ID}. "
                        "Configure with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -gline-tables-only)
  add_link_options(-fsanitize=address,undefined)
endif()
