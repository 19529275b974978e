"""The prompts that the task model learns from, each with its task, its language and the group it must not leave."""

import csv
import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from teto.closed_tasks.items import closed_task_items
from teto.traffic.language import Language
from teto.traffic.task import Task
from teto.triage.text_features import prompt_text
from teto.wire.chat import Message

__all__ = ["Sample", "load_samples"]

_HERE: Final = Path(__file__).parent
_REPOSITORY_DATA: Final = _HERE.parent / "data"
_LONG_CHARACTERS: Final = 2600  # a text beyond this is not short, whatever is asked of it
_LEAST_CHARACTERS_TO_RESPACE: Final = 80
# What turns a closed prompt into one that asks for more than its text holds.
_RIDERS: Final = {
    Language.EN: (
        "Explain why.",
        "Explain your reasoning step by step.",
        "Justify your answer in detail.",
        "Then suggest how to improve it.",
        "Also discuss the trade-offs.",
        "Why do you think so?",
        "Compare it with other cases and recommend what to do next.",
        "Give a detailed analysis.",
    ),
    Language.PT: (
        "Explique por quê.",
        "Explique o raciocínio passo a passo.",
        "Justifique a resposta em detalhes.",
        "Depois sugira como melhorar.",
        "Discuta também as vantagens e desvantagens.",
        "Por que você acha isso?",
        "Compare com outros casos e recomende o que fazer.",
        "Faça uma análise detalhada.",
    ),
}
_KIND_OF_DEVELOPMENT: Final = {
    "classify": (Task.CLASSIFY, True),
    "extract": (Task.EXTRACT, True),
    "rewrite": (Task.REWRITE, True),
    "language": (Task.CLASSIFY, True),
    "yes_no": (Task.CLOSED_QA, True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A prompt as the model reads it. Samples of one `group` are never on both sides of a split."""

    text: str
    task: Task
    closed: bool
    language: Language
    dataset: str
    group: str
    is_shared: bool = False  # from the shared labels, which the repository does not hold
    is_made: bool = False  # from another prompt, by taking something away or adding an order
    weight: float = 1.0


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSONL file; split at newlines only, for some strings hold U+2028. None where there is no file."""
    return [json.loads(line) for line in path.read_text().split("\n") if line] if path.is_file() else []


def _class(label: str) -> tuple[Task, bool]:
    return Task(label.removesuffix("+")), label.endswith("+")


def _text(messages: list[dict[str, Any]], schema: dict[str, Any] | None = None) -> str:
    return prompt_text([Message(role=m["role"], content=m["content"]) for m in messages], schema)


def _english(text: str, label: tuple[Task, bool], dataset: str, group: str) -> Sample:
    closed = label[1] and len(text) <= _LONG_CHARACTERS
    return Sample(
        text=text, task=label[0], closed=closed, language=Language.EN, dataset=dataset, group=f"{dataset}/{group}"
    )


def _t0(folder: Path, labels: Mapping[str, Any]) -> Iterator[Sample]:
    for row in _rows(folder / "t0_templates_task_type.jsonl"):
        name = row["template"]
        fitting = [rule["is"] for rule in labels["t0"] if name.startswith(tuple(rule["of"]))]
        label = fitting[0] if fitting else labels["t0_defaults"][row["task"]]
        yield _english(row["prompt"], _class(label), "t0", name)


def _self_instruct(folder: Path, labels: Mapping[str, Any], dataset: str) -> Iterator[Sample]:
    by_row = {row: label for label, rows in labels[dataset].items() for row in rows}
    for number, row in enumerate(_rows(folder / f"{dataset}.jsonl")):
        given = row["instances"][0]["input"]
        text = f"{row['instruction']}\n\n{given}" if given else row["instruction"]
        yield _english(text, _class(by_row[number]), dataset, str(number))


def _benches(folder: Path, labels: Mapping[str, Any]) -> Iterator[Sample]:
    for row in _rows(folder / "mt_vicuna_bench_categories.jsonl"):
        number = str(row["question_id"])
        label = labels["benches_apart"].get(number, labels["benches"][row["category"]])
        yield _english(row["turns"][0], _class(label), "benches", number)


def _questions(folder: Path) -> Iterator[Sample]:
    for number, row in enumerate(_rows(folder / "llm_router_3level.jsonl")):
        yield _english(row["question"], (Task.OPEN_QA, False), "questions", str(number))


def _seed(folder: Path) -> Iterator[Sample]:
    path = folder / "pt_seed_task_difficulty.tsv"
    if not path.is_file():
        return
    with path.open(newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)):
            task = Task(row["task"])
            closed = row["closed"] == "1" and row["difficulty"] == "0" and task in _MAY_BE_CLOSED
            yield Sample(
                text=row["prompt"].replace("\\n", "\n"),
                task=task,
                closed=closed,
                language=Language(row["lang"]),
                dataset="seed",
                group=f"seed/{number}",
            )


_MAY_BE_CLOSED: Final = frozenset({Task.CLASSIFY, Task.EXTRACT, Task.REWRITE, Task.CLOSED_QA, Task.SUMMARISE})


def _development(folder: Path) -> Iterator[Sample]:
    """The prompts that the first recogniser was developed on; those that go up are of several tasks."""
    tasks = tomllib.loads((_HERE / "development_tasks.toml").read_text())
    for row in _rows(folder / "development_prompts.jsonl"):
        label = _KIND_OF_DEVELOPMENT.get(row["kind"]) or _class(tasks[row["id"]])
        body = row["body"]
        form = body.get("response_format") or {}
        schema = form.get("json_schema", {}).get("schema") if form.get("type") == "json_schema" else None
        yield Sample(
            text=_text(body["messages"], schema),
            task=label[0],
            closed=label[1],
            language=Language(row["language"]),
            dataset="development",
            group=f"development/{row['id']}",
        )


def _items() -> Iterator[Sample]:
    for row in closed_task_items():
        form = row["response_format"]
        task = Task.CLASSIFY if row["task"] == "language" else Task(row["task"])
        yield Sample(
            text=_text(row["messages"], form["json_schema"]["schema"] if form else None),
            task=task,
            closed=True,
            language=Language(row["language"]),
            dataset="items",
            group=f"items/{row['task']}-{row['language']}-{row['source']}",
        )


def _schema(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema that a prompt comes with; where only its presence is noted, a plain one of that task's kind."""
    if row["schema"] is True:
        return {"enum": []} if row["task"] == Task.CLASSIFY else {"type": "object"}
    return row["schema"] or None


def _prompts(path: Path, dataset: str) -> Iterator[Sample]:
    for row in _rows(path):
        language = Language(row.get("language", "en" if dataset == "prompts_en" else "pt"))
        yield Sample(
            text=_text(row["messages"], _schema(row)),
            task=Task(row["task"]),
            closed=bool(row["closed"]),
            language=language,
            dataset=dataset,
            group=f"{dataset}/{row['id']}",
        )


def _without_instruction() -> Iterator[Sample]:
    """Texts whose instruction stood in a system message, without it: nothing says what is wanted."""
    found = [
        row
        for row in closed_task_items()
        if row["task"] in {"classify", "extract"} and row["messages"][0]["role"] == "system"
    ]
    for row in found[::3]:
        yield Sample(
            text=row["messages"][-1]["content"],
            task=Task.UNKNOWN,
            closed=False,
            language=Language(row["language"]),
            dataset="items",
            group=f"items/{row['task']}-{row['language']}-{row['source']}",
            is_made=True,
        )


def _with_riders(samples: list[Sample]) -> Iterator[Sample]:
    """Every sixth closed prompt once more, with an order behind or before it that its text does not answer."""
    closed = [sample for sample in samples if sample.closed and sample.language in _RIDERS]
    for number, sample in enumerate(closed):
        if number % 6 == 0:
            riders = _RIDERS[sample.language]
            rider = riders[(number // 6) % len(riders)]
            before = "\x1e" not in sample.text and number % 4 == 0
            text = f"{rider} {sample.text}" if before else f"{sample.text}\n{rider}"
            yield replace(sample, text=text, closed=False, is_made=True)


def _respaced(samples: list[Sample]) -> Iterator[Sample]:
    """Prompts written for the repository with other paragraphs: how a client sets its lines says little."""
    for sample in samples:
        if not sample.dataset.startswith("prompts") or len(sample.text) < _LEAST_CHARACTERS_TO_RESPACE:
            continue
        if "\n\n" in sample.text:
            text = sample.text.replace("\n\n", "\n")
        elif "\n" in sample.text:
            text = sample.text.replace("\n", "\n\n")
        else:
            before, stop, last = sample.text.rpartition(". ")
            text = f"{before}.\n\n{last}" if stop else sample.text
        if text != sample.text:
            yield replace(sample, text=text, is_made=True)


def _languages(folder: Path) -> Iterator[Sample]:
    """Sentences in many languages: they teach the language, and that a sentence alone asks for nothing."""
    path = folder.parent / "closed_tasks" / "words" / "any" / "languages.txt"
    for number, line in enumerate(path.read_text().split("\n")):
        code, _, sentence = line.partition(" | ")
        if sentence:
            language = Language(code) if code in {"en", "pt"} else Language.OTHER
            yield Sample(
                text=sentence,
                task=Task.UNKNOWN,
                closed=False,
                language=language,
                dataset="languages",
                group=f"languages/{number}",
            )


def _weighted(samples: list[Sample]) -> list[Sample]:
    """A group weighs like the square root of its size: many rows of one template are no more than a few prompts."""
    sizes = Counter(sample.group for sample in samples)
    return [replace(sample, weight=sizes[sample.group] ** -0.5) for sample in samples]


def load_samples(shared: Path | None) -> list[Sample]:
    """Everything to learn from: the repository's own prompts, and the shared labels where their folder is given."""
    labels = tomllib.loads((_HERE / "labels.toml").read_text())
    folder = _REPOSITORY_DATA
    samples = [
        *_development(folder),
        *_items(),
        *_without_instruction(),
        *_prompts(folder / "prompts_en.jsonl", "prompts_en"),
        *_prompts(folder / "prompts_other.jsonl", "prompts_other"),
        *_prompts(folder / "prompts_more.jsonl", "prompts_more"),
        *_prompts(folder / "prompts_pt" / "closed.jsonl", "prompts_pt"),
        *_prompts(folder / "prompts_pt" / "open.jsonl", "prompts_pt"),
        *_languages(folder),
    ]
    if shared is not None:
        under = shared / "labels"
        found = [
            *_t0(under, labels),
            *_self_instruct(under, labels, "self_instruct_seed_tasks"),
            *_self_instruct(under, labels, "self_instruct_user_oriented"),
            *_benches(under, labels),
            *_questions(under),
            *_seed(under),
        ]
        samples += [replace(sample, is_shared=True) for sample in found]
    return _weighted([*samples, *_with_riders(samples), *_respaced(samples)])
