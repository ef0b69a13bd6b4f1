# The provider "xnnpack" (docs/xnnpack.md): operators of libXNNPACK, on the session's threads. Its API was another one in
# 2022, as Debian 12 and Ubuntu 22.04 have it, than since the end of 2024; what is in between is left out.
# -DONYX_XNNPACK_ROOT=DIR: a library of one's own, in DIR/include and DIR/lib, before the system's.
include(CheckCSourceCompiles)
set(ONYX_XNNPACK_ROOT "" CACHE PATH "where libXNNPACK is, if not the system's")
find_path(ONYX_XNNPACK_INCLUDE xnnpack.h HINTS ${ONYX_XNNPACK_ROOT}/include)
find_library(ONYX_XNNPACK_LIBRARY XNNPACK HINTS ${ONYX_XNNPACK_ROOT}/lib)

# Is |call| one of the header's functions, with as many arguments?
function(onyx_xnnpack_has variable call)
  set(CMAKE_REQUIRED_INCLUDES ${ONYX_XNNPACK_INCLUDE})
  set(CMAKE_REQUIRED_FLAGS "-Werror=implicit-function-declaration -Wno-deprecated-declarations")
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  check_c_source_compiles("#include <xnnpack.h>\nint has(void);\nint has(void) { return (int)${call}; }" ${variable})
endfunction()

set(onyx_xnnpack_api "")
if(ONYX_XNNPACK_INCLUDE AND ONYX_XNNPACK_LIBRARY AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_CROSSCOMPILING)
  onyx_xnnpack_has(ONYX_XNNPACK_2022 "xnn_setup_convolution2d_nhwc_qc8(0, 0, 0, 0, 0, 0, 0)")
  if(ONYX_XNNPACK_2022)
    set(onyx_xnnpack_api 2022)
  endif()
endif()
if(onyx_xnnpack_api)
  file(GLOB onyx_xnnpack_sources CONFIGURE_DEPENDS src/plugins/xnnpack/*.c
    src/plugins/xnnpack/api${onyx_xnnpack_api}/*.c)
  onyx_add_plugin(onyx_xnnpack ${onyx_xnnpack_sources})
  set_target_properties(onyx_xnnpack PROPERTIES OUTPUT_NAME onyx-xnnpack)
  target_include_directories(onyx_xnnpack SYSTEM PRIVATE ${ONYX_XNNPACK_INCLUDE})
  target_link_libraries(onyx_xnnpack PRIVATE ${ONYX_XNNPACK_LIBRARY})
else()
  message(NOTICE "xnnpack plug-in: left out, as there is no libXNNPACK of 2022, or of the end of 2024 or later")
endif()
