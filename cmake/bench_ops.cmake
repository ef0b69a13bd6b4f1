# bench/ops: the program that measures what the machine can do.
add_executable(bench.limits bench/ops/limits.c src/cli/limits.c)
set_target_properties(bench.limits PROPERTIES OUTPUT_NAME limits RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
target_include_directories(bench.limits PRIVATE src)
target_link_libraries(bench.limits PRIVATE onyx_options Threads::Threads)
if(NOT ONYX_TESTS)
  set_target_properties(bench.limits PROPERTIES EXCLUDE_FROM_ALL TRUE)
endif()
