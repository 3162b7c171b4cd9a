# Normalisation (NFC, NFD) and lower-casing come from utf8proc.
find_library(UTF8PROC_LIBRARY utf8proc REQUIRED)
target_link_libraries(${TARGET} ${scope} ${UTF8PROC_LIBRARY})
