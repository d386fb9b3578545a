# Architectures: the file name in src/model/architectures is the registration. Mixers and feed-forwards are part of the
# model library too.
file(GLOB model_parts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/model/mixers/*.cpp
     ${CMAKE_SOURCE_DIR}/src/model/feed_forwards/*.cpp)
file(GLOB architecture_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/model/architectures/*.cpp)
set(OXBOW_ARCHITECTURE_DECLARATIONS "")
set(OXBOW_ARCHITECTURE_ENTRIES "")
foreach(file ${architecture_files})
  get_filename_component(name ${file} NAME_WE)
  string(APPEND OXBOW_ARCHITECTURE_DECLARATIONS
    "Result<Network> build_${name}(Hyperparameters& hyperparameters, WeightLoader& weights);\n"
    "std::vector<TinyModel> tiny_models_${name}();\n")
  string(APPEND OXBOW_ARCHITECTURE_ENTRIES "    {\"${name}\", build_${name}, tiny_models_${name}},\n")
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/src/model/architectures.cpp.in ${CMAKE_BINARY_DIR}/generated/architectures.cpp @ONLY)
target_sources(oxbow_model PRIVATE ${model_parts} ${architecture_files} ${CMAKE_BINARY_DIR}/generated/architectures.cpp)
