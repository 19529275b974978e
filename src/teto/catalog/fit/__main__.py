"""`python -m teto.catalog.fit DATA`: fit the constants, judge them, and write catalog/data/fits and docs/accuracy.md.

DATA is a folder with physics/*.csv. With --check nothing is written, and a difference beyond rounding is an error.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Final

from teto.catalog.fit.elsewhere import elsewhere_tables
from teto.catalog.fit.families import Bar
from teto.catalog.fit.report import single_tables
from teto.catalog.fit.server_report import server_tables
from teto.catalog.fit.server_study import study_servers
from teto.catalog.fit.single import SINGLE
from teto.catalog.fit.study import study
from teto.catalog.fits import encode_fits
from teto.catalog.load_fits import encode_load

__all__ = ["agrees"]

_FITS: Final = Path(__file__).parents[1] / "data" / "fits"
_ACCURACY: Final = Path(__file__).parents[4] / "docs" / "accuracy.md"
_NUMBER: Final = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_BARS: Final = {
    "GDDR, batch 1": Bar(median=0.06, p90=0.16),
    "HBM, batch 1": Bar(median=0.12),
    "Apple on LocalScore": Bar(median=0.10),
    "other GPUs on LocalScore": Bar(median=0.14),
    "CPUs from spec sheets": Bar(median=0.35),
    "MoE on one device": Bar(median=0.20),
}


def _between(text: str, mark: str, generated: str) -> str:
    """The document with what stands between the marks replaced."""
    start, end = f"<!-- {mark}: generated -->", f"<!-- {mark}: end -->"
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}\n\n{generated}\n\n{end}{after}"


def agrees(first: str, second: str) -> bool:
    """Whether two texts say the same: equal words, and numbers as near as other processors' arithmetic leaves them.

    Numbers may differ by 3 %, and those that are not tiny by a third in the last place that tables print.
    """
    if _NUMBER.sub("#", first) != _NUMBER.sub("#", second):
        return False
    pairs = zip(_NUMBER.findall(first), _NUMBER.findall(second), strict=True)
    return all(_is_near(float(one), float(other)) for one, other in pairs)


def _is_near(one: float, other: float) -> bool:
    largest = max(abs(one), abs(other))
    return abs(one - other) <= 0.03 * largest or (largest >= 0.1 and abs(one - other) <= 0.3)


def main() -> int:
    """Write or check the files; 1 where a check finds a difference."""
    parser = argparse.ArgumentParser(prog="python -m teto.catalog.fit", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    studies = [found for family in SINGLE if (found := study(family, options.data)) is not None]
    entries = tuple(entry for one in studies for entry in one.entries)
    servers = study_servers(options.data)
    single = [*single_tables(studies, _BARS), "", *elsewhere_tables(entries, options.data)]
    page = _between(_ACCURACY.read_text(), "single", "\n".join(single))
    files = {
        _FITS / "single.toml": encode_fits(entries),
        _FITS / "servers.toml": encode_fits(servers.entries),
        _FITS / "loaded" / "loaded.toml": encode_load(servers.power, servers.queue),
        _ACCURACY: _between(page, "servers", "\n".join(server_tables(servers))),
    }
    if options.check:
        wrong = [path for path, text in files.items() if not path.is_file() or not agrees(path.read_text(), text)]
        for path in wrong:
            print(f"{path.name} is not what the data gives", file=sys.stderr)  # noqa: T201 - a command's output
        return 1 if wrong else 0
    for path in [path for path, text in files.items() if not path.is_file() or path.read_text() != text]:
        path.write_text(files[path])
        print(f"written: {path.name}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
