# Tests of the drivers of device providers: those that the build has, in the tests' own process.
add_library(test_device_support STATIC tests/plugins/device/rig.c)
target_link_libraries(test_device_support PUBLIC test_support)

add_library(test_device_fail STATIC src/plugins/device/fail.c) # what drivers share
target_include_directories(test_device_fail PUBLIC src include)

# Driver |name| of |sources|, with its table under a name of its own; the rest: libraries.
function(onyx_add_test_driver name sources)
  string(TOUPPER ${name} upper)
  add_library(test_${name}_driver STATIC ${${sources}})
  target_include_directories(test_${name}_driver PUBLIC src include)
  target_compile_definitions(test_${name}_driver PRIVATE dev_the_driver=dev_${name}_driver)
  target_link_libraries(test_${name}_driver PUBLIC test_device_fail onyx_options ${ARGN})
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

# The kernels in plain C, for tests that run them. A source is what includes others and is included by none.
set(kernel_dir ${CMAKE_SOURCE_DIR}/src/plugins/device/kernels)
file(GLOB kernel_headers CONFIGURE_DEPENDS ${kernel_dir}/*.h)
set(included)
set(including test_kernels.h)
foreach(header IN LISTS kernel_headers)
  file(STRINGS ${header} lines REGEX "^#include \"plugins/device/kernels/")
  string(REGEX MATCHALL "[a-z0-9_]+\\.h" names "${lines}")
  list(APPEND included ${names})
  if(names)
    get_filename_component(file ${header} NAME)
    list(APPEND including ${file})
  endif()
endforeach()
set(kernel_sources)
foreach(header IN LISTS kernel_headers ITEMS ${CMAKE_SOURCE_DIR}/tests/plugins/device/test_kernels.h)
  get_filename_component(file ${header} NAME)
  if(file IN_LIST including AND NOT file IN_LIST included)
    foreach(half 0 1)
      set(source ${CMAKE_BINARY_DIR}/generated/kernels/${file}.${half}.c)
      file(CONFIGURE OUTPUT ${source} CONTENT
        "#define DEV_F16 ${half}\n#include \"${header}\"\n")
      list(APPEND kernel_sources ${source})
    endforeach()
  endif()
endforeach()
set_source_files_properties(${kernel_sources} PROPERTIES COMPILE_OPTIONS "-Wno-unused;-Wno-unused-parameter;-Wno-shadow")
add_library(test_device_kernels STATIC ${kernel_sources} tests/plugins/device/standin/standin_half.c)
set_target_properties(test_device_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(test_device_kernels PUBLIC tests src)
target_link_libraries(test_device_kernels PRIVATE onyx_options)
foreach(name attention_kernels product_kernels row_kernels integer_kernels recurrent_kernels select_kernels
  movement_kernels sampling_kernels moe_kernels)
  target_link_libraries(test.plugins.device.${name} PRIVATE test_device_kernels)
endforeach()

# The stand-in for a GPU: a library in the place of NVIDIA's, with these kernels.
if(onyx_cuda_sources)
  file(GLOB standin_own CONFIGURE_DEPENDS tests/plugins/device/standin/*.c)
  add_library(cuda_standin MODULE ${standin_own} ${kernel_sources})
  set_target_properties(cuda_standin PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests C_VISIBILITY_PRESET default)
  target_include_directories(cuda_standin PRIVATE tests src)
  target_link_libraries(cuda_standin PRIVATE onyx_options)
  onyx_add_test_driver(cuda onyx_cuda_sources)
  target_sources(test_device_support PRIVATE tests/plugins/device/rig_cuda.c)
  set_source_files_properties(tests/plugins/device/rig_cuda.c PROPERTIES
    COMPILE_DEFINITIONS CUDA_STANDIN="${CMAKE_BINARY_DIR}/tests/libcuda_standin.so")
  add_dependencies(test_device_support cuda_standin)
endif()

# LLVM, which PoCL compiles kernels with, keeps memory, and gives threads signal stacks, which AddressSanitizer unmaps.
set(for_llvm "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/plugins/device/lsan.supp;\
ASAN_OPTIONS=allocator_may_return_null=1:use_sigaltstack=0")

foreach(name driver driver_order driver_faults driver_libraries)
  target_link_libraries(test.plugins.device.${name} PRIVATE test_device_support)
  set_tests_properties(plugins.device.${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no driver")
  set_property(TEST plugins.device.${name} APPEND PROPERTY ENVIRONMENT "${for_llvm}")
endforeach()

# Kernels as OpenCL C, also those that a processor's OpenCL never builds.
find_program(ONYX_PYTHON3 python3)
find_program(ONYX_CLANG clang)
if(ONYX_PYTHON3 AND ONYX_CLANG)
  add_test(NAME plugins.device.check_opencl
    COMMAND ${ONYX_PYTHON3} -B tests/plugins/device/check_opencl.py ${ONYX_CLANG} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
else()
  add_test(NAME plugins.device.check_opencl COMMAND ${CMAKE_COMMAND} -E echo "skipped: there is no clang or no python3")
endif()
set_tests_properties(plugins.device.check_opencl PROPERTIES TIMEOUT 300 SKIP_REGULAR_EXPRESSION "^skipped")
# The oldest and the newest architecture of them.
if(ONYX_PYTHON3)
  add_test(NAME plugins.device.check_nvrtc COMMAND ${ONYX_PYTHON3} -B tests/plugins/device/check_nvrtc.py --arch 75 --arch 120
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
else()
  add_test(NAME plugins.device.check_nvrtc COMMAND ${CMAKE_COMMAND} -E echo "skipped: there is no python3")
endif()
set_tests_properties(plugins.device.check_nvrtc PROPERTIES TIMEOUT 1200 SKIP_REGULAR_EXPRESSION "^skipped")

# What holds for all providers.
if(TARGET onyx_opencl)
  foreach(part RANGE 5) # each new env compiles its kernels: minutes, and far longer under the sanitizers
    onyx_add_test(plugins.opencl.cts.${part} test.cts.suite
      "CTS_PROVIDER_LIB=$<TARGET_FILE:onyx_opencl>;CTS_TOLERANCE=1e-5;CTS_PART=${part}/6;${for_llvm}")
  endforeach()
  add_dependencies(test.cts.suite onyx_opencl)
endif()
if(TARGET onyx_cuda)
  set(standin ${CMAKE_BINARY_DIR}/tests/libcuda_standin.so)
  set(on_standin "CTS_PROVIDER_LIB=$<TARGET_FILE:onyx_cuda>;\
ONYX_CUDA_LIBRARY=${standin};ONYX_NVRTC_LIBRARY=${standin};ONYX_CUBLASLT_LIBRARY=${standin};ONYX_CUDNN_LIBRARY=${standin};\
ONYX_KERNEL_CACHE=none")
  onyx_add_test(plugins.cuda.cts test.cts.suite "${on_standin};CTS_TOLERANCE=1e-5")
  onyx_add_test(plugins.cuda.random_graphs test.cts.random_graphs "${on_standin}")
  add_dependencies(test.cts.suite onyx_cuda cuda_standin)
  add_dependencies(test.cts.random_graphs onyx_cuda cuda_standin)
endif()

# The core above a driver without functions.
add_library(test_device_core STATIC ${device_core} ${device_texts} ${onyx_plugin_reason} tests/plugins/device/core/fake_driver.c)
target_include_directories(test_device_core PUBLIC tests ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(test_device_core PUBLIC test_support)
foreach(name kernel_cache lifetimes share tail)
  target_link_libraries(test.plugins.device.core.${name} PRIVATE test_device_core)
endforeach()

# A session on the stand-in, where everything fails once.
if(TARGET onyx_cuda)
  foreach(name provider_faults shapes transformers operators)
    target_compile_definitions(test.plugins.device.${name} PRIVATE GPU_PLUGIN="$<TARGET_FILE:onyx_cuda>"
      CUDA_STANDIN="${standin}")
    add_dependencies(test.plugins.device.${name} onyx_cuda cuda_standin)
  endforeach()
  if(ONYX_SANITIZE) # four minutes of a processor under AddressSanitizer, which others may share
    set_tests_properties(plugins.device.provider_faults PROPERTIES TIMEOUT 1800)
  endif()
endif()

# Values on the devices of both, and who counts what is copied. OpenCL's counter stands before OpenCL in these programs.
if(TARGET onyx_opencl)
  add_library(opencl_counts SHARED tests/plugins/device/opencl_counts.c)
  set_target_properties(opencl_counts PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_options(opencl_counts PRIVATE LINKER:--no-as-needed) # whose functions it asks for by name
  target_link_libraries(opencl_counts PRIVATE onyx_options PkgConfig::ONYX_OPENCL ${CMAKE_DL_LIBS})
endif()
foreach(test test.plugins.device.binding test.ort.ort_devices)
  if(TARGET onyx_opencl)
    target_link_options(${test} PRIVATE LINKER:--no-as-needed)
    target_link_libraries(${test} PRIVATE opencl_counts)
    target_compile_definitions(${test} PRIVATE OPENCL_PLUGIN="$<TARGET_FILE:onyx_opencl>"
      OPENCL_COUNTS="$<TARGET_FILE:opencl_counts>")
    add_dependencies(${test} onyx_opencl)
    string(REPLACE "test." "" name ${test})
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "${for_llvm}")
  endif()
  if(TARGET onyx_cuda)
    target_compile_definitions(${test} PRIVATE CUDA_PLUGIN="$<TARGET_FILE:onyx_cuda>" CUDA_STANDIN="${standin}")
    add_dependencies(${test} onyx_cuda cuda_standin)
  endif()
endforeach()
