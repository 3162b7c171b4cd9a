pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
target_link_libraries(${TARGET} ${scope} PkgConfig::LIBZIP)
# A few hundred instantiations that run once per process: optimising them doubles the time of the longest compilation.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/cli/cli.cc PROPERTIES COMPILE_OPTIONS -O0 SKIP_PRECOMPILE_HEADERS ON)
