# SPDX-License-Identifier: MIT
# Debian packages, by CPack: `./dev package` makes them. Each component of the installation is a package:
#
#   program      atled           the program, its manual page, completions, documentation and files for editors
#   compiler     atled-compiler  the process in which GCC runs, which the library and the program start
#   library      libatledN       the shared library; N is its SOVERSION
#   development  libatled-dev    header, static library, pkg-config and CMake files, examples
#
# The compiler isn't in libatledN, since its path has no SONAME in it (Debian policy 8.2). Another package is another component:
# install rules, and a block of variables below. What policy asks for beside the files is made by cmake/debian/stage.cmake.
set(ATLED_MAINTAINER "The Atled authors <atled@example.org>" CACHE STRING "The maintainer of packages: name and address")
get_target_property(soversion atled_shared SOVERSION)
set(control ${PROJECT_BINARY_DIR}/debian)
set(release 0upstream1) # less than the first of a distribution, 1
set(exactly "(= ${PROJECT_VERSION}-${release})")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME atled)
set(CPACK_PACKAGE_CONTACT "${ATLED_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_COMPONENTS_ALL program compiler library development)
if(ATLED_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/stage.cmake)
set(CPACK_ATLED_CONTROL ${control})
set(CPACK_ATLED_SOURCE ${PROJECT_SOURCE_DIR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(NOT CPACK_DEBIAN_COMPRESSION_TYPE)
  set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_DEBIAN_PACKAGE_SOURCE atled)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(about "Atled is a small ML for programs whose derivatives are needed. An ordinary
function has a gradient that is a function like any other, compiled to machine
code while the program runs.
.")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME atled)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION interpreters)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "atled-compiler ${exactly}, libsleef3, libreadline8 | libreadline8t64, libjansson4")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "small ML with native gradients
${about}
This package has the program that runs scripts, and the interactive prompt.")

# GCC is loaded by name, and `as` and `ld` are started by name, so the tools that look for dependencies don't see them.
set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME atled-compiler)
set(CPACK_DEBIAN_COMPILER_PACKAGE_SECTION interpreters)
set(CPACK_DEBIAN_COMPILER_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "libgccjit0 (>= 12), binutils")
set(CPACK_DEBIAN_COMPILER_DESCRIPTION "process that makes machine code for Atled
${about}
This package has the process in which GCC makes machine code. The library and
the program start it.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libatled${soversion})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "atled-compiler ${exactly}, libsleef3")
# There is no file `postinst` or `postrm`: naming them keeps CPack from adding its own, which call ldconfig; the trigger does that.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${control}/symbols ${PROJECT_SOURCE_DIR}/cmake/debian/triggers ${control}/postinst
    ${control}/postrm)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "small ML with native gradients - shared library
${about}
This package has the shared library, for programs that embed Atled.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libatled-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libatled${soversion} ${exactly}, libpcre2-dev, libffi-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "small ML with native gradients - development files
${about}
This package has the header, the static library and examples, for programs
that embed Atled.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-atled)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "libatled${soversion} (>= ${PROJECT_VERSION}), python3, python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-scipy, python3-mpi4py, python3-ipykernel")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/prerm)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "small ML with native gradients - Python package
${about}
This package calls functions of Atled programs, and their derivatives, from
Python on NumPy arrays.")

include(CPack)
