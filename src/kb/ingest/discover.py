"""Which files a path holds, and which of them are left out and why. Nothing is opened but ignore files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from kb.config import IngestSettings
from kb.ingest.extract.languages import file_type
from kb.ingest.ignore import Level, ignored, levels_above, read_level
from kb.ingest.names import SECRET_FOLDERS, SKIPPED_FOLDERS, display_path, is_secret, printable
from kb.types import FileStamp, Issue

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """A file to index. ``source`` opens it, ``path`` names it; the stamp was taken before anything is read."""

    path: str
    source: str
    stamp: FileStamp


@dataclass(slots=True)
class Scan:
    """What a walk saw. Folders that could not be read are told apart from those that are gone."""

    root: str
    scope: str  # the folder or file below the root that was walked
    found: list[Found] = field(default_factory=list)
    skipped: list[Issue] = field(default_factory=list)
    failed: list[Issue] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)  # absolute paths of folders and files
    empty: bool = True  # the scope holds nothing at all
    exists: bool = True


def stamp_of(status: os.stat_result) -> FileStamp:
    return FileStamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def scan(root: str, scope: str, settings: IngestSettings) -> Scan:
    """Walk ``scope``, which is the real path of ``root`` or lies in it. A file that is named is taken if it can be."""
    result = Scan(root, scope)
    try:
        status = os.stat(scope)
    except OSError:
        result.exists = False
        return result
    walk = _Walk(result, settings)
    if stat.S_ISDIR(status.st_mode):
        walk.folders([(scope, (*levels_above(scope), *read_level(scope)))])
        walk.follow_links()
    else:
        result.empty = False
        walk.file(scope, scope, status)
    result.found.sort(key=lambda found: os.fsencode(found.source))
    result.skipped.sort(key=lambda issue: issue.path)
    return result


class _Walk:
    def __init__(self, result: Scan, settings: IngestSettings) -> None:
        self.result = result
        self.settings = settings
        self.links: list[tuple[str, tuple[Level, ...]]] = []
        self.seen: set[str] = set()  # real paths of files and folders

    def folders(self, todo: list[tuple[str, tuple[Level, ...]]], real: str | None = None) -> None:
        """Depth first, without recursion. ``real`` is where the first folder truly is, when a link leads to it."""
        first = todo[0][0]
        while todo:
            folder, levels = todo.pop()
            actual = folder if real is None else real + folder[len(first) :]
            if actual in self.seen:
                continue
            self.seen.add(actual)
            below: list[tuple[str, tuple[Level, ...]]] = []
            for entry in self.entries(folder):
                self.result.empty = False
                self.entry(entry, levels, below, actual)
            todo.extend(reversed(below))

    def entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
        except OSError as cause:
            path = self.shown(folder)
            self.result.empty = False
            self.result.unreadable.append(folder)
            self.result.failed.append(Issue(path, "unreadable", f"the folder cannot be read: {cause.strerror}"))
            return
        yield from entries

    def entry(self, entry: os.DirEntry[str], levels: tuple[Level, ...], below: list[tuple[str, tuple[Level, ...]]],
              actual: str) -> None:  # fmt: skip
        name, path = entry.name, entry.path
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            reason = _by_name(name, is_folder)
            if reason is None and levels and ignored(levels, path, is_folder):
                reason = ("ignored", "an ignore file excludes it")
            if reason is not None:
                self.skip(path + os.sep if is_folder else path, *reason)
            elif entry.is_symlink():
                self.links.append((path, levels))
            elif is_folder:
                below.append((path, (*levels, *read_level(path))))
            else:
                self.file(path, os.path.join(actual, name), entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            return  # gone since the folder was listed
        except OSError as cause:
            self.result.unreadable.append(path)
            self.result.failed.append(Issue(self.shown(path), "unreadable", f"cannot be looked at: {cause.strerror}"))

    def file(self, path: str, source: str, status: os.stat_result) -> None:
        """Take a file, or say why not."""
        name = os.path.basename(path)
        mode = status.st_mode
        limit = self.settings.max_pdf_mb if file_type(name).type == "pdf" else self.settings.max_file_mb
        if not stat.S_ISREG(mode):
            self.skip(path, "special", "not a regular file (a pipe, socket or device)")
        elif is_secret(name) or is_secret(os.path.basename(source)):
            self.skip(path, "secret", "the name says that it holds secrets")
        elif status.st_size > limit * MEGABYTE:
            self.skip(path, "too_large", f"{status.st_size / MEGABYTE:.1f} MB, more than the {limit:g} MB allowed")
        else:
            self.seen.add(source)
            self.result.found.append(Found(self.shown(path), source, stamp_of(status)))

    def follow_links(self) -> None:
        """After everything real, so that a file reached both ways is taken under its own name."""
        inside = self.result.root.rstrip(os.sep) + os.sep
        while self.links:
            path, levels = self.links.pop(0)
            target = os.path.realpath(path)
            parts = target[len(inside) :].split(os.sep)
            try:
                status = os.stat(target)
            except OSError:
                self.skip(path, "broken_link", "the link leads nowhere")
                continue
            if target in self.seen or target + os.sep == inside or self.result.scope.startswith(target + os.sep):
                self.skip(path, "duplicate", "the link leads to what is indexed already")
            elif not target.startswith(inside):
                self.skip(path, "outside", "the link leads out of the folder")
            elif any(_by_name(part, True) and part in SECRET_FOLDERS | SKIPPED_FOLDERS for part in parts):
                self.skip(path, "skipped_folder", "the link leads into a folder that is never indexed")
            elif stat.S_ISDIR(status.st_mode):
                self.folders([(path, (*levels, *read_level(path)))], target)
            else:
                self.file(path, target, status)

    def skip(self, path: str, code: str, reason: str) -> None:
        self.result.skipped.append(Issue(self.shown(path), code, reason))

    def shown(self, path: str) -> str:
        root = self.result.root.rstrip(os.sep)
        relative = path[len(root) + 1 :]
        if not relative:
            return printable(os.path.basename(root)) or "/"
        return display_path(root or os.sep, relative)


def _by_name(name: str, is_folder: bool) -> tuple[str, str] | None:
    """Why a file or folder is left out for its name alone."""
    if is_folder and name in SECRET_FOLDERS:
        return "secret", "a folder of keys and credentials"
    if is_folder and (name in SKIPPED_FOLDERS or name.endswith(".egg-info")):
        return "skipped_folder", "a folder of tools, not of documents"
    if not is_folder and is_secret(name):
        return "secret", "the name says that it holds secrets"
    if name.startswith("."):
        return "hidden", "hidden; name it to index it"
    return None
