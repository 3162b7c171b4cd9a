pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
target_link_libraries(${TARGET} ${scope} PkgConfig::LIBZIP)
