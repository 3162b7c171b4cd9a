# fmt: error texts. OpenSSL libcrypto: SHA-256 of the files of a program.
find_package(fmt REQUIRED)
target_link_libraries(${TARGET} ${scope} fmt::fmt OpenSSL::Crypto)
