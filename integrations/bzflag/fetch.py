#!/usr/bin/env python3
"""Fetches BZFlag's source: usage: fetch.py DIRECTORY

Asks the machine's own package sources for Debian 13's source package, in an apt directory of its own: nothing
of the machine is changed. The tarball's SHA-256 is checked; one that lies in DIRECTORY already is used."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = "bzflag"
TARBALL = "bzflag_2.4.30.orig.tar.gz"
SHA256 = "29b3b97fa240b2aa681e7935afb3a8aa65831ea7e669813730acfa25810926fb"
SUITE = "trixie"


class FetchError(Exception):
    pass


def codename(os_release):
    """The machine's own suite, by /etc/os-release."""
    for line in os_release.splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.split("=", 1)[1].strip().strip('"')
    raise FetchError("/etc/os-release has no VERSION_CODENAME: this is no Debian")


def from_list(text, own, suite):
    """Lines of a sources.list for `suite` in place of `own`, as sources."""
    lines = []
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if words[:1] not in (["deb"], ["deb-src"]):
            continue
        at = 1
        if len(words) > 1 and words[1].startswith("["):
            while at < len(words) and not words[at].endswith("]"):
                at += 1
            at += 1
        if len(words) <= at + 1 or words[at + 1].split("-")[0] != own:
            continue
        words[0] = "deb-src"
        words[at + 1] = suite + words[at + 1][len(own):]
        lines.append(" ".join(words))
    return "".join(line + "\n" for line in dict.fromkeys(lines))


def from_sources(text, own, suite):
    """Stanzas of a .sources file for `suite` in place of `own`, as sources."""
    stanzas = []
    for stanza in text.replace("\r", "").split("\n\n"):
        lines = [line for line in stanza.splitlines() if line.strip() and not line.startswith("#")]
        fields = {line.split(":", 1)[0].lower(): line for line in lines if ":" in line and not line.startswith(" ")}
        suites = fields.get("suites", ":").split(":", 1)[1].split()
        ours = [suite + name[len(own):] for name in suites if name.split("-")[0] == own]
        if not ours or fields.get("enabled", "").split(":", 1)[-1].strip().lower() == "no":
            continue
        replaced = {"types": "Types: deb-src", "suites": "Suites: " + " ".join(ours)}
        stanzas.append("\n".join(replaced.get(line.split(":", 1)[0].lower(), line) for line in lines) + "\n")
    return "\n".join(stanzas)


def private_sources(etc, own, suite, target):
    """Writes what the machine's own sources come to for `suite`."""
    found = False
    paths = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]
    for number, path in enumerate(path for path in paths if path.is_file()):
        make = {".list": from_list, ".sources": from_sources}.get(path.suffix)
        text = make(path.read_text(encoding="utf-8", errors="replace"), own, suite) if make else ""
        if text:
            (target / f"{number}{path.suffix}").write_text(text, encoding="utf-8")
            found = True
    if not found:
        raise FetchError(f"no package source of this machine has the suite {own}")


def download(directory):
    if shutil.which("apt-get") is None:
        raise FetchError("there is no apt-get: this is no Debian")
    apt = directory / "apt"
    shutil.rmtree(apt, ignore_errors=True)
    for name in ("sources", "lists/partial", "cache/archives/partial"):
        (apt / name).mkdir(parents=True)
    own = codename(Path("/etc/os-release").read_text(encoding="utf-8"))
    private_sources(Path("/etc/apt"), own, SUITE, apt / "sources")
    command = ["apt-get", "-qq", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={apt}/sources",
               "-o", f"Dir::State::lists={apt}/lists", "-o", f"Dir::Cache={apt}/cache", "-o", "APT::Sandbox::User=root"]
    for arguments in (["update"], ["source", "--download-only", "--tar-only", PACKAGE]):
        run = subprocess.run(command + arguments, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, check=False)
        if run.returncode != 0:
            raise FetchError(f"apt-get {arguments[0]} failed:\n{run.stdout}")
    shutil.rmtree(apt)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    directory = Path(arguments[0]).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    tarball = directory / TARBALL
    try:
        if not tarball.is_file():
            download(directory)
        if not tarball.is_file():
            names = ", ".join(sorted(os.listdir(directory)))
            raise FetchError(f"the suite {SUITE} has no {TARBALL} any more; there is: {names}")
        digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
        if digest != SHA256:
            raise FetchError(f"{tarball} is another file: its SHA-256 is {digest}")
    except FetchError as error:
        print(f"BZFlag's source cannot be fetched: {error}\n"
              f"Put {TARBALL} (SHA-256 {SHA256}) into {directory} yourself, then try again.", file=sys.stderr)
        return 1
    print(tarball)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
