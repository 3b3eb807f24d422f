"""A stranger's view: install, move the result elsewhere, and build examples/install/ against it.

check_install.py BUILD_DIR. Ways in: pkg-config with the shared and the static library, find_package with both
targets, and add_subdirectory of the source tree.
"""
import os
import pathlib
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
