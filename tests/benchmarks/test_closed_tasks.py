"""The closed-task set: what it holds, and that its checks know right from wrong."""

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from closed_tasks.item import LANGUAGES, TASKS
from closed_tasks.items import SLICE_SIZE, prompt_key, rendered
from closed_tasks.words import frames
from teto.closed_tasks.check import fold, is_right

_DATA = Path(__file__).resolve().parents[2] / "benchmarks" / "data"
_FILE = Path(__file__).resolve().parents[2] / "src" / "teto" / "closed_tasks" / "items.jsonl"
_FRAMES = {"closed_qa": "qa_frames", "code": "code_frames"}
_SHARED_WORDS = 8


@cache
def _items() -> list[dict[str, Any]]:
    return [json.loads(line) for line in _FILE.read_text(encoding="utf-8").split("\n") if line]


def _check(**fields: Any) -> dict[str, Any]:
    return {"check": fields}


_LABEL = _check(kind="label", expected="urgent", labels=["urgent", "not urgent"])
_MOOD = _check(kind="label", expected="não urgente", labels=["urgente", "não urgente"])
_INTENT = _check(kind="label", expected="ask_loan", labels=["ask_loan", "make_transfer"])
_FIELDS = _check(kind="json_fields", expected={"name": ["Ana Sá"], "count": [3], "total": [4.5], "open": [True]})
_YES = _check(kind="yes_no", expected="yes")
_NO = _check(kind="yes_no", expected="no")
_SPAN = _check(kind="span", accept=["18 March", "March 18"], reject=["4 March"])
_NUMBER = _check(kind="span", accept=["14"], reject=["30"])
_TEXT = _check(kind="transform", expected=["A rua está cheia."], keeps_case=False, keeps_commas=False)
_LOUD = _check(kind="transform", expected=["THE RIVER"], keeps_case=True, keeps_commas=True)
_LIST = _check(kind="transform", expected=["- a\n- b"], keeps_case=False, keeps_commas=True)
_FACTS = _check(kind="facts", all=[["rose", "grew"], ["30"]], none=["20"], max_words=8)
_NAMED = _check(kind="language", expected="pt", form="name")
_CODED = _check(kind="language", expected="no", form="code", accept=["nb"])
_CODE = _check(kind="code", name="twice", stub="def twice(x):", tests=["assert twice(2) == 4", "assert twice(0) == 0"])

_RIGHT = [
    (_LABEL, "Urgent."),
    (_LABEL, '"urgent"'),
    (_LABEL, "The priority is urgent"),
    (_LABEL, '{"priority": "urgent"}'),
    (_LABEL, "urgent\n\nIt is not urgent in itself, but the writer asks for help."),
    (_MOOD, "Nao urgente"),
    (_INTENT, "Ask loan"),
    (_FIELDS, '{"name": "ana sa", "count": 3, "total": 4.50, "open": true}'),
    (_FIELDS, '```json\n{"open": true, "name": "Ana Sá", "count": 3, "total": 4.5}\n```'),
    (_YES, "Yes, it is."),
    (_YES, "sim"),
    (_NO, "**No**"),
    (_NO, "A resposta é não."),
    (_SPAN, "march 18."),
    (_SPAN, "The launch is on 18 March."),
    (_NUMBER, "It took 14 minutes."),
    (_TEXT, "a rua  está cheia"),
    (_TEXT, 'Frase corrigida: "A rua está cheia."'),
    (_LOUD, "THE RIVER."),
    (_LIST, "* a\n* b"),
    (_LIST, "```\n- a\n- b\n```"),
    (_FACTS, "Sales grew to 30 units."),
    (_NAMED, "Portuguese"),
    (_NAMED, "Brazilian Portuguese"),
    (_NAMED, 'O texto "Ich bin, tu és" está em português.'),
    (_NAMED, '{"language": "portugues"}'),
    (_CODED, "nb"),
    (_CODED, "NO"),
    (_CODE, "def twice(x):\n    return 2 * x"),
    (_CODE, "Here it is:\n```python\nimport math\n\ndef twice(x):\n    return x + x\n```\nIt adds x to itself."),
    (_CODE, "    return x * 2"),
    (_CODE, "y = x\n    return y + y"),
    (_CODE, "x * 2"),
    (_CODE, "def twice(x):\n    return x * 2\n\nThis function doubles x."),
]

