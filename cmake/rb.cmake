# Build helpers: one rb_library() per folder, flags that touch only our own targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

option(RB_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
set(RB_SANITIZE "" CACHE STRING "Value for -fsanitize=, e.g. address,undefined; empty for none")

find_program(RB_CCACHE ccache)
if(RB_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${RB_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RB_CCACHE})
endif()

find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
include(GoogleTest)

# Warnings for everything that is ours.
add_library(rb_warnings INTERFACE)
target_compile_options(rb_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Werror)
# The kernel's own headers end in zero-length arrays; Clang warns where a struct of ours holds one.
target_compile_options(rb_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-zero-length-array>)
target_include_directories(rb_warnings INTERFACE ${PROJECT_SOURCE_DIR})

# Sanitizers for all but the shim's shared object: it is loaded into programs that have none.
add_library(rb_flags INTERFACE)
target_link_libraries(rb_flags INTERFACE rb_warnings)
if(RB_SANITIZE)
  target_compile_options(rb_flags INTERFACE -fsanitize=${RB_SANITIZE} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=all)
  target_link_options(rb_flags INTERFACE -fsanitize=${RB_SANITIZE})
  if(RB_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(rb_flags INTERFACE -Wno-tsan)  # Asio's fences: GCC 12 only warns
  endif()
endif()

# rb_test(name SRCS … DEPS … [LABEL unit] [TIMEOUT 30]): a GoogleTest program, one ctest entry a test.
function(rb_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SRCS;DEPS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 30)
  endif()
  add_executable(${name} ${arg_SRCS})
  target_link_libraries(${name} PRIVATE rb_flags ${arg_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()

# rb_library(rb::agent_lease SRCS … DEPS … PRIVATE_DEPS … TESTS …): one static library a folder.
# TESTS are the x_test.cc files beside the sources; they become <target>_test.
function(rb_library alias)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS;PRIVATE_DEPS;TESTS;TEST_DEPS" ${ARGN})
  string(REPLACE "::" "_" name ${alias})
  if(arg_SRCS)
    add_library(${name} STATIC ${arg_SRCS})
    target_link_libraries(${name} PUBLIC rb_flags ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE rb_flags ${arg_DEPS})
  endif()
  add_library(${alias} ALIAS ${name})
  if(arg_TESTS)
    rb_test(${name}_test SRCS ${arg_TESTS} DEPS ${alias} ${arg_PRIVATE_DEPS} ${arg_TEST_DEPS})
  endif()
endfunction()
