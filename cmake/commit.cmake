# Writes FILE, a source that names the commit of the checkout SOURCE, with "-dirty" where files differ from it. Touches the
# file only where the commit is another one, so that nothing is linked again for nothing.
set(commit "")
if(EXISTS "${SOURCE}/.git")
  execute_process(COMMAND "${GIT}" -C "${SOURCE}" describe --always --dirty --abbrev=40 --exclude=* OUTPUT_VARIABLE commit
                  ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
string(CONCAT text "// Written by cmake/commit.cmake.\n#include \"src/program/description/commit.h\"\n\n"
                   "const char* const softamp::program::kCommit = \"${commit}\";\n")
set(before "")
if(EXISTS "${FILE}")
  file(READ "${FILE}" before)
endif()
if(NOT before STREQUAL text)
  file(WRITE "${FILE}" "${text}")
endif()
