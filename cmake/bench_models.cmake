# bench/models: the programs that time models in any libonnxruntime.so.1; they see the ABI's header only.
add_library(bench.ort_model OBJECT EXCLUDE_FROM_ALL bench/models/ort_model.c bench/models/ort_tensor.c)
target_include_directories(bench.ort_model PUBLIC include)
target_link_libraries(bench.ort_model PUBLIC onyx_options)
foreach(name ort_run ort_turns)
  add_executable(bench.${name} bench/models/${name}.c)
  set_target_properties(bench.${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  target_link_libraries(bench.${name} PRIVATE bench.ort_model)
  if(NOT ONYX_TESTS) # tests run them
    set_target_properties(bench.${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
endforeach()
