"""`python -m task_model.report DATA`, from benchmarks/: what the task model gets right on what it never saw.

Models are fitted again without the prompts that they are judged on. Times are of the processor, not of the clock.
"""

import argparse
import gc
import hashlib
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from report import Report
from task_model.data import Sample, load_samples
from task_model.held_out import enem_questions, hard_prompts, sets_of_one_task
from task_model.train import SHIPPED, train
from teto.catalog.task_model import load_task_model
from teto.traffic.language import Language
from teto.traffic.task import Task
from teto.triage.recognise import recognise
from teto.triage.task_model import Reading, TaskModel
from teto.wire.chat import parse_chat_request

__all__ = ["main"]

_FOLDS: Final = 5
_LEAST_OF_A_TASK: Final = 5  # rows; a task with fewer is left out of a mean
_MOST_HARD_CLOSED_FRACTION: Final = 0.05
_LEAST_CLOSED_FRACTION: Final = 0.7
_BATCH: Final = 1000

Key = Callable[[Sample], str]
Split = dict[int, Reading]  # by the sample's number


def _fold_of(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % _FOLDS


def _collection(sample: Sample) -> str:
    """The data set that a prompt comes from; of T0 the set behind the template, which begins its name."""
    return f"t0/{sample.group.split('/')[1].split('_')[0]}" if sample.dataset == "t0" else sample.dataset


def _judge_without(samples: Sequence[Sample], is_held: Callable[[Sample], bool]) -> Split:
    """What a model says to the held samples that was fitted on all others."""
    model = train([sample for sample in samples if not is_held(sample)])
    held = [number for number, sample in enumerate(samples) if is_held(sample)]
    found = model.classify_batch([samples[number].text for number in held])
    return {number: found[at] for at, number in enumerate(held)}


def _is_of(dataset: str, sample: Sample) -> bool:
    return sample.dataset == dataset


def _is_in_fold(fold: int, sample: Sample) -> bool:
    return _fold_of(sample.group) == fold


def _is_in_t0_fold(fold: int, sample: Sample) -> bool:
    return sample.dataset == "t0" and _fold_of(_collection(sample)) == fold


def _unseen_groups(samples: Sequence[Sample]) -> Split:
    """Every sample read by a model that saw no other of its template, source or prompt."""
    found: Split = {}
    for fold in range(_FOLDS):
        found |= _judge_without(samples, partial(_is_in_fold, fold))
    return found


def _unseen_sets(samples: Sequence[Sample]) -> Split:
    """Every sample read by a model that saw nothing of its data set; those of T0 are left out a fifth at a time."""
    found: Split = {}
    for fold in range(_FOLDS):
        found |= _judge_without(samples, partial(_is_in_t0_fold, fold))
    for dataset in sorted({sample.dataset for sample in samples} - {"t0", "questions", "languages"}):
        found |= _judge_without(samples, partial(_is_of, dataset))
    return found


def _f1(pairs: Sequence[tuple[Task, Task, float]]) -> dict[str, float]:
    """F1 by task of (right, said, weight), for tasks that occur often enough, and their mean."""
    counts: dict[Task, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    rows: dict[Task, int] = defaultdict(int)
    for right, said, weight in pairs:
        rows[right] += 1
        counts[right][1] += weight
        counts[said][2] += weight
        counts[right][0] += weight if right == said else 0.0
    by_task = {
        str(task): 2 * counts[task][0] / (counts[task][1] + counts[task][2])
        for task in Task
        if rows[task] >= _LEAST_OF_A_TASK
    }
    mean = statistics.mean(by_task.values()) if by_task else float("nan")
    return {"macro": round(mean, 3)} | {task: round(value, 3) for task, value in by_task.items()}


def _tasks(samples: Sequence[Sample], found: Split, *, only: Callable[[Sample], bool] = lambda _: True) -> Any:
    """F1 by language. Riders, made from other prompts, are not counted."""
    figures = {}
    for language in (Language.EN, Language.PT):
        kept = [(samples[n], reading) for n, reading in found.items() if samples[n].language is language]
        kept = [(sample, reading) for sample, reading in kept if only(sample) and not sample.is_made]
        figures[str(language)] = {
            "prompts": len(kept),
            **_f1([(sample.task, reading.task, sample.weight) for sample, reading in kept]),
        }
    return figures


def _closed(samples: Sequence[Sample], found: Split) -> Any:
    """Of unseen groups: the share called closed of what is, and of what is not, by language."""
    figures = {}
    for language in (Language.EN, Language.PT):
        for is_closed in (True, False):
            kept = [(samples[n], reading) for n, reading in found.items() if samples[n].language is language]
            weights = [(sample.weight, reading.closed) for sample, reading in kept if sample.closed is is_closed]
            share = sum(weight for weight, closed in weights if closed) / sum(weight for weight, _ in weights)
            figures[f"{language}, {'closed' if is_closed else 'open'}"] = round(share, 3)
    return figures


def _language(samples: Sequence[Sample], found: Split) -> Any:
    """The share of each language's prompts read as each."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for number, reading in found.items():
        if samples[number].dataset != "languages":
            counts[samples[number].language][reading.language] += 1
    return {
        right: {said: round(n / sum(row.values()), 4) for said, n in sorted(row.items())}
        for right, row in sorted(counts.items())
    }


def _items(samples: Sequence[Sample], found: Split) -> dict[str, float]:
    """The share of closed-task items called closed, by task and language, and of all."""
    closed: dict[str, list[bool]] = defaultdict(list)
    for number, reading in found.items():
        sample = samples[number]
        if sample.dataset == "items" and sample.closed:
            closed[f"{sample.group.split('/')[1].split('-')[0]} {sample.language}"].append(reading.closed)
            closed["all"].append(reading.closed)
    return {name: round(statistics.mean(values), 3) for name, values in sorted(closed.items())}


def _recognised(model: TaskModel, texts: Sequence[str]) -> float:
    """The share that admission would call closed: the model's, less what the recogniser objects to."""
    bodies = [{"model": "teto/auto", "messages": [{"role": "user", "content": text}]} for text in texts]
    requests = [parse_chat_request(_json(body)) for body in bodies]
    return statistics.mean(recognise(request, model).closed for request in requests)


def _json(body: dict[str, Any]) -> bytes:
    import msgspec  # noqa: PLC0415 - only for this

    return msgspec.json.encode(body)


def _hard(model: TaskModel, data: Path) -> dict[str, Any]:
    figures = {}
    for name, texts in hard_prompts(data).items():
        share = float(np.mean(model.classify_batch(texts).closed))
        figures[name] = {
            "prompts": len(texts),
            "model": round(share, 4),
            "admission": round(_recognised(model, texts), 4),
        }
    return figures


def _human(model: TaskModel, data: Path) -> Any:
    """Prompts of collections that no training prompt comes from; ENEM is the Portuguese one."""
    english = {name: (task, model.classify_batch(texts)) for name, (task, texts) in sets_of_one_task(data).items()}
    pairs = [(task, found[at].task, 1 / len(found)) for task, found in english.values() for at in range(len(found))]
    enem = list(enem_questions(data))
    figures: dict[str, Any] = {
        "en": {"prompts": len(pairs), **_f1(pairs)},
        "en, right by set": {
            name: round(float(np.mean([found[at].task == task for at in range(len(found))])), 3)
            for name, (task, found) in english.items()
        },
    }
    for name, column in (("with alternatives", 1), ("without alternatives", 0)):
        found = model.classify_batch([str(row[column]) for row in enem])
        said = [found[at].task for at in range(len(found))]
        alike = [Task.OPEN_QA if task is Task.REASON else task for task in said]
        figures[f"ENEM 2022, {name}; reason counts as open_qa"] = {
            "prompts": len(enem),
            **_f1([(right, task, 1.0) for (_, _, right), task in zip(enem, alike, strict=True)]),
            "read as Portuguese": round(
                float(np.mean([found[at].language is Language.PT for at in range(len(found))])), 3
            ),
        }
    return figures


def _timed(action: Callable[[], Any]) -> float:
    before = time.process_time()
    action()
    return time.process_time() - before


def _speed(model: TaskModel, samples: Sequence[Sample]) -> dict[str, Any]:
    """Seconds of the processor, which other work on the machine disturbs less than the clock, but still does."""
    english = [sample.text for sample in samples if sample.dataset == "t0"][:_BATCH]
    portuguese = [sample.text for sample in samples if sample.language is Language.PT][:_BATCH]
    rows = {
        "English rows of 2 KB": [(text * 40)[:2000] for text in english],
        "Portuguese rows of 2 KB": [(text * 40)[:2000] for text in portuguese],
        "English rows of 120 characters": [text[:120] for text in english],
    }
    figures: dict[str, Any] = {}
    gc.collect()
    for name, texts in rows.items():
        model.classify_batch(texts)
        each = sorted(_timed(partial(model.classify_batch, texts)) / len(texts) for _ in range(15))
        figures[name] = {"us_each_best": round(each[0] * 1e6, 1), "us_each_median": round(each[7] * 1e6, 1)}
    single = sorted(_timed(partial(model.classify, text)) for text in english)
    figures["one prompt"] = {"us_median": round(single[500] * 1e6), "us_p99": round(single[990] * 1e6)}
    loads = sorted(_timed(lambda: load_task_model(SHIPPED)) for _ in range(9))
    figures["loading"] = {"ms_median": round(loads[4] * 1e3, 1)}
    figures["file"] = {"mb": round(SHIPPED.stat().st_size / 1e6, 2)}
    return figures


def main() -> int:
    """Fit, judge, print, and write results/task_model.json."""
    parser = argparse.ArgumentParser(prog="python -m task_model.report", description=__doc__)
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    report = Report("task_model")
    samples, shipped = load_samples(options.data), load_task_model(SHIPPED)
    sizes: dict[str, int] = defaultdict(int)
    for sample in samples:
        sizes[sample.dataset] += 1
    report.add("training prompts", dict(sorted(sizes.items())))
    speed = _speed(shipped, samples)
    fast = all(speed[name]["us_each_median"] <= 30 for name in speed if "rows" in name)
    met = fast and speed["one prompt"]["us_median"] <= 1000 and speed["loading"]["ms_median"] < 50
    report.add("speed", speed, bar="30 us in batches, 1 ms for one, loads in 50 ms, under 5 MB", met=met)
    hard = _hard(shipped, options.data)
    met = all(row["model"] <= _MOST_HARD_CLOSED_FRACTION for row in hard.values())
    report.add("hard prompts called closed", hard, bar="at most 5 % of each set", met=met)
    report.add("task, sets written by people and never trained on", _human(shipped, options.data))
    groups = _unseen_groups(samples)
    report.add("task, unseen templates, sources and prompts", _tasks(samples, groups))
    report.add("language, unseen templates, sources and prompts", _language(samples, groups))
    report.add("called closed, unseen templates, sources and prompts", _closed(samples, groups))
    items = _items(samples, groups)
    met = items["all"] >= _LEAST_CLOSED_FRACTION
    report.add("closed-task items called closed, their source unseen", items, bar="at least 70 %", met=met)
    sets = _unseen_sets(samples)
    report.add("task, unseen data sets", _tasks(samples, sets))
    report.add("task, data sets of T0 left out", _tasks(samples, sets, only=lambda sample: sample.dataset == "t0"))
    for dataset in ("prompts_pt", "prompts_en", "items", "self_instruct_user_oriented"):
        figures = _tasks(samples, sets, only=partial(_is_of, dataset))
        report.add(f"task, {dataset} left out whole", {k: v for k, v in figures.items() if v["prompts"]})
    report.add("closed-task items called closed, the whole set unseen", _items(samples, sets))
    report.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
