# One libFuzzer binary per tests/fuzz/<name>_fuzz.c, in bin/fuzz/: -DCMAKE_C_COMPILER=clang -DONYX_FUZZ=ON.
# AddressSanitizer and UndefinedBehaviorSanitizer are on for everything, but for NULL + 0, which empty tensors make.
if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "ONYX_FUZZ needs clang: -DCMAKE_C_COMPILER=clang")
endif()
set(fuzz_flags -fsanitize=address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
target_compile_options(onyx_options INTERFACE ${fuzz_flags})
target_link_options(onyx_options INTERFACE ${fuzz_flags})
target_compile_options(onyx_core PRIVATE -fsanitize=fuzzer-no-link)
target_link_options(onyx_shared PRIVATE ${fuzz_flags})
# Unrolled vector code takes minutes to compile with every check in it, and hours of fuzzing never wait for it.
file(GLOB_RECURSE fuzz_kernels src/kern/*.c)
set_property(SOURCE ${fuzz_kernels} APPEND PROPERTY COMPILE_OPTIONS -O1 -fno-sanitize=undefined)
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*_fuzz.c)
add_custom_target(fuzzers) # the only thing to build: other programs do not link the sanitizers
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/fuzz)
  target_include_directories(${name} PRIVATE tests src include)
  target_link_libraries(${name} PRIVATE onyx_options onyx_static)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
endforeach()
