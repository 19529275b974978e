"""Prompts that the task model is never trained on: hard ones, and sets of one task each, written by people."""

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from teto.traffic.task import Task

__all__ = ["enem_questions", "hard_prompts", "sets_of_one_task"]

_TASK_OF_SET: Final = {
    "natural_qa": Task.OPEN_QA,
    "trivia_qa": Task.OPEN_QA,
    "arc_challenge": Task.OPEN_QA,
    "gpqa": Task.OPEN_QA,
    "math": Task.MATH,
    "gsm8k": Task.MATH,
    "mbpp": Task.CODE,
    "human_eval": Task.CODE,
    "agentverse-logicgrid": Task.REASON,
}
_FIRST_QUESTION_OF_MATHEMATICS: Final = 136  # of 180, in every ENEM since 2009


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def enem_questions(data: Path) -> Iterator[tuple[str, str, Task]]:
    """Each question of ENEM 2022 without and with its alternatives, and its task."""
    for row in _rows(data / "routing" / "enem_pt" / "enem2022_questions.csv.gz"):
        text = f"{row['context']}\n\n{row['question']}".strip()
        options = "\n".join(f"{'ABCDE'[at]}) {option}" for at, option in enumerate(json.loads(row["options"])))
        is_mathematics = int(row["number"]) >= _FIRST_QUESTION_OF_MATHEMATICS
        yield text, f"{text}\n{options}", Task.MATH if is_mathematics else Task.OPEN_QA


def hard_prompts(data: Path) -> dict[str, list[str]]:
    """Prompts that must go up, by set."""
    arena = (data / "labels" / "arena_hard_v0.1.jsonl").read_text(encoding="utf-8")
    enem = list(enem_questions(data))
    routing = data / "routing"
    return {
        "Arena-Hard": [json.loads(line)["prompt"] for line in arena.split("\n") if line],
        "GSM8K": [row["question"] for row in _rows(routing / "gsm8k_openai" / "gsm8k_6b_175b.csv.gz")],
        "MMLU": [row["prompt"] for row in _rows(routing / "routellm" / "mmlu.csv.gz")],
        "ENEM 2022, with alternatives": [full for _, full, _ in enem],
        "ENEM 2022, without alternatives": [text for text, _, _ in enem],
    }


def sets_of_one_task(data: Path) -> dict[str, tuple[Task, list[str]]]:
    """English prompts of other collections, each of one task."""
    found: dict[str, tuple[Task, list[str]]] = {name: (task, []) for name, task in _TASK_OF_SET.items()}
    for row in _rows(data / "routing" / "llmrouter" / "queries_9models_scores.csv.gz"):
        if row["task"] in found:
            found[row["task"]][1].append(row["question"])
    return found
