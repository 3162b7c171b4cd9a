# The register table is generated from registers-array.tsv.
set(ARCH_TABLE ${CMAKE_BINARY_DIR}/generated/arch/register_table.inc)
add_custom_command(
  OUTPUT ${ARCH_TABLE}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/gen_arch.py
          ${CMAKE_SOURCE_DIR}/src/arch/registers-array.tsv ${ARCH_TABLE}
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/gen_arch.py ${CMAKE_SOURCE_DIR}/src/arch/registers-array.tsv
  COMMENT "Generating the register table")
target_sources(${TARGET} PRIVATE ${ARCH_TABLE})
target_include_directories(${TARGET} PRIVATE ${CMAKE_BINARY_DIR}/generated)
