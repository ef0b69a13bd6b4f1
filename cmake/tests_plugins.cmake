include(cmake/tests_devices.cmake)

# Tests of plug-ins: they load the library as a user does.
add_library(test_image_support STATIC tests/plugins/image/decode.c tests/plugins/image/encode.c
  tests/plugins/image/encode_seeking.c)
target_link_libraries(test_image_support PUBLIC test_support)
target_compile_definitions(test_image_support PRIVATE IMAGE_PLUGIN="$<TARGET_FILE:onyx_image>")
foreach(format IN LISTS onyx_image_formats)
  target_compile_definitions(test_image_support PRIVATE OX_TEST_${format})
  target_link_libraries(test_image_support PRIVATE PkgConfig::ONYX_${format})
endforeach()
foreach(name image_plugin image_hostile)
  target_link_libraries(test.plugins.image.${name} PRIVATE test_image_support)
  target_compile_definitions(test.plugins.image.${name} PRIVATE IMAGE_PLUGIN="$<TARGET_FILE:onyx_image>")
  add_dependencies(test.plugins.image.${name} onyx_image)
endforeach()

# Beside Pillow, for whatever python has it.
set(with_pillow)
foreach(python python3 /usr/bin/python3)
  execute_process(COMMAND ${python} -c "import PIL.Image" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT failed AND NOT with_pillow)
    set(with_pillow ${python})
  endif()
