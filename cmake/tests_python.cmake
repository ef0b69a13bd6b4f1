# Tests in Python: JSON that a parser not of ours reads back.
find_program(PYTHON3 python3 REQUIRED)
add_test(NAME base.json_rows COMMAND ${PYTHON3} tests/base/json_rows.py $<TARGET_FILE:test.base.json>
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
set_tests_properties(base.json_rows PROPERTIES TIMEOUT 120)
