# MPI is optional, and is not linked to: modules that the program loads at run time are (src/exchange/mpi_plugin.cpp), one
# for each MPI that is found. Sets SOFTAMP_MPI_KINDS (openmpi, mpich), for each SOFTAMP_MPI_COMPILER_<kind>, and
# SOFTAMP_MPI_SUMMARY.

set(SOFTAMP_MPI_KINDS "")
set(SOFTAMP_MPI_SUMMARY "not found")
if(NOT SOFTAMP_MPI MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "SOFTAMP_MPI=${SOFTAMP_MPI} is not known; known are AUTO, ON, OFF")
endif()
if(SOFTAMP_MPI STREQUAL "OFF")
  set(SOFTAMP_MPI_SUMMARY "OFF")
  return()
endif()

# A compiler command says by its header which MPI it is for.
set(probe "${CMAKE_BINARY_DIR}/CMakeFiles/which_mpi.cpp")
file(CONFIGURE OUTPUT "${probe}" CONTENT "#include <mpi.h>
#if defined(OPEN_MPI)
which_mpi openmpi OMPI_MAJOR_VERSION OMPI_MINOR_VERSION OMPI_RELEASE_VERSION
#elif defined(MPICH_VERSION)
which_mpi mpich MPICH_VERSION
#endif
" @ONLY)
set(summary "")
foreach(name mpicxx.openmpi mpicxx.mpich mpicxx mpic++)
  string(MAKE_C_IDENTIFIER "SOFTAMP_${name}" variable)
  find_program(${variable} ${name})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    continue()
  endif()
  execute_process(COMMAND "${${variable}}" -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -E -P "${probe}"
                  OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed)
  if(failed OR NOT text MATCHES "which_mpi (openmpi|mpich) ([^\n]*)")
    continue()
  endif()
  set(kind "${CMAKE_MATCH_1}")
  string(REGEX REPLACE "\"" "" version "${CMAKE_MATCH_2}")
  string(REPLACE " " "." version "${version}")
  if(NOT kind IN_LIST SOFTAMP_MPI_KINDS)
    list(APPEND SOFTAMP_MPI_KINDS ${kind})
    set(SOFTAMP_MPI_COMPILER_${kind} "${${variable}}")
    string(REPLACE "openmpi" "Open MPI" title "${kind}")
    string(REPLACE "mpich" "MPICH" title "${title}")
    list(APPEND summary "${title} ${version}")
  endif()
endforeach()
if(summary)
  list(JOIN summary ", " SOFTAMP_MPI_SUMMARY)
elseif(SOFTAMP_MPI STREQUAL "ON")
  message(FATAL_ERROR "SOFTAMP_MPI=ON, but no MPI was found; expected mpicxx.openmpi, mpicxx.mpich or mpicxx on PATH "
                      "(Debian packages libopenmpi-dev, libmpich-dev)")
endif()
