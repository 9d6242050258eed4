# SPDX-License-Identifier: MIT
# Run by `cmake --install` before it installs anything. Adds to RECORD the folders that don't exist yet and that the
# installation makes: each of FOLDERS (absolute, or below the prefix) and those above it. `uninstall` removes them.
set(folders "")
if(EXISTS "${RECORD}")
  file(STRINGS "${RECORD}" folders)
endif()
foreach(folder IN LISTS FOLDERS)
  cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE)
  set(folder "$ENV{DESTDIR}${folder}")
  while(NOT EXISTS "${folder}")
    list(APPEND folders "${folder}")
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
endforeach()
list(REMOVE_DUPLICATES folders)
list(JOIN folders "\n" folders)
file(WRITE "${RECORD}" "${folders}\n")