_WRONG = [
    (_LABEL, ""),
    (_LABEL, "not urgent"),
    (_LABEL, "urgent or not urgent"),
    (_LABEL, "It isn't urgent"),
    (_LABEL, '{"priority": "not urgent"}'),
    (_MOOD, "urgente"),
    (_INTENT, "loan"),
    (_FIELDS, '{"name": "Ana", "count": 3, "total": 4.5, "open": true}'),
    (_FIELDS, '{"name": "Ana Sá", "count": "3", "total": 4.5, "open": true}'),
    (_FIELDS, '{"name": "Ana Sá", "count": 3, "total": 4.5, "open": 1}'),
    (_FIELDS, '{"name": "Ana Sá", "count": 3, "total": 4.5}'),
    (_FIELDS, '{"name": "Ana Sá", "count": 3, "total": 4.5, "open": true, "more": 1}'),
    (_FIELDS, "Ana Sá, 3, 4.5, true"),
    (_YES, "No."),
    (_YES, "It depends"),
    (_YES, "It could be yes or no"),
    (_NO, "sim"),
    (_SPAN, "4 March"),
    (_SPAN, "18 March or 4 March"),
    (_SPAN, "March"),
    (_NUMBER, "14:30"),
    (_NUMBER, "114"),
    (_TEXT, "A rua esta cheia."),
    (_TEXT, "A rua está muito cheia."),
    (_LOUD, "The River"),
    (_LIST, "a, b"),
    (_LIST, "- b\n- a"),
    (_FACTS, "Sales grew."),
    (_FACTS, "Sales grew from 20 to 30."),
    (_FACTS, "Sales grew to 300."),
    (_FACTS, "Last month the sales of the little shop near the station grew to 30."),
    (_NAMED, "Spanish"),
    (_NAMED, "Portuguese or Galician"),
    (_NAMED, "pt"),
    (_CODED, "Norwegian"),
    (_CODED, "sv"),
    (_CODE, "def twice(x):\n    return x"),
    (_CODE, "def double(x):\n    return 2 * x"),
    (_CODE, "I cannot do that."),
    (_CODE, ""),
]

_ESCAPES = [
    "    while True: pass",
    "    raise SystemExit(0)",
    "    open('/etc/hostname').read()\n    return 2 * x",
    "    open('left_behind', 'w')\n    return 2 * x",
    "    import socket\n    socket.socket()\n    return 2 * x",
    "    import subprocess\n    subprocess.run(['true'])\n    return 2 * x",
    "    import os\n    os.system('true')\n    return 2 * x",
    "    return len(bytearray(10 ** 10)) and 2 * x",
]


def test_the_file_is_what_the_generator_writes() -> None:
    """Nothing is edited by hand, and every machine makes the same set."""
    assert _FILE.read_text(encoding="utf-8") == rendered()
    assert _FILE.stat().st_size < 6_000_000


@pytest.mark.parametrize("task", TASKS)
def test_gold_answers_pass_their_own_check(task: str) -> None:
    """An item whose own answer is called wrong would be an error of the set."""
    items = [item for item in _items() if item["task"] == task]
    with ThreadPoolExecutor(2) as pool:
        right = list(pool.map(lambda item: is_right(item, item["answer"]), items))
    assert [item["id"] for item, passed in zip(items, right, strict=True) if not passed] == []


@pytest.mark.parametrize(("item", "answer"), _RIGHT)
def test_a_right_answer_may_be_dressed(item: dict[str, Any], answer: str) -> None:
    """Case, quotes, fences, final points and one short sentence around it do not make an answer wrong."""
    assert is_right(item, answer)


@pytest.mark.parametrize(("item", "answer"), _WRONG)
def test_a_wrong_answer_fails(item: dict[str, Any], answer: str) -> None:
    """Nothing passes by being near, by naming everything or by saying nothing."""
    assert not is_right(item, answer)


