# bench/ops: the program that measures what the machine can do. It multiplies and adds in one instruction where there is one.
add_executable(bench.limits bench/ops/limits.c)
set_target_properties(bench.limits PROPERTIES OUTPUT_NAME limits RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
target_link_libraries(bench.limits PRIVATE onyx_options)
target_compile_options(bench.limits PRIVATE -ffp-contract=fast)
if(NOT ONYX_TESTS)
  set_target_properties(bench.limits PROPERTIES EXCLUDE_FROM_ALL TRUE)
endif()
