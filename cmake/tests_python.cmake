# Tests in Python: JSON that a parser not of ours reads back, and the command as a user meets it (tests/cli/*_test.py).
find_program(PYTHON3 python3 REQUIRED)

function(onyx_add_python_test name)
  add_test(NAME ${name} COMMAND ${PYTHON3} -B ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  # each command is a process, and under TSan each would sleep a second before it ends
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 ENVIRONMENT "TSAN_OPTIONS=atexit_sleep_ms=20;\
ONYX=$<TARGET_FILE:onyx>;\
ONYX_PLAIN_EP=$<TARGET_FILE:test.cli.plain_ep>;ONYX_QUOTED_EP=$<TARGET_FILE:test.cli.quoted_ep>;\
ONYX_WRONG_RULES=$<TARGET_FILE:test.cli.wrong_rules>;\
ONYX_EXAMPLES=$<TARGET_FILE_DIR:example_plugin_kernels>")
endfunction()

# Plug-ins in shared libraries, which see the public headers only.
foreach(kind plain quoted)
  add_library(test.cli.${kind}_ep MODULE tests/cli/constant_ep.c)
  set_target_properties(test.cli.${kind}_ep PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(test.cli.${kind}_ep PRIVATE include)
  target_link_libraries(test.cli.${kind}_ep PRIVATE onyx_options)
endforeach()
target_compile_definitions(test.cli.quoted_ep PRIVATE QUOTED_NAME)
add_library(test.cli.wrong_rules MODULE tests/cli/wrong_rules.c)
set_target_properties(test.cli.wrong_rules PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(test.cli.wrong_rules PRIVATE include)
target_link_libraries(test.cli.wrong_rules PRIVATE onyx_options m)

onyx_add_python_test(base.json_rows tests/base/json_rows.py $<TARGET_FILE:test.base.json>)
file(GLOB python_tests CONFIGURE_DEPENDS tests/cli/*_test.py)
foreach(source IN LISTS python_tests)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_test$" "" name ${name})
  onyx_add_python_test(cli.${name} ${source})
endforeach()

# The programs of bench/ that compare, for a moment each: that they work, not how fast anything is. For whatever python
# has numpy and onnx; they skip themselves without.
function(onyx_add_bench_tests)
  foreach(python /usr/bin/python3 ${PYTHON3})
    execute_process(COMMAND ${python} -c "import numpy, onnx" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(PYTHON3 ${python})
    endif()
  endforeach()
  file(GLOB bench_tests CONFIGURE_DEPENDS tests/bench/*_test.py)
  foreach(source IN LISTS bench_tests)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    if(ONYX_SANITIZE AND name STREQUAL "xnnpack") # which loads the engine into a python that has no sanitizer
      continue()
    endif()
    onyx_add_python_test(bench.${name} ${source} ${CMAKE_BINARY_DIR}/bench $<TARGET_FILE:onyx_ort>)
    set_tests_properties(bench.${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped")
  endforeach()
endfunction()
if(TARGET bench.ort_run)
  onyx_add_bench_tests()
endif()
