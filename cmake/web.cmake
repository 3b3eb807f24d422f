# The page in the program: uPlot from npm and our own files, as bytes in one C file. The built program needs no node.
#
# Sets FL_WEB_SOURCE to that C file, or leaves it empty where libwebsockets or npm are missing; then `fairlead demo` says so.
set(FL_WEB_SOURCE "" CACHE INTERNAL "the page as C")
find_package(PkgConfig)
if(PKG_CONFIG_FOUND)
    pkg_check_modules(WEBSOCKETS IMPORTED_TARGET libwebsockets)
endif()
find_program(FL_NPM npm)
if(NOT WEBSOCKETS_FOUND OR NOT FL_NPM)
    message(STATUS "libwebsockets-dev or npm is missing: building without `fairlead demo`")
    return()
endif()

set(web ${PROJECT_SOURCE_DIR}/web)
set(web_build ${PROJECT_BINARY_DIR}/web)
set(uplot ${web_build}/node_modules/uplot/dist)
add_custom_command(OUTPUT ${uplot}/uPlot.iife.min.js ${uplot}/uPlot.min.css
    COMMAND ${CMAKE_COMMAND} -E copy ${web}/package.json ${web}/package-lock.json ${web_build}
    COMMAND ${FL_NPM} ci --silent --ignore-scripts --no-audit --no-fund --prefer-offline
    COMMAND ${CMAKE_COMMAND} -E touch ${uplot}/uPlot.iife.min.js ${uplot}/uPlot.min.css
    DEPENDS ${web}/package.json ${web}/package-lock.json
    WORKING_DIRECTORY ${web_build}
    COMMENT "Fetching uPlot"
    VERBATIM)
file(MAKE_DIRECTORY ${web_build})

file(GLOB web_files CONFIGURE_DEPENDS ${web}/*.html ${web}/*.css ${web}/*.js ${web}/*.svg)
list(APPEND web_files ${uplot}/uPlot.iife.min.js ${uplot}/uPlot.min.css)
set(FL_WEB_SOURCE ${web_build}/web_files.c CACHE INTERNAL "the page as C")
add_custom_command(OUTPUT ${FL_WEB_SOURCE}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${web_files}" -DOUT=${FL_WEB_SOURCE} -P ${PROJECT_SOURCE_DIR}/cmake/web_embed.cmake
    DEPENDS ${web_files} ${PROJECT_SOURCE_DIR}/cmake/web_embed.cmake
    COMMENT "Putting the page into the program"
    VERBATIM)
