"""What a caller of ``add`` may choose."""

from __future__ import annotations

from dataclasses import dataclass

from kb.ingest.build import Given
from kb.types import DocType, Trust


@dataclass(frozen=True, slots=True)
class AddOptions:
    """None, and no tags, mean "not said": documents keep what an earlier run was told about them."""

    collection: str | None = None
    tags: tuple[str, ...] | None = None
    type: DocType | None = None
    lang: str | None = None
    repo: str | None = None
    version: str | None = None
    trust: Trust | None = None
    prune: bool = False  # also remove what a vanished, empty or unreadable root held
    verify: bool = False  # read and hash every file, whatever its stamp says

    @property
    def given(self) -> Given:
        return Given(self.tags or None, self.type, self.lang, self.repo, self.version, self.trust)
