# The Python packages (docs/python.md), laid out in python/ of the build folder as in a wheel: onyx with its extension
# module and the library, onnxruntime beside it. The sources are linked, not copied: edit and run. Needs Python.h of any
# CPython from 3.9 on; the module is for all of them.
find_program(PYTHON3 python3)
if(NOT ONYX_PYTHON_INCLUDE AND PYTHON3)
  execute_process(COMMAND ${PYTHON3} -c "import sysconfig; print(sysconfig.get_path('include'))"
    OUTPUT_VARIABLE ONYX_PYTHON_INCLUDE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT EXISTS "${ONYX_PYTHON_INCLUDE}/Python.h")
  message(NOTICE "the Python packages: left out, there is no Python.h (python3-dev; -DONYX_PYTHON_INCLUDE=FOLDER)")
  return()
endif()

set(python_root ${CMAKE_BINARY_DIR}/python)
file(GLOB python_module_sources CONFIGURE_DEPENDS python/src/*.c)
add_library(onyx_python MODULE ${python_module_sources})
target_include_directories(onyx_python PRIVATE include)
target_include_directories(onyx_python SYSTEM PRIVATE ${ONYX_PYTHON_INCLUDE})
target_compile_definitions(onyx_python PRIVATE Py_LIMITED_API=0x03090000)
# CPython's functions all take the same arguments, used or not, and types keep them as void *; of sources, so that these
# come last
set_source_files_properties(${python_module_sources} PROPERTIES COMPILE_OPTIONS
  "-Wno-unused-parameter;-Wno-missing-field-initializers;-Wno-pedantic")
target_link_libraries(onyx_python PRIVATE onyx_options ${CMAKE_DL_LIBS})
set_target_properties(onyx_python PROPERTIES PREFIX "" OUTPUT_NAME _onyx SUFFIX .abi3.so
  LIBRARY_OUTPUT_DIRECTORY ${python_root}/onyx)

# Who opens the C library in onnxruntime's folder gets onyx's: this one has nothing but the need for it.
get_target_property(ort_version onyx_ort VERSION)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/onnxruntime_alias.c CONTENT "typedef int onnxruntime_alias;\n")
add_library(onnxruntime_alias MODULE ${CMAKE_BINARY_DIR}/generated/onnxruntime_alias.c)
target_link_options(onnxruntime_alias PRIVATE LINKER:--no-as-needed)
target_link_libraries(onnxruntime_alias PRIVATE onyx_ort)
set_target_properties(onnxruntime_alias PROPERTIES PREFIX "" OUTPUT_NAME libonnxruntime.so SUFFIX .${ort_version}
  LIBRARY_OUTPUT_DIRECTORY ${python_root}/onnxruntime/capi
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../../onyx/lib")

file(GLOB_RECURSE python_files RELATIVE ${CMAKE_SOURCE_DIR}/python CONFIGURE_DEPENDS
  python/onyx/*.py python/onyx/*.pyi python/onyx/py.typed python/onnxruntime/*.py)
foreach(file IN LISTS python_files)
  get_filename_component(folder ${python_root}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/${file} ${python_root}/${file} SYMBOLIC)
endforeach()
file(MAKE_DIRECTORY ${python_root}/onyx/lib)
file(CREATE_LINK ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libonnxruntime.so.1 ${python_root}/onyx/lib/libonnxruntime.so.1 SYMBOLIC)
# Providers lie beside the library, where it finds them by name. One whose vendor's library is not on the user's machine
# says so when it is asked for.
set(python_providers)
foreach(provider cuda opencl xnnpack onednn)
  if(TARGET onyx_${provider})
    list(APPEND python_providers onyx_${provider})
    file(CREATE_LINK ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libonyx-${provider}.so ${python_root}/onyx/lib/libonyx-${provider}.so
      SYMBOLIC)
  endif()
endforeach()
add_custom_target(python_packages DEPENDS onyx_python onnxruntime_alias onyx_ort ${python_providers})
