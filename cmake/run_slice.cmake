# Runs PROGRAM --slice N, N from the environment, so that each commit's run proves another part.
set(slice 0)
if(DEFINED ENV{SOFTAMP_SLICE})
  set(slice "$ENV{SOFTAMP_SLICE}")
endif()
execute_process(COMMAND "${PROGRAM}" --slice "${slice}" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --slice ${slice}: ended with ${result}")
endif()
