# What a stranger gets: headers, both libraries, a CMake package and fairlead.pc. All paths in them are relative
# to where they lie, so the whole may be moved.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/fairlead DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS fairlead fairlead_shared EXPORT fairlead
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

set(FL_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/fairlead)
install(EXPORT fairlead NAMESPACE fairlead:: FILE fairlead-targets.cmake DESTINATION ${FL_PACKAGE_DIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/fairlead-config.cmake.in
    ${PROJECT_BINARY_DIR}/fairlead-config.cmake INSTALL_DESTINATION ${FL_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fairlead-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fairlead-config.cmake
    ${PROJECT_BINARY_DIR}/fairlead-config-version.cmake
    ${CMAKE_CURRENT_LIST_DIR}/sodium.cmake DESTINATION ${FL_PACKAGE_DIR})

file(RELATIVE_PATH FL_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/fairlead.pc.in ${PROJECT_BINARY_DIR}/fairlead.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fairlead.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
