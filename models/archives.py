"""Read files out of packages as they come from a registry: wheels and Debian packages. Nothing is unpacked."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

Wanted = Callable[[str, int], bool]  # a file's name and size
Member = tuple[str, bytes]


def members(path: Path, wanted: Wanted) -> Iterator[Member]:
    """(name, bytes) of the wanted files; nothing from a package that cannot be read."""
    reader = {".whl": wheel, ".deb": deb}[path.suffix]
    try:
        yield from reader(path, wanted)
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as cause:
        print(path.name, cause, flush=True)


def wheel(path: Path, wanted: Wanted) -> Iterator[Member]:
    with zipfile.ZipFile(path) as file:
        for item in file.infolist():
            if wanted(item.filename, item.file_size):
                yield item.filename, file.read(item)


def deb(path: Path, wanted: Wanted) -> Iterator[Member]:
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE) as unpacking,
        tarfile.open(fileobj=unpacking.stdout, mode="r|") as file,
    ):
        for item in file:
            if item.isfile() and wanted(item.name, item.size) and (opened := file.extractfile(item)):
                yield item.name, opened.read()
