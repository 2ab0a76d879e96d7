"""A small font with the letters that figures need.

A PDF embeds those letters of its font that it shows; cutting them out of the whole font takes longer than drawing.
"""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

FAMILY = "DejaVu Sans"  # comes with matplotlib, so that every machine draws the same
SMALL_FAMILY = "DejaVu Sans Cut"
FILES = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")
# Latin, Greek, punctuation, superscripts and subscripts, arrows, mathematical operators, geometric shapes.
LETTERS = ((0x20, 0x17F), (0x2B0, 0x3FF), (0x2010, 0x20BF), (0x2190, 0x22FF), (0x25A0, 0x25FF))


@functools.cache
def small_families() -> tuple[str, ...]:
    """The families to draw many files with: the small one, then the whole one for letters that it lacks."""
    from matplotlib import font_manager

    for file in FILES:
        font_manager.fontManager.addfont(_cut(file))
    return SMALL_FAMILY, FAMILY


@functools.cache
def _folder() -> Path:
    """Removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="arcbandit-fonts-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _cut(file: str) -> Path:
    """The path of a font with only those letters, under the name of the small family."""
    import matplotlib
    from fontTools import subset
    from fontTools.ttLib import TTFont

    # The time of the cut would make the bytes of every figure differ each time.
    font = TTFont(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / file, recalcTimestamp=False)
    # Ligatures and the like are not drawn by matplotlib; the kerning that it uses is in a table of its own.
    options = subset.Options(
        drop_tables=["FFTM", "GSUB", "GPOS", "GDEF", "MATH"], legacy_kern=True, hinting=True, glyph_names=True
    )
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[letter for first, last in LETTERS for letter in range(first, last + 1)])
    cutter.subset(font)
    for record in font["name"].names:
        record.string = str(record).replace(FAMILY, SMALL_FAMILY)
    target = _folder() / file
    font.save(target)
    return target
