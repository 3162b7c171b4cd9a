# fmt: error texts. OpenSSL libcrypto: SHA-256 for the content-derived ids of a written xclbin.
find_package(fmt REQUIRED)
target_link_libraries(${TARGET} ${scope} fmt::fmt OpenSSL::Crypto)
