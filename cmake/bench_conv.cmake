# bench/conv_bench.c (docs/conv.md): the convolution kernels without an engine around them.
add_executable(bench.conv EXCLUDE_FROM_ALL bench/conv_bench.c)
set_target_properties(bench.conv PROPERTIES OUTPUT_NAME conv_bench RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
target_include_directories(bench.conv PRIVATE src)
target_link_libraries(bench.conv PRIVATE onyx_options onyx_static)
