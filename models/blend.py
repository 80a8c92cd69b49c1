"""Part of the way from a static model to what refine.py made of it: new pairs count, old knowledge stays.

PYTHONPATH=src python models/blend.py PREPARED.npz TRAINED.npy[,TRAINED.npy...] SHARE OUT.bin
"""

from __future__ import annotations

import sys
from pathlib import Path

import export_static
import numpy as np


def main(prepared: Path, trained: list[Path], share: float, target: Path) -> None:
    data = np.load(prepared)
    after = np.mean([np.load(path) for path in trained], axis=0)
    export_static.write(target, [str(token) for token in data["tokens"]], (1 - share) * data["vectors"] + share * after)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2].split(",")], float(sys.argv[3]), Path(sys.argv[4]))
