# fairlead::sodium, for the library's own build and for those who use its package. By header and library, so that
# nothing but CMake is needed; pkg-config says where to look if it is there and knows.
if(NOT TARGET fairlead::sodium)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        pkg_check_modules(FL_PC_SODIUM QUIET libsodium)
    endif()
    find_path(FL_SODIUM_INCLUDE sodium.h HINTS ${FL_PC_SODIUM_INCLUDE_DIRS})
    find_library(FL_SODIUM_LIBRARY sodium HINTS ${FL_PC_SODIUM_LIBRARY_DIRS})
    if(NOT FL_SODIUM_INCLUDE OR NOT FL_SODIUM_LIBRARY)
        message(FATAL_ERROR "libsodium is missing (Debian: apt install libsodium-dev)")
    endif()
    add_library(fairlead::sodium UNKNOWN IMPORTED)
    set_target_properties(fairlead::sodium PROPERTIES
        IMPORTED_LOCATION ${FL_SODIUM_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${FL_SODIUM_INCLUDE})
endif()
