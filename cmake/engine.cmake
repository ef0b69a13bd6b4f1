# The engine: libonyx.{so,a}, its command and its examples.
onyx_registry(op_list.inc OX_OPS src/ops/* builtin)
onyx_registry(rule_list.inc OX_RULES src/opt/rules/*)
onyx_registry(cpu_rule_list.inc OX_CPU_RULES src/ep/cpu/rules/*)
onyx_registry(command_list.inc OX_COMMANDS src/cli/cmd_*)
onyx_registry(bconv_form_list.inc OX_BCONV_FORMS src/kern/blocks/form_*)

# What the CPU provider is made of, wherever it lives; what the engine is made of besides; the provider itself.
file(GLOB_RECURSE kernel_sources CONFIGURE_DEPENDS src/base/*.c src/graph/*.c src/kern/*.c src/ep/rows/*.c)
file(GLOB_RECURSE ops_sources CONFIGURE_DEPENDS src/ops/*.c)
file(GLOB_RECURSE core_sources CONFIGURE_DEPENDS
  src/task/*.c src/onnx/*.c src/opt/*.c src/ep/*.c src/plan/*.c src/exec/*.c src/session/*.c)
file(GLOB_RECURSE cpu_sources CONFIGURE_DEPENDS src/ep/cpu/*.c)
list(FILTER core_sources EXCLUDE REGEX "/src/ep/(rows|cpu)/")
onyx_pool_backend(core_sources)
onyx_isa_flags(${kernel_sources} ${ops_sources})
onyx_loop_flags(${kernel_sources} ${ops_sources})
include(GNUInstallDirs) # plug-ins are looked for where they are installed
set_property(SOURCE src/session/find_plugin.c APPEND PROPERTY COMPILE_DEFINITIONS OX_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
foreach(part kernel ops core cpu)
  add_library(onyx_${part} OBJECT ${${part}_sources})
  target_include_directories(onyx_${part} PUBLIC include src ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(onyx_${part} PUBLIC onyx_options)
endforeach()
set(engine_objects $<TARGET_OBJECTS:onyx_kernel> $<TARGET_OBJECTS:onyx_core>) # the rest depends on ONYX_CPU
include(cmake/cpu.cmake)

add_library(onyx_static STATIC ${engine_objects})
add_library(onyx_shared SHARED ${engine_objects})
foreach(lib onyx_static onyx_shared)
  set_target_properties(${lib} PROPERTIES OUTPUT_NAME onyx VERSION ${PROJECT_VERSION} SOVERSION 0)
  target_include_directories(${lib} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(${lib} PUBLIC m Threads::Threads ${CMAKE_DL_LIBS} ${ONYX_POOL_LIBS})
  if(ONYX_SANITIZE)
    target_link_options(${lib} PRIVATE -fsanitize=${ONYX_SANITIZE})
  endif()
endforeach()

file(GLOB cli_sources CONFIGURE_DEPENDS src/cli/*.c)
set_source_files_properties(src/cli/limits.c PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
if(cli_sources)
  add_executable(onyx ${cli_sources})
  target_include_directories(onyx PRIVATE src ${CMAKE_BINARY_DIR}/generated) # tools/layers.txt says what it may use
  target_link_libraries(onyx PRIVATE onyx_options onyx_static)
endif()

include(cmake/examples.cmake)
