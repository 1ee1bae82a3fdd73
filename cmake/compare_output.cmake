# Runs PROGRAM ARGUMENTS and compares its standard output with the file EXPECTED; leaves the output in ACTUAL.
execute_process(COMMAND "${PROGRAM}" ${ARGUMENTS} OUTPUT_FILE "${ACTUAL}" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${result}")
endif()
execute_process(COMMAND diff -u "${EXPECTED}" "${ACTUAL}" RESULT_VARIABLE differs OUTPUT_VARIABLE difference)
if(NOT differs EQUAL 0)
  message(FATAL_ERROR "the output is not ${EXPECTED}:\n${difference}")
endif()
