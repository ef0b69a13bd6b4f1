# A program that was linked with a release of ONNX Runtime, run with our library in its place.
add_library(ort_release SHARED tests/ort/linked/release.c)
set_target_properties(ort_release PROPERTIES OUTPUT_NAME onnxruntime VERSION 1.32.0 SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/ort_release C_VISIBILITY_PRESET default)
target_link_options(ort_release PRIVATE LINKER:--version-script=${CMAKE_SOURCE_DIR}/tests/ort/linked/release.map)
add_executable(test.ort.linked tests/ort/linked/program.c)
set_target_properties(test.ort.linked PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests SKIP_BUILD_RPATH ON)
target_include_directories(test.ort.linked PRIVATE include)
target_link_libraries(test.ort.linked PRIVATE onyx_options ort_release)
add_test(NAME ort.linked COMMAND test.ort.linked)
set_tests_properties(ort.linked PROPERTIES TIMEOUT 60 ENVIRONMENT LD_LIBRARY_PATH=$<TARGET_FILE_DIR:onyx_ort>
  PASS_REGULAR_EXPRESSION "1\\.32\\.0, .*Onyx")

# Libraries of custom operators: some in C, and one in C++ that throws.
function(onyx_op_library name source variable)
  add_library(${name} MODULE ${source})
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE tests include)
  target_compile_definitions(test.ort.ort_op_library PRIVATE ${variable}="$<TARGET_FILE:${name}>")
  add_dependencies(test.ort.ort_op_library ${name})
endfunction()

onyx_op_library(ort_ops tests/ort/op_library.c OP_LIBRARY)
target_link_libraries(ort_ops PRIVATE onyx_options)
set_target_properties(test.ort.ort_op_library PROPERTIES ENABLE_EXPORTS ON) # a function is looked for by its name
if(CMAKE_CXX_COMPILER)
  onyx_op_library(ort_throwing_ops tests/ort/throwing_ops.cpp THROWING_LIBRARY)
  set_target_properties(ort_throwing_ops PROPERTIES CXX_STANDARD 11 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(ort_throwing_ops PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
  if(ONYX_SANITIZE)
    target_compile_options(ort_throwing_ops PRIVATE -fsanitize=${ONYX_SANITIZE})
    target_link_options(ort_throwing_ops PRIVATE -fsanitize=${ONYX_SANITIZE})
  endif()
endif()

# A library with a provider that writes down the graphs it sees.
add_library(ort_graph_reader MODULE tests/ort/ep/graph_reader.c)
set_target_properties(ort_graph_reader PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(ort_graph_reader PRIVATE tests include)
target_link_libraries(ort_graph_reader PRIVATE onyx_options)
target_compile_definitions(test.ort.graph_read PRIVATE GRAPH_READER="$<TARGET_FILE:ort_graph_reader>")
add_dependencies(test.ort.graph_read ort_graph_reader)

# docs/migrate.md lists the slots that nothing serves.
if(NOT ONYX_SANITIZE)
  add_test(NAME ort.missing COMMAND ${PYTHON3} tools/ort_missing.py $<TARGET_FILE:onyx_ort>
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
endif()

target_compile_definitions(test.ort.ort_plugins PRIVATE IMAGE_PLUGIN="$<TARGET_FILE:onyx_image>")
add_dependencies(test.ort.ort_plugins onyx_image)
