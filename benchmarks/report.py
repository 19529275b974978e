"""What every benchmark shares: the machine and commit beside the figures, printed and written to results/."""

import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from teto.engines.tune import usable_cores
from teto.measure.probe import cpu_pressure_fraction

__all__ = ["Report"]

_RESULTS = Path(__file__).parent / "results"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)  # noqa: S607
    return done.stdout.strip()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().split("\n") if "model name" in line]
    return names[0] if names else platform.processor()


class Report:
    """Collects sections of figures; `write` keeps them as JSON under results/."""

    def __init__(self, name: str) -> None:
        self._name = name
        dirty = "+changes" if _git("status", "--porcelain", "--", "src") else ""
        self._content: dict[str, Any] = {
            "benchmark": name,
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "commit": f"{_git('rev-parse', '--short=12', 'HEAD')}{dirty}",
            "machine": {
                "processor": _processor(),
                "cores": usable_cores(),
                "system": f"{platform.system()} {platform.release()}",
                "python": platform.python_version(),
                "cpu_pressure_at_start": cpu_pressure_fraction(),
            },
        }
        print(json.dumps(self._content, indent=1))

    def add(self, section: str, figures: Any, *, bar: str | None = None, met: bool | None = None) -> None:
        """A section; `bar` states what was to be reached, `met` whether it was."""
        self._content[section] = {"figures": figures, "bar": bar, "met": met}
        verdict = "" if met is None else f"   [{'met' if met else 'MISSED'}: {bar}]"
        print(f"\n{section}{verdict}\n{json.dumps(figures, indent=1, ensure_ascii=False)}")
        sys.stdout.flush()

    def write(self) -> None:
        """Write results/NAME.json: the newest run; earlier ones are in the history."""
        _RESULTS.mkdir(exist_ok=True)
        path = _RESULTS / f"{self._name}.json"
        path.write_text(json.dumps(self._content, indent=1, ensure_ascii=False) + "\n")
        print(f"\nwritten: benchmarks/results/{path.name}")
