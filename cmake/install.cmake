# make install: headers, libraries, command, pkg-config and CMake package files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
if(ONYX_TASK_ONLY)
  install(FILES include/onyx/status.h include/onyx/task.h include/onyx/task.hpp
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/onyx)
  install(DIRECTORY include/nanothread DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
else()
  install(DIRECTORY include/onyx include/nanothread DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(TARGETS onyx_static onyx_shared EXPORT onyx-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  # In a folder of its own: it does not stand in for Microsoft's library until a program is shown that folder.
  install(TARGETS onyx_ort EXPORT onyx-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/onyx)
  if(TARGET onyx)
    install(TARGETS onyx DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  configure_file(cmake/onyx.pc.in ${CMAKE_BINARY_DIR}/onyx.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/onyx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
install(EXPORT onyx-targets NAMESPACE onyx:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/onyx)
configure_package_config_file(cmake/onyx-config.cmake.in ${CMAKE_BINARY_DIR}/onyx-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/onyx)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/onyx-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/onyx-config.cmake ${CMAKE_BINARY_DIR}/onyx-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/onyx)
if(TARGET onyx_onednn)
  install(TARGETS onyx_onednn LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/onyx)
endif()
if(TARGET onyx_xnnpack)
  install(TARGETS onyx_xnnpack LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/onyx)
endif()
if(TARGET onyx_image)
  install(TARGETS onyx_image LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/onyx)
endif()
