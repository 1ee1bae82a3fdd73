# The manual page softamp(1) and the completions of bash, zsh and fish: printed by the program itself while it is
# installed, to where man and the shells look under a prefix. A program for another machine cannot be run here, unless
# CMAKE_CROSSCOMPILING_EMULATOR runs it: without that they are left out, and `softamp man` and `softamp completions` make
# them on that machine.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "softamp: cross compiling; the manual page and the completions will not be installed")
  return()
endif()

function(softamp_install_page folder file)
  list(JOIN ARGN " " words)
  set(page "${PROJECT_BINARY_DIR}/pages/${file}")
  string(CONCAT code
    "file(MAKE_DIRECTORY \"${PROJECT_BINARY_DIR}/pages\")\n"
    "execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} \"$<TARGET_FILE:softamp_program>\" ${words}\n"
    "                OUTPUT_FILE \"${page}\" RESULT_VARIABLE result)\n"
    "if(NOT result EQUAL 0)\n"
    "  message(FATAL_ERROR \"`softamp ${words}` ended with \${result}; expected it built, and able to run here\")\n"
    "endif()")
  install(CODE "${code}")
  install(FILES "${page}" DESTINATION "${folder}")
endfunction()
softamp_install_page("${CMAKE_INSTALL_MANDIR}/man1" softamp.1 man)
softamp_install_page("${CMAKE_INSTALL_DATADIR}/bash-completion/completions" softamp completions bash)
softamp_install_page("${CMAKE_INSTALL_DATADIR}/zsh/site-functions" _softamp completions zsh)
softamp_install_page("${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" softamp.fish completions fish)
