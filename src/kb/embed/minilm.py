"""all-MiniLM-L6-v2, shipped with the package: English, 384 dimensions, 23 MB.

ONNX Runtime where there is a wheel for it; elsewhere the same weights run on numpy, at about a third of the speed. The
two differ in the third decimal of a cosine, less than the int8 weights differ from the original: one index, one model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kb.embed.onnx import Runner, TransformerEmbedder, read_recipe, session_runner
from kb.errors import EmbedderFailed, MissingExtra
from kb.transformer import EXTRA

if TYPE_CHECKING:
    from kb.config import EmbedSettings

FOLDER = Path(__file__).parent / "data" / "minilm"


def create(argument: str, settings: EmbedSettings) -> TransformerEmbedder:
    path = FOLDER / "model.onnx"
    if not path.is_file():
        raise EmbedderFailed("this build ships without minilm's weights", fix="use the model 'static'")
    try:
        runner = session_runner(path)
    except MissingExtra:
        runner = numpy_runner(path)
    return TransformerEmbedder("minilm", FOLDER, runner, read_recipe(FOLDER))


def numpy_runner(path: Path) -> Runner:
    try:
        from kb.embed.numpybert import Bert
    except ImportError as cause:
        raise MissingExtra(EXTRA) from cause
    return Bert(path)
