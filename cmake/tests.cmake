# One binary per tests/<dir>/<file>_test.c, on cmocka, run by ctest from the source root. Those of the task pool need no
# more than its own library; they run a second time with the pool's policy off and, where they say so
# (support/pool_backend.h), on an executor. A build of that library alone has a stand-in for cmocka.
if(ONYX_TASK_ONLY)
  set(test_root tests/task)
  if(MINGW) # the tests' own threads are POSIX, and nothing has to be found at run time
    add_link_options(-static)
  endif()
else()
  set(test_root tests)
  find_library(CMOCKA_LIBRARY cmocka REQUIRED)
  file(GLOB support_sources CONFIGURE_DEPENDS tests/support/*.c tests/kern/emulated/*.c)
  onyx_isa_flags(${support_sources})
  # tests of the CPU provider's rules and kernels reach for them directly, wherever they live
  if(ONYX_CPU STREQUAL plugin)
    list(APPEND support_sources $<TARGET_OBJECTS:onyx_cpu> $<TARGET_OBJECTS:onyx_ops>)
  endif()
  add_library(test_support STATIC ${support_sources})
  target_include_directories(test_support PUBLIC tests src include ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(test_support PUBLIC onyx_options onyx_static ${CMOCKA_LIBRARY})
endif()
add_library(task_test_support STATIC tests/support/pool_backend.c)
target_include_directories(task_test_support PUBLIC tests src include
  $<$<BOOL:${ONYX_TASK_ONLY}>:${CMAKE_SOURCE_DIR}/tests/support/standin>)
target_link_libraries(task_test_support PUBLIC onyx_options onyx_task_static ${CMOCKA_LIBRARY} $<$<BOOL:${MINGW}>:pthread>)
add_custom_target(task_tests)
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS ${test_root}/*_test.c)

function(onyx_add_test name command)
  add_test(NAME ${name} COMMAND ${command} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  # tests make allocations fail on purpose, also by asking for absurd sizes
  set_tests_properties(${name} PROPERTIES TIMEOUT 600
    ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1;TSAN_OPTIONS=allocator_may_return_null=1;${ARGN}")
endfunction()

# A test of the task pool, a second time with its policy off.
function(onyx_add_task_test name command)
  set(names ${name})
  onyx_add_test(${name} ${command} ${ARGN})
  if(NOT EMSCRIPTEN) # which sees no environment
    onyx_add_test(${name}.policy_off ${command} ONYX_POOL_POLICY=off ${ARGN})
    list(APPEND names ${name}.policy_off)
  endif()
  if(ONYX_POOL_BACKEND STREQUAL none AND name MATCHES "nanothread|exit")
    set_tests_properties(${names} PROPERTIES DISABLED ON) # pools of a given size are what they are about
  endif()
endfunction()

if(TARGET onyx_task_shared)
  set(task_library_variable ONYX_TASK_LIBRARY=$<TARGET_FILE:onyx_task_shared>)
  add_dependencies(task_tests onyx_task_shared)
endif()
# A library of execution providers, as vendors make them, for the tests of the ABI.
if(TARGET onyx_ort)
  file(GLOB fake_ep_sources CONFIGURE_DEPENDS tests/ort/plugin/fake_*.c)
  add_library(ort_fake_ep MODULE ${fake_ep_sources})
  set_target_properties(ort_fake_ep PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(ort_fake_ep PRIVATE include)
  target_link_libraries(ort_fake_ep PRIVATE onyx_options)
endif()
foreach(source IN LISTS test_sources)
  file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/tests ${source})
  string(REPLACE "/" "." name ${name})
  string(REGEX REPLACE "_test\\.c$" "" name ${name})
  add_executable(test.${name} ${source})
  set_target_properties(test.${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(test.${name} PRIVATE tests src ${CMAKE_BINARY_DIR}/generated)
  if(name MATCHES "^ort\\.") # clients of the ABI: they see its header and the library that ORT_LIB names
    if(TARGET onyx_ort)
      onyx_add_test(${name} test.${name} "ORT_LIB=$<TARGET_FILE:onyx_ort>;ORT_FAKE_EP=$<TARGET_FILE:ort_fake_ep>")
      target_link_libraries(test.${name} PRIVATE onyx_options ${CMOCKA_LIBRARY} ${CMAKE_DL_LIBS} Threads::Threads)
      target_include_directories(test.${name} PRIVATE include)
      add_dependencies(test.${name} onyx_ort ort_fake_ep)
      if(name STREQUAL "ort.plugin.ort_hardware") # no client: it says where to look
        target_link_libraries(test.${name} PRIVATE onyx_ort_objects onyx_static)
      endif()
    else()
      set_target_properties(test.${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    continue()
  endif()
  if(NOT name MATCHES "^task\\.")
    onyx_add_test(${name} test.${name} ${task_library_variable})
    target_link_libraries(test.${name} PRIVATE test_support)
    continue()
  endif()
  onyx_add_task_test(${name} test.${name} ${task_library_variable})
  target_link_libraries(test.${name} PRIVATE task_test_support)
  add_dependencies(task_tests test.${name})
  file(STRINGS ${source} on_executor REGEX "support/pool_backend.h" LIMIT_COUNT 1)
  if(on_executor AND NOT EMSCRIPTEN) # which sees no environment
    onyx_add_test(${name}.executor test.${name} ONYX_TEST_EXECUTOR=1)
  endif()
endforeach()

# Field numbers of the ONNX format and type variables of operators beside those of the onnx package; skipped without it.
# -DONYX_PYTHON3=... picks a python.
if(NOT ONYX_TASK_ONLY)
  find_program(ONYX_PYTHON3 python3)
  if(ONYX_PYTHON3)
    add_test(NAME onnx.fields COMMAND ${ONYX_PYTHON3} tests/onnx/check_fields.py src/onnx/proto/onnx_fields.h
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    add_test(NAME ops.arithmetic COMMAND ${ONYX_PYTHON3} tools/check_arithmetic.py WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(ops.arithmetic PROPERTIES TIMEOUT 60)
    add_test(NAME ops.vars COMMAND ${ONYX_PYTHON3} tests/ops/check_vars.py $<TARGET_FILE:test.ops.builtin>
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  else()
    foreach(name onnx.fields ops.vars)
      add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: there is no python3")
    endforeach()
  endif()
  set_tests_properties(onnx.fields ops.vars PROPERTIES TIMEOUT 60 SKIP_REGULAR_EXPRESSION "^skipped")
endif()

# The shared library, through its public interface alone, as a program of somebody else's would use it.
if(ONYX_TASK_ONLY AND TARGET onyx_task_shared)
  add_executable(test.task.shared tests/task/nanothread_c_test.c)
  set_target_properties(test.task.shared PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin) # next to the DLL
  target_include_directories(test.task.shared PRIVATE tests src ${CMAKE_SOURCE_DIR}/tests/support/standin)
  target_link_libraries(test.task.shared PRIVATE onyx_options onyx_task_shared)
  onyx_add_test(task.shared test.task.shared)
endif()

# Long runs: `make stress`; a short one here.
if(NOT CMAKE_CROSSCOMPILING)
  add_executable(stress.pool tests/stress/pool_stress.c)
  set_target_properties(stress.pool PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(stress.pool PRIVATE tests)
  target_link_libraries(stress.pool PRIVATE onyx_options onyx_task_static)
  add_dependencies(task_tests stress.pool)
  onyx_add_test(stress.pool stress.pool STRESS_TASKS=200000)
endif()

# Models that lie: `make hostile`; a short campaign here.
if(NOT ONYX_TASK_ONLY)
  file(GLOB hostile_sources CONFIGURE_DEPENDS tests/hostile/*.c)
  add_executable(hostile ${hostile_sources})
  set_target_properties(hostile PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(hostile PRIVATE test_support)
  add_test(NAME hostile.honest COMMAND hostile --honest tests/hostile/seeds.txt WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  add_test(NAME hostile.campaign COMMAND hostile --count 10000 tests/hostile/seeds.txt WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(hostile.honest hostile.campaign PROPERTIES TIMEOUT 600
    ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1;TSAN_OPTIONS=allocator_may_return_null=1")
endif()

# Headers for C++: tests/*_test.cpp, plain programs that return 0, as C++11 and C++17; skipped without a C++ compiler.
file(GLOB_RECURSE cxx_test_sources CONFIGURE_DEPENDS ${test_root}/*_test.cpp)
include(CheckLanguage)
check_language(CXX)
if(cxx_test_sources AND CMAKE_CXX_COMPILER)
  enable_language(CXX)
  foreach(source IN LISTS cxx_test_sources)
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/tests ${source})
    string(REPLACE "/" "." name ${name})
    string(REGEX REPLACE "_test\\.cpp$" "" name ${name})
    foreach(standard 11 17)
      add_executable(test.${name}${standard} ${source})
      set_target_properties(test.${name}${standard} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
        CXX_STANDARD ${standard} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
      target_compile_options(test.${name}${standard} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
      if(name MATCHES "^task\\.")
        onyx_add_task_test(${name}${standard} test.${name}${standard})
        target_link_libraries(test.${name}${standard} PRIVATE onyx_task_static)
        add_dependencies(task_tests test.${name}${standard})
      else()
        onyx_add_test(${name}${standard} test.${name}${standard})
        target_link_libraries(test.${name}${standard} PRIVATE onyx_static)
      endif()
      if(ONYX_SANITIZE)
        target_compile_options(test.${name}${standard} PRIVATE -fsanitize=${ONYX_SANITIZE})
        target_link_options(test.${name}${standard} PRIVATE -fsanitize=${ONYX_SANITIZE})
      endif()
    endforeach()
  endforeach()
endif()

# The pool's examples; the last line each prints.
foreach(row "task_loops:961 is in there" "task_parents:two frames" "task_cpp:thrown in a task, caught by whoever waits")
  string(REGEX MATCH "^[a-z_]*" name ${row})
  string(REGEX REPLACE "^[a-z_]*:" "" line ${row})
  if(TARGET example.${name})
    add_test(NAME example.${name} COMMAND example.${name})
    set_tests_properties(example.${name} PROPERTIES TIMEOUT 60 PASS_REGULAR_EXPRESSION "${line}\n$")
  endif()
endforeach()

# What is installed, as a stranger finds it.
if(NOT ONYX_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME install.pkg_config COMMAND sh tests/install/run.sh ${CMAKE_BINARY_DIR} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(install.pkg_config PROPERTIES TIMEOUT 300)
endif()

if(NOT ONYX_TASK_ONLY)
  include(cmake/tests_python.cmake)
  include(cmake/tests_plugins.cmake)
  if(TARGET onyx_ort)
    include(cmake/tests_ort.cmake)
  endif()
endif()
