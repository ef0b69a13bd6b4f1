# A program that was linked with a release of ONNX Runtime, run with our library in its place.
add_library(ort_release SHARED tests/ort/linked/release.c)
set_target_properties(ort_release PROPERTIES OUTPUT_NAME onnxruntime VERSION 1.31.1 SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/ort_release C_VISIBILITY_PRESET default)
target_link_options(ort_release PRIVATE LINKER:--version-script=${CMAKE_SOURCE_DIR}/tests/ort/linked/release.map)
add_executable(test.ort.linked tests/ort/linked/program.c)
set_target_properties(test.ort.linked PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests SKIP_BUILD_RPATH ON)
target_include_directories(test.ort.linked PRIVATE include)
target_link_libraries(test.ort.linked PRIVATE onyx_options ort_release)
add_test(NAME ort.linked COMMAND test.ort.linked)
set_tests_properties(ort.linked PROPERTIES TIMEOUT 60 ENVIRONMENT LD_LIBRARY_PATH=$<TARGET_FILE_DIR:onyx_ort>
  PASS_REGULAR_EXPRESSION "1\\.30\\.0, .*Onyx")
