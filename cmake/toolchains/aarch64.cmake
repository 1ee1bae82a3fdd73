# Builds for 64-bit Arm on another machine, and runs what it has built under qemu's user mode:
#   cmake --preset aarch64 && cmake --build --preset aarch64 && ctest --preset aarch64
# `bash tests/setup.sh aarch64` installs all that it names.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

find_program(SOFTAMP_AARCH64_CXX NAMES aarch64-linux-gnu-g++)
if(NOT SOFTAMP_AARCH64_CXX)
  message(FATAL_ERROR "softamp: no compiler for 64-bit Arm, aarch64-linux-gnu-g++; on Debian `bash tests/setup.sh aarch64` "
                      "installs it")
endif()
set(CMAKE_CXX_COMPILER "${SOFTAMP_AARCH64_CXX}")
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(SOFTAMP_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
if(SOFTAMP_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${SOFTAMP_QEMU_AARCH64};-L;/usr/aarch64-linux-gnu")
endif()
