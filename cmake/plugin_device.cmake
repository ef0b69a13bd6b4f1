# Providers for devices with memory of their own: the core of src/plugins/device/ above a driver. Their operators and
# kernels are the files of ops/ and kernels/.
onyx_registry(device_ops.inc DEV_OP_FILE src/plugins/device/ops/*)

# The kernels' sources as data.
file(GLOB device_kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/plugins/device/kernels/*.h)
set(device_texts ${CMAKE_BINARY_DIR}/generated/device_kernels.inc)
add_custom_command(OUTPUT ${device_texts} DEPENDS ${device_kernels} ${CMAKE_SOURCE_DIR}/cmake/device_kernels.cmake
  COMMAND ${CMAKE_COMMAND} -DOUT=${device_texts} -DDIR=${CMAKE_SOURCE_DIR}/src/plugins/device/kernels
    -P ${CMAKE_SOURCE_DIR}/cmake/device_kernels.cmake VERBATIM)

file(GLOB device_core CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/plugins/device/*.c
  ${CMAKE_SOURCE_DIR}/src/plugins/device/ops/*.c)
set(device_rules src/ep/cpu/quantized.c src/ep/cpu/rules/qdq_product.c src/ep/cpu/rules/qdq_wise.c
  src/ep/cpu/rules/dyn_quant.c src/ep/cpu/attention_scores.c src/ep/cpu/rules/attention_fuse.c src/ep/cpu/rules/gated_act.c
  src/ep/cpu/rules/layer_norm_fuse.c)
set(device_base ${onyx_plugin_reason} src/base/alloc.c src/base/huge_pages.c src/base/arena.c src/base/digest.c src/base/cgroup.c src/base/memory.c src/graph/dtype.c)

# The provider |name| of the core and |ARGN|, a driver: target onyx_<name>, libonyx-<name>.so.
function(onyx_add_device_plugin name)
  onyx_add_plugin(onyx_${name} ${device_core} ${device_base} ${device_rules} ${device_texts} ${ARGN})
  set_target_properties(onyx_${name} PROPERTIES OUTPUT_NAME onyx-${name})
  target_include_directories(onyx_${name} PRIVATE src ${CMAKE_BINARY_DIR}/generated)
  install(TARGETS onyx_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/onyx)
endfunction()
