# SPDX-License-Identifier: MIT
"""Options for CMake with which another build of the sources finds compiled what a build folder has compiled with ccache."""


def cached_build(folder):
    """None if the folder's compiler has no ccache, or isn't that of a release: then nothing would be found."""
    with open(f"{folder}/CMakeCache.txt", encoding="utf-8") as cache:
        values = dict(line.strip().split("=", 1) for line in cache if "=" in line and not line.startswith(("#", "/")))
    settings = {name.split(":")[0]: value for name, value in values.items()}
    launcher = settings.get("CMAKE_C_COMPILER_LAUNCHER", "")
    if "ccache" not in launcher or settings.get("CMAKE_BUILD_TYPE") not in ("", "Release") or settings.get("ATLED_VERIFY") == "ON":
        return None
    # The flags have to be the same to the letter.
    same = ("CMAKE_C_COMPILER", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_C_FLAGS", "CMAKE_C_FLAGS_RELEASE", "ATLED_WERROR")
    return ["-DCMAKE_BUILD_TYPE=Release", *(f"-D{name}={settings[name]}" for name in same if settings.get(name))]
