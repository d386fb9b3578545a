# One static library per folder of src/, with the flags that every part of Oxbow shares.

add_library(oxbow_flags INTERFACE)
# -ffp-contract=off: a multiply and an add become one operation only where the code says so (docs/tour.md, "Same bits").
target_compile_options(oxbow_flags INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers
                       -Wno-maybe-uninitialized -ffp-contract=off)
target_include_directories(oxbow_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(OXBOW_WERROR)
  target_compile_options(oxbow_flags INTERFACE -Werror)
endif()
if(OXBOW_CHECKED)
  target_compile_definitions(oxbow_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(OXBOW_SANITIZE)
  target_compile_options(oxbow_flags INTERFACE -fsanitize=${OXBOW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(oxbow_flags INTERFACE -fsanitize=${OXBOW_SANITIZE})
endif()
if(OXBOW_FUZZ)
  target_compile_options(oxbow_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# oxbow_module(NAME [DEPENDS modules...] [LIBRARIES targets...]): library oxbow_NAME from src/NAME/*.cpp.
function(oxbow_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(TRANSFORM ARG_DEPENDS PREPEND oxbow_)
  if(sources)
    add_library(oxbow_${name} STATIC ${sources})
    target_link_libraries(oxbow_${name} PUBLIC oxbow_flags ${ARG_DEPENDS} ${ARG_LIBRARIES})
  else()
    add_library(oxbow_${name} INTERFACE)
    target_link_libraries(oxbow_${name} INTERFACE oxbow_flags ${ARG_DEPENDS} ${ARG_LIBRARIES})
  endif()
endfunction()
