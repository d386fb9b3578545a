# xxhash for base (base/hash.cpp), zstd and hiredis for the stores (store/compression.cpp, store/redis_connection.cpp).
find_package(PkgConfig REQUIRED)
pkg_check_modules(OXBOW_XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(OXBOW_ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(OXBOW_HIREDIS REQUIRED IMPORTED_TARGET hiredis)
target_link_libraries(oxbow_base PRIVATE PkgConfig::OXBOW_XXHASH)
target_link_libraries(oxbow_store PRIVATE PkgConfig::OXBOW_ZSTD PkgConfig::OXBOW_HIREDIS)
