# SPDX-License-Identifier: MIT
# Run by CPack between installing the components into its folder and packing them. Adds what Debian's policy asks for: copyright
# and changelogs of each package, compressed manual pages, and the library's symbols; strips binaries. Everything depends on the
# sources and SOURCE_DATE_EPOCH alone.
set(staged ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
file(MAKE_DIRECTORY ${CPACK_ATLED_CONTROL})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE errors)
  if(status)
    message(FATAL_ERROR "${ARGN}: ${errors}")
  endif()
endfunction()

# Without the name and the time of the file.
function(compress file)
  run(gzip -9nf ${file})
  run(chmod 644 ${file}.gz)
endfunction()

# ---- Texts -------------------------------------------------------------------------------------------------------------
file(READ ${CPACK_ATLED_SOURCE}/LICENSE licence)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]*)" line "${licence}")
set(holder "${CMAKE_MATCH_1}")
string(REGEX REPLACE "^.*Copyright [^\n]*\n\n" "" terms "${licence}")
string(STRIP "${terms}" terms)
string(REPLACE "\n\n" "\n.\n" terms "${terms}")
string(REPLACE "\n" "\n " terms "${terms}")
file(WRITE ${CPACK_ATLED_CONTROL}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Atled

Files: *
Copyright: ${holder}
License: Expat
 ${terms}
")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH, if that is set
file(WRITE ${CPACK_ATLED_CONTROL}/changelog.Debian "atled (${version}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}; changelog.gz says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")

# ---- Files of each package ---------------------------------------------------------------------------------------------
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(share ${staged}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
  set(doc ${share}/doc/${package})
  file(COPY ${CPACK_ATLED_CONTROL}/copyright ${CPACK_ATLED_CONTROL}/changelog.Debian DESTINATION ${doc})
  compress(${doc}/changelog.Debian)
  configure_file(${CPACK_ATLED_SOURCE}/CHANGELOG.md ${doc}/changelog COPYONLY)
  compress(${doc}/changelog)
  file(GLOB pages ${share}/man/man1/*.1)
  foreach(page IN LISTS pages)
    compress(${page})
  endforeach()
endforeach()

# ---- Binaries ----------------------------------------------------------------------------------------------------------
set(unneeded --remove-section=.comment --remove-section=.note)
file(GLOB_RECURSE binaries ${staged}/program/*/bin/atled ${staged}/compiler/*/atled-compiler ${staged}/library/*/libatled.so.*)
list(FILTER binaries EXCLUDE REGEX "\\.so\\.[0-9]+$") # the link
run(strip --strip-unneeded ${unneeded} ${binaries})
file(GLOB_RECURSE archives ${staged}/development/*/libatled.a ${staged}/compiler/*/libatled_rt.a)
run(strip --strip-debug --enable-deterministic-archives ${unneeded} ${archives})

# The symbols of the library, for packages of hosts.
set(symbols ${CPACK_ATLED_CONTROL}/symbols)
file(GLOB_RECURSE library ${staged}/library/*/libatled.so.${CPACK_PACKAGE_VERSION})
file(REMOVE ${symbols})
run(dpkg-gensymbols -p${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME} -v${CPACK_PACKAGE_VERSION} -e${library} -P${staged}/library -O${symbols})
file(READ ${symbols} text)
string(REPLACE " #MINVER#\n" " #MINVER#\n* Build-Depends-Package: ${CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME}\n" text "${text}")
file(WRITE ${symbols} "${text}")
