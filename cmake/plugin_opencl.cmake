# The provider "opencl": the device core on OpenCL 1.2, by way of the system's loader.
if(PKG_CONFIG_FOUND AND NOT CMAKE_CROSSCOMPILING)
  pkg_check_modules(ONYX_OPENCL QUIET IMPORTED_TARGET OpenCL)
endif()
if(NOT ONYX_OPENCL_FOUND)
  message(NOTICE "OpenCL plug-in: left out, there is no OpenCL (ocl-icd-opencl-dev, opencl-headers)")
  return()
endif()
file(GLOB onyx_opencl_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/plugins/opencl/*.c)
