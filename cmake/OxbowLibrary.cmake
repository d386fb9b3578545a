# The library as users get it: liboxbow.a and liboxbow.so with the C interface of include/oxbow/oxbow.h, a CMake package
# (find_package(oxbow), target oxbow::oxbow) and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What a program that links the static library needs besides: names that a linker finds, no packages to look for.
set(oxbow_static_needs fmt pcre2-8 utf8proc xxhash zstd hiredis stdc++ m pthread)

target_include_directories(oxbow_c_api PUBLIC ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(oxbow_c_api PRIVATE OXBOW_VERSION="${PROJECT_VERSION}")

set(modules base gguf quant kernels text store memory model engine c_api)
list(TRANSFORM modules REPLACE "(.+)" "$<TARGET_OBJECTS:oxbow_\\1>" OUTPUT_VARIABLE objects)
add_library(oxbow_static STATIC ${objects})
set_target_properties(oxbow_static PROPERTIES OUTPUT_NAME oxbow EXPORT_NAME oxbow_static LINKER_LANGUAGE CXX)
target_link_libraries(oxbow_static INTERFACE ${oxbow_static_needs})
set(libraries oxbow_static)

if(OXBOW_SHARED)
  add_library(oxbow_shared SHARED $<TARGET_OBJECTS:oxbow_c_api>)
  # While the major version is 0, a new minor version may change the interface: both are in the SONAME.
  set_target_properties(oxbow_shared PROPERTIES OUTPUT_NAME oxbow EXPORT_NAME oxbow LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/liboxbow.map)
  target_link_libraries(oxbow_shared PRIVATE oxbow_engine)
  target_link_options(oxbow_shared PRIVATE -Wl,--no-undefined -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/liboxbow.map)
  list(APPEND libraries oxbow_shared)
endif()
foreach(library ${libraries})
  target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/oxbow)
install(TARGETS ${libraries} EXPORT oxbow_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_SOURCE_DIR}/include/oxbow/oxbow.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/oxbow)
install(EXPORT oxbow_targets NAMESPACE oxbow:: DESTINATION ${package_directory})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/oxbow-config.cmake.in
  ${CMAKE_BINARY_DIR}/generated/oxbow-config.cmake INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/oxbow-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/oxbow-config.cmake ${CMAKE_BINARY_DIR}/generated/oxbow-config-version.cmake
  DESTINATION ${package_directory})

# oxbow.pc finds its prefix from its own place, so that an installed tree can be moved.
file(RELATIVE_PATH pkgconfig_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
list(TRANSFORM oxbow_static_needs PREPEND "-l" OUTPUT_VARIABLE pkgconfig_private)
list(JOIN pkgconfig_private " " pkgconfig_private)
configure_file(${CMAKE_SOURCE_DIR}/cmake/oxbow.pc.in ${CMAKE_BINARY_DIR}/generated/oxbow.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/generated/oxbow.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