endforeach()
if(with_pillow)
  add_test(NAME plugins.image.pillow COMMAND ${with_pillow} -B tests/plugins/image/pillow_test.py
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
else()
  add_test(NAME plugins.image.pillow COMMAND ${CMAKE_COMMAND} -E echo "skipped: there is no Pillow")
endif()
list(JOIN onyx_image_formats "," formats)
set_tests_properties(plugins.image.pillow PROPERTIES TIMEOUT 600 SKIP_REGULAR_EXPRESSION "^skipped"
  ENVIRONMENT "TSAN_OPTIONS=atexit_sleep_ms=20;ONYX=$<TARGET_FILE:onyx>;\
ONYX_IMAGE_PLUGIN=$<TARGET_FILE:onyx_image>;ONYX_IMAGE_FORMATS=${formats}")

# The templates.
target_compile_definitions(test.plugins.examples PRIVATE CUSTOM_OP="$<TARGET_FILE:example_plugin_custom_op>"
  RULE="$<TARGET_FILE:example_plugin_rule>")
add_dependencies(test.plugins.examples example_plugin_custom_op example_plugin_rule)
foreach(name kernels compile)
  string(TOUPPER ${name} variable)
  target_compile_definitions(test.plugins.providers PRIVATE ${variable}="$<TARGET_FILE:example_plugin_${name}>")
  add_dependencies(test.plugins.providers example_plugin_${name})
endforeach()

# A plug-in as it was compiled against 1.0 of onyx/ep.h: it sees a frozen copy, and no header of today.
add_library(plugin_1_0 MODULE tests/abi/plugin_1_0.c)
set_target_properties(plugin_1_0 PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(plugin_1_0 PRIVATE tests)
target_link_libraries(plugin_1_0 PRIVATE onyx_options)
target_compile_definitions(test.abi.plugin_1_0 PRIVATE ABI_1_0_PLUGIN="$<TARGET_FILE:plugin_1_0>")
add_dependencies(test.abi.plugin_1_0 plugin_1_0)

# A folder in which providers are found by name: one that works, one whose device is missing, files that are not what
# they are called.
set(found ${CMAKE_BINARY_DIR}/tests/found)
foreach(row plain/constant_ep sick/sick_ep other/constant_ep)
  get_filename_component(source ${row} NAME)
  get_filename_component(name ${row} DIRECTORY)
  onyx_add_plugin(test.found.${name} tests/cli/${source}.c)
  set_target_properties(test.found.${name} PROPERTIES OUTPUT_NAME onyx-${name} LIBRARY_OUTPUT_DIRECTORY ${found})
endforeach()
onyx_add_plugin(test.found.operators examples/ops/custom_op.c)
target_compile_options(test.found.operators PRIVATE -Wno-unused-parameter)
set_target_properties(test.found.operators PROPERTIES OUTPUT_NAME onyx-operators LIBRARY_OUTPUT_DIRECTORY ${found})
# The pretend device of tests/support, which brings its own copy of the engine's kernels.
add_library(test.found.device MODULE tests/plugins/device_plugin.c)
target_link_libraries(test.found.device PRIVATE test_support)
set_target_properties(test.found.device PROPERTIES OUTPUT_NAME onyx-device LIBRARY_OUTPUT_DIRECTORY ${found})
file(GENERATE OUTPUT ${found}/libonyx-broken.so CONTENT "this is no library\n")
foreach(test test.session.env_providers test.ort.ort_plugins)
  add_dependencies(${test} test.found.plain test.found.sick test.found.other test.found.operators
    test.found.device)
endforeach()
foreach(test test.session.env_providers test.ort.ort_plugins)
  target_compile_definitions(${test} PRIVATE PLUGIN_FOLDER="${found}")
endforeach()

# gcc 12's LeakSanitizer takes garbage for the place of thread-local memory of a library that was loaded later, and dies,
# most of the time, if other threads are there at the end: it logs "DTLS 7 at 0x0001000000ad" and reads there. That is
# memory of libdnnl's, and two pointers of the plug-in "xnnpack". Without looking there it misses one text of dlopen's.
set(without_tls "LSAN_OPTIONS=use_tls=0")

# oneDNN as a provider, where there is libdnnl; and what holds for all providers.
file(GLOB od_loops_sources CONFIGURE_DEPENDS src/plugins/onednn/od_loops*.c)
onyx_isa_flags(${od_loops_sources})
target_sources(test.plugins.onednn.od_loops PRIVATE ${od_loops_sources})
if(TARGET onyx_onednn)
  foreach(name onednn_ops onednn_bits onednn_runs)
    target_compile_definitions(test.plugins.onednn.${name} PRIVATE ONEDNN_PLUGIN="$<TARGET_FILE:onyx_onednn>")
    add_dependencies(test.plugins.onednn.${name} onyx_onednn)
  endforeach()
  onyx_add_test(plugins.onednn.cts test.cts.suite "CTS_PROVIDER_LIB=$<TARGET_FILE:onyx_onednn>")
  onyx_add_test(plugins.onednn.random_graphs test.cts.random_graphs "CTS_PROVIDER_LIB=$<TARGET_FILE:onyx_onednn>")
  add_dependencies(test.cts.random_graphs onyx_onednn)
  if(NOT ONYX_SANITIZE) # whose run-time wants to come first: a program that has an OpenMP run-time of its own
    onyx_add_test(plugins.onednn.other_openmp test.plugins.onednn.onednn_runs "LD_PRELOAD=libgomp.so.1")
  endif()
  set_property(TEST plugins.onednn.cts plugins.onednn.random_graphs plugins.onednn.onednn_ops plugins.onednn.onednn_bits plugins.onednn.onednn_runs
    plugins.reason.reason APPEND PROPERTY ENVIRONMENT "${without_tls}:suppressions=${CMAKE_SOURCE_DIR}/tests/plugins/onednn/lsan.supp")
endif()

# The provider "xnnpack", alone and through the tests that hold for all providers.
if(TARGET onyx_xnnpack)
  foreach(name xnnpack_ops xnnpack_pieces xnnpack_products xnnpack_runs)
    target_compile_definitions(test.plugins.xnnpack.${name} PRIVATE XNNPACK_PLUGIN="$<TARGET_FILE:onyx_xnnpack>"
      XNNPACK_API=${onyx_xnnpack_api} XNNPACK_IS_STATIC=$<BOOL:${onyx_xnnpack_is_static}>
      XNNPACK_AVERAGES_BYTES=$<BOOL:${XP_AVERAGE_ROOM}>)
    add_dependencies(test.plugins.xnnpack.${name} onyx_xnnpack)
  endforeach()
  add_dependencies(test.cts.suite onyx_xnnpack)
  onyx_add_test(plugins.xnnpack.suite test.cts.suite CTS_PROVIDER_LIB=$<TARGET_FILE:onyx_xnnpack>)
  add_dependencies(test.cts.random_graphs onyx_xnnpack)
  onyx_add_test(plugins.xnnpack.random_graphs test.cts.random_graphs CTS_PROVIDER_LIB=$<TARGET_FILE:onyx_xnnpack>)
  foreach(name suite random_graphs xnnpack_ops xnnpack_pieces xnnpack_products xnnpack_runs)
    set_property(TEST plugins.xnnpack.${name} APPEND PROPERTY ENVIRONMENT "${without_tls}")
  endforeach()
endif()

# Why they decline nodes.
foreach(name xnnpack onednn cuda)
  if(TARGET onyx_${name})
    string(TOUPPER ${name} variable)
    target_compile_definitions(test.plugins.reason.reason PRIVATE ${variable}_PLUGIN="$<TARGET_FILE:onyx_${name}>")
    add_dependencies(test.plugins.reason.reason onyx_${name})
  endif()
endforeach()
if(TARGET onyx_cuda)
  target_compile_definitions(test.plugins.reason.reason PRIVATE CUDA_STANDIN="${standin}")
  add_dependencies(test.plugins.reason.reason cuda_standin)
endif()
