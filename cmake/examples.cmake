# Programs of examples/. The first two see the public headers only; the writer uses the graph.
foreach(example digits/digits hello)
  get_filename_component(name ${example} NAME)
  add_executable(example.${name} examples/${example}.c)
  set_target_properties(example.${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
  target_link_libraries(example.${name} PRIVATE onyx_options onyx_shared)
endforeach()
add_executable(example.write_mobilenet examples/write_mobilenet.c)
set_target_properties(example.write_mobilenet PROPERTIES OUTPUT_NAME write_mobilenet
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
target_include_directories(example.write_mobilenet PRIVATE src)
target_link_libraries(example.write_mobilenet PRIVATE onyx_options onyx_static)
