# Warnings, definitions, sanitizers: one interface target that every other target links.
find_package(Threads REQUIRED)
add_library(onyx_options INTERFACE)
target_compile_options(onyx_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wno-unknown-pragmas
  $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation> $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>
  -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/= -ffp-contract=off -fno-math-errno -fno-semantic-interposition)
target_compile_definitions(onyx_options INTERFACE _POSIX_C_SOURCE=200809L ${ONYX_ISA_DEFINES})
target_link_libraries(onyx_options INTERFACE m Threads::Threads ${CMAKE_DL_LIBS})
if(ONYX_WERROR)
  target_compile_options(onyx_options INTERFACE -Werror)
endif()
if(ONYX_SANITIZE)
  target_compile_options(onyx_options INTERFACE -fsanitize=${ONYX_SANITIZE} -fno-omit-frame-pointer -g1
    -fno-sanitize-recover=all)
  target_link_options(onyx_options INTERFACE -fsanitize=${ONYX_SANITIZE})
endif()
