# enums.h and tables.cc are generated from the instruction set tables.
set(isa_generated ${CMAKE_BINARY_DIR}/generated/isa)
file(GLOB isa_tables CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/isa/tables/*.tsv)
add_custom_command(
  OUTPUT ${isa_generated}/enums.h ${isa_generated}/tables.cc
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/gen_isa.py ${CMAKE_SOURCE_DIR}/src/isa/tables ${isa_generated}
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/gen_isa.py ${isa_tables}
  COMMENT "Generating the instruction set tables"
  VERBATIM)
target_sources(${TARGET} PRIVATE ${isa_generated}/enums.h ${isa_generated}/tables.cc)
target_include_directories(${TARGET} PUBLIC ${CMAKE_BINARY_DIR}/generated)
