# The provider "cuda": the device core on NVIDIA's libraries, which are looked for at run time. Building needs none of them.
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  return()
endif()
file(GLOB onyx_cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/plugins/cuda/*.c)
onyx_add_device_plugin(cuda ${onyx_cuda_sources})
