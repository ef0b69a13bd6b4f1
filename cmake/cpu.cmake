# The CPU provider: in the engine, or a plug-in like anyone's that every environment loads. The engine then knows the
# operators and has no kernel of theirs (OX_NO_KERNELS, onyx/op.h). The second is there to prove that the first has no
# private door: tools/test_cpu_plugin.sh.
set(ONYX_CPU builtin CACHE STRING "where the CPU provider lives: builtin or plugin")
set_property(CACHE ONYX_CPU PROPERTY STRINGS builtin plugin)
if(ONYX_CPU STREQUAL builtin)
  onyx_registry(ep_list.inc OX_EPS src/ep/*/ep_*)
  list(APPEND engine_objects $<TARGET_OBJECTS:onyx_ops> $<TARGET_OBJECTS:onyx_cpu>)
  return()
endif()
onyx_registry(ep_list.inc OX_EPS src/ep/*/ep_* ep_cpu)
add_library(onyx_schemas OBJECT ${ops_sources})
target_include_directories(onyx_schemas PUBLIC include src ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(onyx_schemas PUBLIC onyx_options)
target_compile_definitions(onyx_schemas PRIVATE OX_NO_KERNELS)
target_compile_options(onyx_schemas PRIVATE -Wno-unused-function -Wno-unused-variable) # of the kernels
list(APPEND engine_objects $<TARGET_OBJECTS:onyx_schemas>)
add_library(onyx_cpu_plugin MODULE cmake/cpu_plugin.c
  $<TARGET_OBJECTS:onyx_kernel> $<TARGET_OBJECTS:onyx_ops> $<TARGET_OBJECTS:onyx_cpu>)
set_target_properties(onyx_cpu_plugin PROPERTIES OUTPUT_NAME onyx_cpu)
target_include_directories(onyx_cpu_plugin PRIVATE include src)
target_link_libraries(onyx_cpu_plugin PRIVATE onyx_options)
target_link_options(onyx_cpu_plugin PRIVATE -Wl,--no-undefined
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/cpu_plugin.map)
target_compile_definitions(onyx_core PRIVATE OX_CPU_PLUGIN="$<TARGET_FILE:onyx_cpu_plugin>")
add_dependencies(onyx_core onyx_cpu_plugin)
