"""Known-item queries of a store: questions made from its own text, whose answers are known without asking anybody."""

from kb.known.items import KINDS, ItemKind, KnownItem, known_items

__all__ = ["KINDS", "ItemKind", "KnownItem", "known_items"]
