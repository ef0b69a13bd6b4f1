# Plug-ins: shared libraries that see the public headers and link against nothing of ours.
find_package(PkgConfig QUIET)

# A plug-in of |sources|, in lib/ and installed into lib/onyx/.
function(onyx_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_include_directories(${name} PRIVATE include)
  target_link_libraries(${name} PRIVATE onyx_options)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT ONYX_SANITIZE AND NOT ONYX_FUZZ) # whose run-time libraries come later
    target_link_options(${name} PRIVATE LINKER:-z,defs)
  endif()
endfunction()

# ImageDecoder. BMP and PNM need nothing; of the libraries each is used that is found: <FORMAT>;<module of pkg-config>.
onyx_add_plugin(onyx_image src/plugins/image/image_plugin.c src/plugins/image/bmp.c src/plugins/image/pnm.c)
set(onyx_image_formats)
set(onyx_image_without)
foreach(row "JPEG;libjpeg" "PNG;libpng" "WEBP;libwebp" "TIFF;libtiff-4>=4.5" "JPEG2000;libopenjp2>=2.5")
  list(GET row 0 format)
  list(GET row 1 module)
  string(TOLOWER ${format} stem)
  if(PKG_CONFIG_FOUND AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(ONYX_${format} QUIET IMPORTED_TARGET ${module})
  endif()
  if(ONYX_${format}_FOUND)
    target_sources(onyx_image PRIVATE src/plugins/image/${stem}.c)
    target_link_libraries(onyx_image PRIVATE PkgConfig::ONYX_${format})
    target_compile_definitions(onyx_image PRIVATE OX_IMAGE_${format}=image_read_${stem})
    list(APPEND onyx_image_formats ${format})
  else()
    target_compile_definitions(onyx_image PRIVATE OX_IMAGE_${format}=NULL)
    list(APPEND onyx_image_without "${module}")
  endif()
endforeach()
if(onyx_image_without)
  list(JOIN onyx_image_without ", " onyx_image_without)
  message(NOTICE "image plug-in: built without ${onyx_image_without}")
endif()

# Why a provider declines a node; part of each that has something to say.
set(onyx_plugin_reason src/plugins/reason/reason.c)
include(cmake/plugin_onednn.cmake)
include(cmake/plugin_device.cmake)

# Templates of plug-ins, in examples/. What their callbacks have no use for they leave alone.
foreach(example ops/custom_op rules/rule providers/kernels providers/compile)
  get_filename_component(name ${example} NAME)
  onyx_add_plugin(example_plugin_${name} examples/${example}.c)
  target_compile_options(example_plugin_${name} PRIVATE -Wno-unused-parameter)
  set_target_properties(example_plugin_${name} PROPERTIES OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
endforeach()
