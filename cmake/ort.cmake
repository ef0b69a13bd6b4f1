# libonnxruntime.so.1: ONNX Runtime's C ABI on the public headers, the engine inside (docs/ort.md).
file(GLOB_RECURSE ort_sources CONFIGURE_DEPENDS src/ort/*.c)
add_library(onyx_ort_objects OBJECT ${ort_sources})
target_include_directories(onyx_ort_objects PUBLIC include src) # tools/layers.txt says what it may use
target_link_libraries(onyx_ort_objects PUBLIC onyx_options)
add_library(onyx_ort SHARED $<TARGET_OBJECTS:onyx_ort_objects>)
set_target_properties(onyx_ort PROPERTIES OUTPUT_NAME onnxruntime VERSION 1.32.0 SOVERSION 1 EXPORT_NAME onnxruntime)
target_include_directories(onyx_ort INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(onyx_ort PRIVATE onyx_static)
set(ort_map ${CMAKE_SOURCE_DIR}/src/ort/libonnxruntime.map)
# nodelete: clients dlclose the library while workers of its pool may be alive
target_link_options(onyx_ort PRIVATE LINKER:--version-script=${ort_map} LINKER:-z,nodelete)
set_target_properties(onyx_ort PROPERTIES LINK_DEPENDS ${ort_map})
if(ONYX_SANITIZE)
  target_link_options(onyx_ort PRIVATE -fsanitize=${ONYX_SANITIZE})
endif()
