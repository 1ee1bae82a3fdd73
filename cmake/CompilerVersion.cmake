# An old compiler fails in a hundred places; this says it once, first.
set(oldest_GNU 12)
set(oldest_Clang 14)
set(oldest "${oldest_${CMAKE_CXX_COMPILER_ID}}")
if(oldest AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS oldest)
  message(FATAL_ERROR "softamp: ${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}; expected "
                      "g++ ${oldest_GNU}, clang++ ${oldest_Clang} or newer, as -DCMAKE_CXX_COMPILER=... in an empty build "
                      "folder")
endif()
