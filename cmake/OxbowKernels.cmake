# Instruction-set units: src/kernels/isa/NAME*.cpp include the kernel bodies and are compiled with their own flags.
# Nothing else gets those flags, and these units include no header with shared inline functions.
set(isa_portable_flags "")
set(isa_avx2_flags -mavx2 -mfma -mf16c)
set(isa_avx512_flags -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns about the deliberately undefined operands inside its own AVX-512 intrinsics.
  list(APPEND isa_avx512_flags -Wno-maybe-uninitialized -Wno-uninitialized)
endif()
# Sanitizers multiply what the optimiser has to look at: with -O3 one of these units takes minutes.
set(isa_optimization -O3)
if(OXBOW_SANITIZE)
  set(isa_optimization -O1)
endif()
set(isa_units portable)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND isa_units avx2 avx512)
endif()
foreach(isa ${isa_units})
  set(sources ${CMAKE_SOURCE_DIR}/src/kernels/isa/${isa}.cpp ${CMAKE_SOURCE_DIR}/src/kernels/isa/${isa}_products.cpp
      ${CMAKE_SOURCE_DIR}/src/kernels/isa/${isa}_peaks.cpp)
  target_sources(oxbow_kernels PRIVATE ${sources})
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${isa_${isa}_flags};${isa_optimization}")
  string(TOUPPER ${isa} upper)
  target_compile_definitions(oxbow_kernels PRIVATE OXBOW_HAS_${upper})
endforeach()
