# Warnings, definitions, sanitizers: one interface target that every other target links.
find_package(Threads REQUIRED)
add_library(onyx_options INTERFACE)

# The task pool's back-end is one of src/task/backend_<name>.c; onyx_pool_backend() drops the others from a list.
set(ONYX_POOL_BACKEND own CACHE STRING "whose threads run loops: own, openmp or none")
set_property(CACHE ONYX_POOL_BACKEND PROPERTY STRINGS own openmp none)
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/src/task/backend_${ONYX_POOL_BACKEND}.c)
  message(FATAL_ERROR "ONYX_POOL_BACKEND is \"${ONYX_POOL_BACKEND}\": own, openmp or none")
endif()
function(onyx_pool_backend list)
  list(FILTER ${list} EXCLUDE REGEX "/src/task/backend_[a-z]+\\.c$")
  list(APPEND ${list} ${CMAKE_SOURCE_DIR}/src/task/backend_${ONYX_POOL_BACKEND}.c)
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()
set(ONYX_POOL_LIBS)   # for the linker
set(ONYX_POOL_PC_LIBS) # for pkg-config
if(ONYX_POOL_BACKEND STREQUAL openmp)
  find_package(OpenMP REQUIRED COMPONENTS C)
  separate_arguments(openmp_flags UNIX_COMMAND "${OpenMP_C_FLAGS}")
  set_source_files_properties(src/task/backend_openmp.c PROPERTIES COMPILE_OPTIONS "${openmp_flags}")
  set(ONYX_POOL_LIBS ${OpenMP_C_LIBRARIES})
  foreach(lib IN LISTS OpenMP_C_LIB_NAMES)
    string(APPEND ONYX_POOL_PC_LIBS " -l${lib}")
  endforeach()
endif()
target_compile_options(onyx_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wno-unknown-pragmas
  $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation> $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>
  -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/= -ffp-contract=off -fno-math-errno -fno-semantic-interposition)
target_compile_definitions(onyx_options INTERFACE _POSIX_C_SOURCE=200809L ${ONYX_ISA_DEFINES})
target_link_libraries(onyx_options INTERFACE m Threads::Threads ${CMAKE_DL_LIBS} ${ONYX_POOL_LIBS})
if(ONYX_WERROR)
  target_compile_options(onyx_options INTERFACE -Werror)
endif()
if(ONYX_SANITIZE MATCHES "undefined" AND NOT ONYX_SANITIZE MATCHES "float-cast-overflow")
  string(APPEND ONYX_SANITIZE ",float-cast-overflow") # clang has it in "undefined", gcc has not
endif()
if(ONYX_SANITIZE)
  target_compile_options(onyx_options INTERFACE -fsanitize=${ONYX_SANITIZE} -fno-omit-frame-pointer -g1
    -fno-sanitize-recover=all)
  target_link_options(onyx_options INTERFACE -fsanitize=${ONYX_SANITIZE})
endif()
