"""`python -m task_model.train DATA`, from benchmarks/: fit the task model and write it to the package.

DATA is a folder with labels/. With --check nothing is written: the script says whether the shipped model is what it
would write, but for other processors' rounding.
"""

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from task_model.data import Sample, load_samples
from task_model.model import fit_model
from teto.catalog.task_model import TASK_MODEL_VERSION, fingerprint_of_task_model, load_task_model
from teto.triage.task_model import TaskModel

__all__ = ["CLOSED_THRESHOLD", "LANGUAGE_THRESHOLD", "TASK_THRESHOLD", "fingerprint", "same_model", "train"]

SHIPPED: Final = Path(__file__).parents[2] / "src" / "teto" / "catalog" / "data" / "task_model.npz"
# Calling an open call closed is worse than the reverse: by task_model.report, the least threshold at which at most 4 %
# of the open prompts of unseen groups are called closed.
CLOSED_THRESHOLD: Final = 0.75
TASK_THRESHOLD: Final = 0.3
LANGUAGE_THRESHOLD: Final = 0.7
_MOST_CHANGED_FRACTION: Final = 0.005  # of the prompts' readings, by another processor's rounding


def train(samples: Sequence[Sample]) -> TaskModel:
    """The model of those samples, with this version's thresholds."""
    return fit_model(
        samples,
        closed_threshold=CLOSED_THRESHOLD,
        task_threshold=TASK_THRESHOLD,
        language_threshold=LANGUAGE_THRESHOLD,
    )


def fingerprint(samples: Sequence[Sample]) -> str:
    """The sha256 of the prompts and labels of the repository; the shared labels are not part of it."""
    digest = hashlib.sha256()
    for sample in samples:
        if not sample.is_shared:
            line = (sample.text, sample.task, str(sample.closed), sample.language, sample.group)
            digest.update("\x00".join(line).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def same_model(first: TaskModel, second: TaskModel, samples: Sequence[Sample]) -> bool:
    """Whether two models read the samples alike, but for a few that lie at a threshold."""
    if (first.classes, first.languages) != (second.classes, second.languages):
        return False
    texts = [sample.text for sample in samples]
    one, other = first.classify_batch(texts), second.classify_batch(texts)
    changed = (one.task != other.task) | (one.closed != other.closed) | (one.language != other.language)
    return float(np.mean(changed)) <= _MOST_CHANGED_FRACTION


def write(model: TaskModel, path: Path, fingerprint_of_data: str) -> None:
    """The model as arrays; the same model gives the same bytes."""
    np.savez_compressed(
        path,
        version=np.array(TASK_MODEL_VERSION),
        fingerprint=np.array(fingerprint_of_data),
        classes=np.array([f"{task}{'+' if closed else ''}" for task, closed in model.classes]),
        languages=np.array([str(language) for language in model.languages]),
        table=model.table,
        scale=model.scale,
        structure=model.structure,
        bias=model.bias,
        closed_threshold=np.array(model.closed_threshold),
        task_threshold=np.array(model.task_threshold),
        language_threshold=np.array(model.language_threshold),
    )


def main() -> int:
    """Write or check the shipped model; 1 where a check finds another one."""
    parser = argparse.ArgumentParser(prog="python -m task_model.train", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not (options.data / "labels").is_dir():
        print(f"{options.data} has no folder labels/: the shared labels are needed", file=sys.stderr)
        return 2
    samples = load_samples(options.data)
    model, found = train(samples), fingerprint(samples)
    if options.check:
        if found == fingerprint_of_task_model(SHIPPED) and same_model(model, load_task_model(SHIPPED), samples):
            return 0
        print(f"{SHIPPED.name} is not what the data gives: run it without --check", file=sys.stderr)
        return 1
    write(model, SHIPPED, found)
    print(f"written: {SHIPPED.name}, {SHIPPED.stat().st_size / 1e6:.2f} MB, from {len(samples)} prompts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
