# A room is a folder of src/ with one library target, rz_<name>, and one test program, <name>_test, made from the
# *_test.cpp files next to the code. Rooms declare which others they use in DEPS; scripts/check-rooms checks includes
# against that.

set(RZ_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
# Compilers other than those of the checks may have more warnings, which must not prevent building.
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15))
  list(APPEND RZ_WARNINGS -Werror)
endif()
# Vectors of eight floats are passed only between functions of one file.
list(APPEND RZ_WARNINGS -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # -Wrestrict reports std::string's operator+ falsely in GCC 12 (GCC bug 105651).
  list(APPEND RZ_WARNINGS -Wno-restrict)
endif()

# For files that are written for AVX-512.
set(RZ_AVX512_FLAGS -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12's own intrinsics read a variable on purpose before it is set (GCC bug 105593).
  list(APPEND RZ_AVX512_FLAGS -Wno-uninitialized -Wno-maybe-uninitialized)
endif()

add_library(rz_options INTERFACE)
target_compile_options(rz_options INTERFACE ${RZ_WARNINGS})
# The floating-point order of sums is part of the product's contract: no implicit contraction.
target_compile_options(rz_options INTERFACE -ffp-contract=off)
# Failed checks name their file relative to the source's root, so that a program reveals nothing of the machine that
# built it.
target_compile_options(rz_options INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
target_include_directories(rz_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
if(REALIZAR_SANITIZE)
  target_compile_options(rz_options INTERFACE -fsanitize=${REALIZAR_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(rz_options INTERFACE -fsanitize=${REALIZAR_SANITIZE})
  if(REALIZAR_SANITIZE MATCHES "undefined")
    target_compile_options(rz_options INTERFACE -fno-sanitize-recover=all)
  endif()
endif()
if(REALIZAR_FUZZ)
  target_compile_options(rz_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
# All presets except debug compile 16 files of a room at once (release: 32), which takes 0.6 of the time, since headers
# cost as much as the rest. The files of a room then share one anonymous namespace: each name may appear only once in
# it, or its
# file is ALONE. To GCC, the anonymous namespace of such a file looks like a header's.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(rz_options INTERFACE -Wno-subobject-linkage)
endif()

# rz_group_by_folder(target source...): files of one folder below the current one are compiled together and with no
# others, so that a name appears only once in a folder.
function(rz_group_by_folder target)
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR} ${source})
    string(REGEX MATCH "^[^/]*/" folder ${path})
    string(MAKE_C_IDENTIFIER "${target}_${folder}" group)
    math(EXPR count "0${n_${group}} + 1")
    set(n_${group} ${count})
    math(EXPR batch "${count} / ${CMAKE_UNITY_BUILD_BATCH_SIZE}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# rz_room(name [RECURSE] [BY_FOLDER] [COLD] [EXCLUDE regex] [ALONE regex] [DEPS target...]): the room in the current
# source folder. BY_FOLDER: rz_group_by_folder.
# COLD: it contains no long loops, so that a release is optimized for size there, which takes a quarter less time to
# compile.
function(rz_room name)
  cmake_parse_arguments(ROOM "RECURSE;BY_FOLDER;COLD" "EXCLUDE;ALONE" "DEPS" ${ARGN})
  if(ROOM_RECURSE)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  else()
    file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  endif()
  if(ROOM_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${ROOM_EXCLUDE}")
  endif()
  if(ROOM_ALONE)
    set(alone ${sources})
    list(FILTER alone INCLUDE REGEX "${ROOM_ALONE}")
    set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_library(rz_${name} STATIC ${sources})
    target_link_libraries(rz_${name} PUBLIC rz_options ${ROOM_DEPS})
    if(CMAKE_UNITY_BUILD AND ROOM_BY_FOLDER)
      rz_group_by_folder(rz_${name} ${sources})
    endif()
    if(ROOM_COLD)
      target_compile_options(rz_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
    endif()
  else()
    add_library(rz_${name} INTERFACE)
    target_link_libraries(rz_${name} INTERFACE rz_options ${ROOM_DEPS})
  endif()
  if(REALIZAR_TESTS AND tests)
    rz_test(${name}_test ${tests} DEPS rz_${name})
    if(CMAKE_UNITY_BUILD AND ROOM_BY_FOLDER)
      rz_group_by_folder(${name}_test ${tests})
    endif()
  endif()
endfunction()

# rz_test(name sources... [WHOLE] DEPS target...): one GoogleTest program, its cases found by ctest; WHOLE: one case for
# ctest, for programs with hundreds of cases that are shorter than its start.
function(rz_test name)
  cmake_parse_arguments(TEST "WHOLE" "" "DEPS" ${ARGN})
  add_executable(${name} ${TEST_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${TEST_DEPS} rz_options GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE RZ_SOURCE_DIR="${PROJECT_SOURCE_DIR}" RZ_SHARED_DIR="${RZ_SHARED_DIR}")
  # The tested code is in libraries; the tests' own code need not be fast, but quick to compile.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(TEST_WHOLE)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600)
  else()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600)
  endif()
endfunction()

# rz_fuzz(name source DEPS target...): a libFuzzer program, or, without REALIZAR_FUZZ, a test that replays the seed
# corpus in tests/fuzz/corpus/<name>.
function(rz_fuzz name source)
  cmake_parse_arguments(FUZZ "" "" "DEPS" ${ARGN})
  set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  add_executable(${name}_fuzz ${source})
  target_link_libraries(${name}_fuzz PRIVATE ${FUZZ_DEPS} rz_options)
  if(REALIZAR_FUZZ)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name}_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
    add_test(NAME fuzz_corpus.${name} COMMAND ${name}_fuzz ${corpus})
  endif()
endfunction()
