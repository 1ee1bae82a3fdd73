# `cmake --install`: headers, library, program, and the package that find_package(softamp) reads.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/softamp")
set(installed_targets softamp_numerics softamp_softamp softamp_cuda_engine)
if(TARGET softamp_cuda)
  list(APPEND installed_targets softamp_cuda)
endif()
if(TARGET softamp_program)
  install(TARGETS softamp_program)
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
