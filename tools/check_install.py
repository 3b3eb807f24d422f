"""A stranger's view: install, move the result elsewhere, and build examples/install/ against it.

check_install.py BUILD_DIR. Ways in: pkg-config with the shared and the static library, find_package with both
targets, add_subdirectory of the source tree, and the README's own lines, which build the library alone: with
pkg-config finding nothing while they do, since a compiler, CMake and libsodium must be enough.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tree

CONSUMER = tree.ROOT / "examples/install"
build = sys.argv[1]


def run(*command, **env):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, env={**os.environ, **env})


def pkg_config(prefix, *options):
    found = next(prefix.rglob("fairlead.pc"))
    env = {**os.environ, "PKG_CONFIG_PATH": str(found.parent)}
    out = subprocess.run(["pkg-config", *options, "fairlead"], check=True, env=env, capture_output=True, text=True)
    return out.stdout.split()


def consume_with_cmake(place, *options):
    run("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", place, "-DCMAKE_BUILD_TYPE=Debug", *options)
    run("cmake", "--build", place)
    run(place / "stranger")


def readme_lines():
    section = (tree.ROOT / "README.md").read_text().split("## Using it\n", 1)[1]
    return re.match(r"```sh\n(.*?)```", section, re.S).group(1).strip().splitlines()


def follow_readme(here):
    """What README.md says, but for root's part: another prefix, and the loader is told of it."""
    place, prefix, nothing = here / "readme-build", here / "readme", here / "nothing"
    nothing.mkdir()
    make, use = readme_lines()
    for ours, theirs in (("sudo cmake --install build-lib", f"cmake --install {place} --prefix {prefix}"),
                         ("sudo ldconfig", f"{shutil.which('ldconfig', path='/sbin:/usr/sbin')} -n {prefix}/lib"),
                         ("build-lib", str(place))):
        if ours not in make:
            sys.exit(f"README.md: '{ours}' is missing in '{make}'")
        make = make.replace(ours, theirs)
    parallel = str(os.cpu_count())
    run("sh", "-c", f"cd {tree.ROOT} && {make}", PKG_CONFIG_LIBDIR=str(nothing), CMAKE_BUILD_PARALLEL_LEVEL=parallel)
    shutil.copy(CONSUMER / "main.c", here / "game.c")
    run("sh", "-c", f"cd {here} && {use}", PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig", LD_LIBRARY_PATH=f"{prefix}/lib")


with tempfile.TemporaryDirectory() as folder:
    here = pathlib.Path(folder)
    run("cmake", "--install", build, "--prefix", here / "first")
    prefix = (here / "first").rename(here / "moved")
    library = next(prefix.rglob("libfairlead.a")).parent
    source = CONSUMER / "main.c"

    run("gcc", source, "-o", here / "shared", *pkg_config(prefix, "--cflags", "--libs"))
    run(here / "shared", LD_LIBRARY_PATH=str(library))
    run("gcc", "-static", source, "-o", here / "static", *pkg_config(prefix, "--static", "--cflags", "--libs"))
    run(here / "static")

    consume_with_cmake(here / "package", f"-DCMAKE_PREFIX_PATH={prefix}")
    consume_with_cmake(here / "package-shared", f"-DCMAKE_PREFIX_PATH={prefix}", "-DFAIRLEAD_TARGET=fairlead_shared")
    consume_with_cmake(here / "subfolder", f"-DFAIRLEAD_SOURCE={tree.ROOT}")
    follow_readme(here)
