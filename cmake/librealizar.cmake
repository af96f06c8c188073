# librealizar: all rooms up to api, and the server's dialects, in one shared library, and the files that `cmake
# --install` installs. Programs that link it see the public API; bin/realizar, which is always from the same build, uses
# the rooms directly, under a separate symbol version. The tree is relocatable: bin/realizar, lib/librealizar.so,
# include/realizar/, share/realizar/models/.

add_library(librealizar SHARED $<TARGET_OBJECTS:rz_api> $<TARGET_OBJECTS:rz_dialects>)
target_link_libraries(librealizar PRIVATE rz_dialects rz_api)
# Calls within the library are bound at link time, as if only the API were exported.
target_link_options(librealizar PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/librealizar.map -Wl,-Bsymbolic)
set_target_properties(librealizar PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/librealizar.map)
set_target_properties(librealizar PROPERTIES OUTPUT_NAME realizar VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME realizar
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
target_include_directories(librealizar INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(librealizar INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_compile_features(librealizar INTERFACE cxx_std_20)
add_library(realizar::realizar ALIAS librealizar)

# Packages contain the libraries that program and library need in lib/realizar. A runpath, the newer kind, would not
# apply to the libraries that these need.
target_link_options(realizar PRIVATE -Wl,--disable-new-dtags)
target_link_options(librealizar PRIVATE -Wl,--disable-new-dtags)
set_target_properties(realizar PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/realizar")
set_target_properties(librealizar PROPERTIES INSTALL_RPATH "$ORIGIN/realizar")
# Otherwise CMake reserves space for it with colons, each of which means the current folder.
set_target_properties(realizar librealizar PROPERTIES BUILD_WITH_INSTALL_RPATH ON)

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/realizar-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/realizar.pc.in ${PROJECT_BINARY_DIR}/realizar.pc @ONLY)

install(TARGETS realizar RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Under its other name the program accepts the command line of llama.cpp's llama-server.
install(CODE "file(CREATE_LINK realizar \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/realizar-server\" SYMBOLIC)")
install(TARGETS librealizar EXPORT realizar-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/realizar DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT realizar-targets FILE realizar-config.cmake NAMESPACE realizar::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/realizar)
install(FILES ${PROJECT_BINARY_DIR}/realizar-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/realizar)
install(FILES ${PROJECT_BINARY_DIR}/realizar.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY models/realizar-tiny DESTINATION ${CMAKE_INSTALL_DATADIR}/realizar/models)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES web/page/licenses.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party RENAME chat-page)
install(FILES docs/realizar.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/completions/realizar DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES docs/completions/_realizar DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES docs/completions/realizar.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
