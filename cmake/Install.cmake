# `cmake --install`: headers, library, program with its manual page and completions, and the packages that
# find_package(softamp) and pkg-config read.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/softamp")
set(installed_targets softamp_numerics)
foreach(target softamp_softamp softamp_cuda_engine softamp_cuda)
  if(TARGET ${target})
    list(APPEND installed_targets ${target})
  endif()
endforeach()
if(TARGET softamp_program)
  install(TARGETS softamp_program)
  include(CommandPages)
endif()
install(TARGETS ${installed_targets} EXPORT softampTargets)
# kernel/ and engine/ are for executors, not for users.
install(DIRECTORY include/softamp DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN kernel EXCLUDE PATTERN engine EXCLUDE)
install(EXPORT softampTargets NAMESPACE softamp:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/softampConfig.cmake.in softampConfig.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(softampConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/softampConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/softampConfigVersion.cmake"
        DESTINATION "${package_dir}")
include(PkgConfig)
