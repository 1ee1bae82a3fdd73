# What makes compiling file by file bearable (the preset dev): headers that are compiled once, and objects that are kept.

# softamp_precompile(target header... [REUSE_FROM other]): these headers are read compiled, and before all else, in each source of the
# target; REUSE_FROM: those of another target of the same kind (library or program) and the same options. Only headers of the standard
# library and of packages: after an edit of one of our own everything would be compiled again. Not done without SOFTAMP_PCH.
function(softamp_precompile target)
  if(SOFTAMP_PCH)
    target_precompile_headers(${target} ${ARGN})
  endif()
endfunction()

# Those of the standard library that most sources include, and what is read with them at no cost that could be measured.
set(standard_headers PRIVATE <algorithm> <array> <bit> <charconv> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <iostream>
                             <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <stdexcept> <string> <string_view>
                             <thread> <tuple> <unordered_map> <utility> <variant> <vector>)

# ccache knows a precompiled header by its text, if it is told that no __TIME__ is in it.
if(SOFTAMP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(SOFTAMP_CCACHE_PROGRAM ccache)
  mark_as_advanced(SOFTAMP_CCACHE_PROGRAM)
  if(SOFTAMP_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${SOFTAMP_CCACHE_PROGRAM}")
  endif()
endif()
