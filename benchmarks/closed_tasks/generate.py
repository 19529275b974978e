"""Writes the closed-task set and prints how many items each source gave.

python benchmarks/closed_tasks/generate.py
"""

import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run as a script, the package's parent is not there

from closed_tasks.items import rendered

PATH = Path(__file__).resolve().parents[2] / "src" / "teto" / "closed_tasks" / "items.jsonl"


def main() -> None:
    """Write the file and report the counts."""
    text = rendered()
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_text(text, encoding="utf-8")
    items = [json.loads(line) for line in text.split("\n") if line]
    slices = Counter((item["task"], item["language"]) for item in items)
    sources = Counter((item["task"], item["language"], item["source"]) for item in items)
    for (task, language), count in slices.items():
        parts = [f"{name} {n}" for (one, where, name), n in sources.items() if (one, where) == (task, language)]
        print(f"{task} {language}: {count} ({', '.join(parts)})")
    print(f"{len(items)} items, {len(text.encode()) / 1e6:.2f} MB in {PATH.name}")


if __name__ == "__main__":
    main()
