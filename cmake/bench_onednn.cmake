# bench/onednn_bench.c (docs/onednn.md): oneDNN's primitives without an engine around them.
if(TARGET onyx_onednn)
  add_executable(bench.onednn EXCLUDE_FROM_ALL bench/onednn_bench.c)
  set_target_properties(bench.onednn PROPERTIES OUTPUT_NAME onednn_bench
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  target_include_directories(bench.onednn PRIVATE src)
  target_include_directories(bench.onednn SYSTEM PRIVATE ${ONYX_DNNL_INCLUDE})
  target_link_libraries(bench.onednn PRIVATE onyx_options ${ONYX_DNNL_LIBRARY})
endif()
