# The library and the command for a package that pip builds: those of a build folder of this source tree, brought up to date,
# or ones that are built with the module.
set(SOFTAMP_BUILD_DIR "$ENV{SOFTAMP_BUILD_DIR}" CACHE PATH "A build folder of this source tree whose library and command are used")
set(library_folder "${SOFTAMP_BUILD_DIR}")
if(NOT library_folder AND EXISTS "${softamp_root}/build/softampBuildTargets.cmake")
  set(library_folder "${softamp_root}/build")
endif()

list(APPEND CMAKE_MODULE_PATH "${softamp_root}/cmake")
include(Dependencies)  # here, too: imported targets are known in the folder that found them alone
if(library_folder)
  cmake_path(ABSOLUTE_PATH library_folder BASE_DIRECTORY "${softamp_root}")
  if(NOT EXISTS "${library_folder}/softampBuildTargets.cmake")
    message(FATAL_ERROR "SOFTAMP_BUILD_DIR=${SOFTAMP_BUILD_DIR} has no library and command for a package of Python; expected "
                        "a build folder configured with SOFTAMP_BUILD_PROGRAM=ON")
  endif()
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  execute_process(COMMAND "${CMAKE_COMMAND}" --build "${library_folder}" --parallel ${cores}
                          --target softamp_softamp softamp_reproduce softamp_program COMMAND_ERROR_IS_FATAL ANY)
  find_package(CUDAToolkit QUIET)  # of a library with the CUDA engine
  include("${library_folder}/softampBuildTargets.cmake")
  message(STATUS "softamp for Python: library and command of ${library_folder}")
else()
  foreach(part TESTS EXAMPLES BENCH)
    set(SOFTAMP_BUILD_${part} OFF)
  endforeach()
  set(SOFTAMP_BUILD_LIBRARY ON)
  set(SOFTAMP_BUILD_PROGRAM ON)
  set(SOFTAMP_INSTALL OFF)
  set(SOFTAMP_CUDA OFF CACHE STRING "Compile the .cu files: AUTO, ON or OFF")
  set(SOFTAMP_MPI OFF CACHE STRING "Modules for Open MPI and MPICH: AUTO, ON or OFF")
  add_subdirectory("${softamp_root}" library EXCLUDE_FROM_ALL)
endif()