@pytest.mark.parametrize("body", _ESCAPES)
def test_code_cannot_leave_its_process(body: str) -> None:
    """Files, sockets, processes, much memory and endless loops are a failed answer, and so is an early exit."""
    assert not is_right(_CODE, f"def twice(x):\n{body}\n")


def test_other_labels_and_the_prompt_itself_are_wrong() -> None:
    """No item is passed by the answer to its neighbour, by an empty answer or by repeating the prompt."""
    for item in _items():
        check = item["check"]
        if check["kind"] == "code":
            continue
        assert not is_right(item, ""), item["id"]
        if check["kind"] not in {"label", "yes_no", "language", "facts", "span"}:
            assert not is_right(item, item["messages"][-1]["content"]), item["id"]
        if check["kind"] == "label":
            assert not any(is_right(item, label) for label in check["labels"] if label != check["expected"]), item["id"]
        if check["kind"] == "yes_no":
            other = next(label for label in item["labels"] if label != item["answer"])
            assert not is_right(item, other), item["id"]
        if check["kind"] == "span":
            assert not any(is_right(item, wrong) for wrong in check["reject"]), item["id"]


def test_slices_are_of_one_size_and_of_many_sources() -> None:
    """Half English and half Portuguese, at least 260 a slice, and no source carries a slice."""
    slices = Counter((item["task"], item["language"]) for item in _items())
    assert slices == {(task, language): SLICE_SIZE for task in TASKS for language in LANGUAGES}
    assert SLICE_SIZE >= 260
    for task, language in slices:
        sources = Counter(item["source"] for item in _items() if (item["task"], item["language"]) == (task, language))
        assert len(sources) >= 6, (task, language)
        assert max(sources.values()) <= SLICE_SIZE / 3, (task, language, sources)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("task", TASKS)
def test_instructions_are_put_in_many_ways(task: str, language: str) -> None:
    """Each task has at least eight phrasings in each language, some of them with a system message."""
    found = frames(language, _FRAMES.get(task, f"{task}_frames"))
    assert len({frame.system + frame.user for frame in found}) >= 8
    assert any(frame.system for frame in found)


def test_answers_and_difficulties_are_mixed() -> None:
    """Every slice has easy, medium and hard items, and neither yes nor no is the safe answer."""
    for task in TASKS:
        for language in LANGUAGES:
            found = [item for item in _items() if (item["task"], item["language"]) == (task, language)]
            levels = Counter(item["difficulty_hint"] for item in found)
            assert min(levels[level] for level in ("easy", "medium", "hard")) >= 26, (task, language, levels)
    said = Counter(item["check"]["expected"] for item in _items() if item["check"]["kind"] == "yes_no")
    assert 0.4 <= said["yes"] / said.total() <= 0.6


def test_items_and_ids_are_unique() -> None:
    """Two items that differ in case and white space alone would be one."""
    assert len({item["id"] for item in _items()}) == len(_items())
    assert len({prompt_key(item["messages"]) for item in _items()}) == len(_items())


def test_prompts_are_short() -> None:
    """They are run on slow processors: no prompt is longer than 190 words, half are under 50."""
    lengths = sorted(sum(len(message["content"].split()) for message in item["messages"]) for item in _items())
    assert lengths[-1] <= 190
    assert lengths[len(lengths) // 2] < 50


def _runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", fold(text))
    return {tuple(words[at : at + _SHARED_WORDS]) for at in range(len(words) - _SHARED_WORDS + 1)}


def test_no_text_is_shared_with_the_development_prompts() -> None:
    """The recogniser was developed on those prompts: not eight words in a row may be theirs, nor a whole line."""
    lines = (_DATA / "development_prompts.jsonl").read_text(encoding="utf-8").split("\n")
    theirs = [message["content"] for line in lines if line for message in json.loads(line)["body"]["messages"]]
    runs = set().union(*(_runs(text) for text in theirs))
    whole = {fold(line) for text in theirs for line in text.split("\n") if len(line.split()) >= 4}
    for item in _items():
        for message in item["messages"]:
            assert not runs & _runs(message["content"]), item["id"]
            assert not whole & {fold(line) for line in message["content"].split("\n")}, item["id"]
