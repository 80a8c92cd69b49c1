"""Vectors as they travel: little-endian float32 of unit length."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from kb.types import Vector


def unit(components: Sequence[float]) -> Vector:
    """Scaled to length 1; zeros stay zeros. Of whole numbers the sum of squares is exact, in any order."""
    norm = math.sqrt(sum(component * component for component in components)) or 1.0
    return struct.pack(f"<{len(components)}f", *[component / norm for component in components])
