# The task pool as a library of its own: libonyx-task.{so,a}, onyx-task.pc.
file(GLOB task_sources CONFIGURE_DEPENDS src/task/*.c)
add_library(onyx_task_core OBJECT ${task_sources} src/base/status.c src/base/alloc.c)
target_include_directories(onyx_task_core PRIVATE include src)
target_link_libraries(onyx_task_core PRIVATE onyx_options)
add_library(onyx_task_static STATIC $<TARGET_OBJECTS:onyx_task_core>)
add_library(onyx_task_shared SHARED $<TARGET_OBJECTS:onyx_task_core>)
foreach(lib onyx_task_static onyx_task_shared)
  set_target_properties(${lib} PROPERTIES OUTPUT_NAME onyx-task VERSION ${PROJECT_VERSION} SOVERSION 0)
  target_include_directories(${lib} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(${lib} PUBLIC Threads::Threads)
  if(ONYX_SANITIZE)
    target_link_options(${lib} PRIVATE -fsanitize=${ONYX_SANITIZE})
  endif()
endforeach()

# Workers of the default pool never end, so their code must stay: dlclose leaves the library mapped.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(onyx_shared PRIVATE LINKER:-z,nodelete)
  target_link_options(onyx_task_shared PRIVATE LINKER:-z,nodelete)
endif()

include(GNUInstallDirs)
install(TARGETS onyx_task_static onyx_task_shared EXPORT onyx-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
configure_file(cmake/onyx-task.pc.in ${CMAKE_BINARY_DIR}/onyx-task.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/onyx-task.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
