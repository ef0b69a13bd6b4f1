# bench/models: the program that times a model in any libonnxruntime.so.1; it sees the ABI's header only.
add_executable(bench.ort_run bench/models/ort_run.c)
set_target_properties(bench.ort_run PROPERTIES OUTPUT_NAME ort_run RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
target_include_directories(bench.ort_run PRIVATE include)
target_link_libraries(bench.ort_run PRIVATE onyx_options)
if(NOT ONYX_TESTS) # a test runs it
  set_target_properties(bench.ort_run PROPERTIES EXCLUDE_FROM_ALL TRUE)
endif()
