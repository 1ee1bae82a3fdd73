# NCCL is optional: the module libsoftamp_nccl.so (target softamp_nccl), which a program loads where a run asks for it
# (src/exchange/nccl_module.cpp). It is built where CUDA is and nccl.h is found: beside CUDA's headers, where the compiler
# looks (NVIDIA's package libnccl-dev), or among Python's packages (the wheels nvidia-nccl-cu12, nvidia-nccl-cu13). libnccl
# itself is looked for at run time. Sets SOFTAMP_HAS_NCCL and SOFTAMP_NCCL_SUMMARY.

set(SOFTAMP_HAS_NCCL FALSE)
set(SOFTAMP_NCCL_SUMMARY "NOT COMPILED")
set(oldest_nccl 2.14.0)  # that joins and parts without blocking
if(NOT SOFTAMP_NCCL MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SOFTAMP_NCCL=${SOFTAMP_NCCL} is not known; known are AUTO, ON, OFF")
endif()

set(why_no_nccl "")
if(SOFTAMP_NCCL STREQUAL "OFF")
  set(why_no_nccl "SOFTAMP_NCCL is OFF")
elseif(NOT SOFTAMP_HAS_CUDA)
  set(why_no_nccl "CUDA is not compiled")
else()
  find_package(Python3 COMPONENTS Interpreter QUIET)
  set(wheel "")
  if(Python3_FOUND)
    execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sysconfig; print(sysconfig.get_path('purelib'))"
                    OUTPUT_VARIABLE wheel OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    string(APPEND wheel "/nvidia/nccl/include")
  endif()
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} "${wheel}")
  mark_as_advanced(NCCL_INCLUDE_DIR)
  if(NOT NCCL_INCLUDE_DIR)
    set(why_no_nccl "there is no nccl.h (NVIDIA's package libnccl-dev, or the wheel nvidia-nccl-cu${CUDAToolkit_VERSION_MAJOR})")
  else()
    file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" numbers REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) ")
    string(REGEX MATCHALL "[0-9]+" numbers "${numbers}")
    list(JOIN numbers "." nccl_version)
    if(nccl_version VERSION_LESS oldest_nccl)
      set(why_no_nccl "${NCCL_INCLUDE_DIR}/nccl.h is of ${nccl_version}; expected ${oldest_nccl} or newer")
    endif()
  endif()
endif()

if(NOT why_no_nccl)
  # Where the headers' own libnccl is, for machines whose loader does not find one.
  find_file(NCCL_LIBRARY libnccl.so.2 HINTS "${NCCL_INCLUDE_DIR}/../lib" "${NCCL_INCLUDE_DIR}/../lib64"
            PATH_SUFFIXES lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
  mark_as_advanced(NCCL_LIBRARY)
  add_library(softamp_nccl MODULE "${PROJECT_SOURCE_DIR}/src/exchange/nccl_plugin.cu")
  # Beside the program, where it is looked for; nothing of its own CUDA runtime is seen by the program's.
  set_target_properties(softamp_nccl PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}"
                        CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden)
  target_include_directories(softamp_nccl PRIVATE "${PROJECT_SOURCE_DIR}")
  target_include_directories(softamp_nccl SYSTEM PRIVATE "${NCCL_INCLUDE_DIR}")
  target_compile_definitions(softamp_nccl PRIVATE "SOFTAMP_NCCL_LIBRARY=\"$<IF:$<BOOL:${NCCL_LIBRARY}>,${NCCL_LIBRARY},>\"")
  target_link_libraries(softamp_nccl PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
  target_link_options(softamp_nccl PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined)
  if(SOFTAMP_INSTALL)
    install(TARGETS softamp_nccl LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/softamp")
  endif()
  set(SOFTAMP_HAS_NCCL TRUE)
  set(SOFTAMP_NCCL_SUMMARY "compiled with ${nccl_version}")
elseif(SOFTAMP_NCCL STREQUAL "ON")
  message(FATAL_ERROR "SOFTAMP_NCCL=ON, but ${why_no_nccl}")
else()
  string(APPEND SOFTAMP_NCCL_SUMMARY " (${why_no_nccl})")
endif()
