# Tests of the drivers of device providers: those that the build has, in the tests' own process.
add_library(test_device_support STATIC tests/plugins/device/rig.c)
target_link_libraries(test_device_support PUBLIC test_support)

# Driver |name| of |sources|, with its table under a name of its own; the rest: libraries.
function(onyx_add_test_driver name sources)
  string(TOUPPER ${name} upper)
  add_library(test_${name}_driver STATIC ${${sources}})
  target_include_directories(test_${name}_driver PUBLIC src include)
  target_compile_definitions(test_${name}_driver PRIVATE dev_the_driver=dev_${name}_driver)
  target_link_libraries(test_${name}_driver PUBLIC onyx_options ${ARGN})
  target_compile_definitions(test_device_support PUBLIC OX_TEST_${upper})
  target_link_libraries(test_device_support PUBLIC test_${name}_driver)
endfunction()

if(onyx_opencl_sources)
  onyx_add_test_driver(opencl onyx_opencl_sources PkgConfig::ONYX_OPENCL)
  target_sources(test_device_support PRIVATE tests/plugins/device/opencl_faults.c)
  # every function of OpenCL that opencl_faults.c knows how to make fail
  file(STRINGS tests/plugins/device/opencl_faults.c wrapped REGEX "^(CODE|MAKE|DROP|COMMAND)\\(|^cl_int __wrap_")
  foreach(line IN LISTS wrapped)
    string(REGEX MATCH "cl[A-Z][A-Za-z]*" function "${line}")
    target_link_options(test_device_support INTERFACE LINKER:--wrap=${function})
  endforeach()
endif()

foreach(name driver driver_faults)
  target_link_libraries(test.plugins.device.${name} PRIVATE test_device_support)
  set_tests_properties(plugins.device.${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no driver")
endforeach()

# What holds for all providers.
if(TARGET onyx_opencl)
  onyx_add_test(plugins.opencl.cts test.cts.suite "CTS_PROVIDER_LIB=$<TARGET_FILE:onyx_opencl>;CTS_TOLERANCE=1e-5")
  add_dependencies(test.cts.suite onyx_opencl)
endif()

# The core above a driver that only has memory.
add_library(test_device_core STATIC ${device_core} ${device_texts} tests/plugins/device/core/fake_driver.c)
target_include_directories(test_device_core PUBLIC tests ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(test_device_core PUBLIC test_support)
foreach(name arena lifetimes tail)
  target_link_libraries(test.plugins.device.core.${name} PRIVATE test_device_core)
endforeach()
