"""Whether two answers to one request say the same, where a program can tell: strict in substance, lenient in dress.

Case, accents, punctuation, a code fence, a short sentence around a label or a span, and the format of a number, a date
or a document's number do not matter. Where it takes judgement the answer is None, which counts as neither: a refusal,
a long text, another order of a list, short texts that share a word or a figure and differ in the rest.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from teto.traffic.task import Task
from teto.triage.instruction import fold
from teto.triage.spellings import dates, is_spelled_number, numbers

__all__ = ["TESTABLE_TASKS", "agree"]

# Of other tasks only equal answers can be told, never different ones: what is fed by them alone sees no error.
TESTABLE_TASKS: Final = frozenset({Task.CLASSIFY, Task.EXTRACT, Task.CLOSED_QA})

_MOST_LABEL_WORDS: Final = 6
_MOST_SPAN_WORDS: Final = 12
_MOST_WORDS_AROUND: Final = 14  # what is asked for may stand in one short sentence
_STEM: Final = 4
_LEAST_CODE_DIGITS: Final = 7  # phones, postal codes, CPF and CNPJ: their punctuation is dress
_FENCE: Final = re.compile(r"```[\w-]*\n(.*?)\n?```", re.DOTALL)
_QUOTES: Final = "\"'`“”‘’«»*"
_TOKEN: Final = re.compile(r"[<>≤≥=]|\w+(?:[.,:/]\w+)*[+#]*")
_NEGATIVE: Final = re.compile(r"[-−](?:[A-Z]{0,2}[$€£] ?)?\d")
_REFUSAL: Final = re.compile(
    r"(?:i'?m |i am )?sorry\b|i (?:can ?not|can't|am unable)\b|as an ai\b"
    r"|(?:desculpe|lamento|sinto muito|nao (?:posso|consigo))\b"
)
_NEGATIONS: Final = frozenset({"not", "isn't", "neither", "nor", "no", "non", "nao", "nem", "nenhum", "nenhuma", "sem"})
_YES: Final = frozenset({"yes", "sim", "true", "verdadeiro"})
_NO: Final = frozenset({"no", "nao", "false", "falso"})
# What people and models wrap a label in; a label that is made of these words alone is left whole.
_AROUND: Final = frozenset(
    word
    for line in (
        "the a an this that it its is are was as of to i would say be classified labeled labelled categorized belongs",
        "falls under into expresses has label category class classification sentiment tone topic intent language",
        "answer text review message email ticket comment sentence overall final correct",
        "o os um uma este esta esse essa isso isto e de do da em como eu diria ser foi classificado classificada",
        "pertence expressa tem rotulo categoria classe classificacao sentimento tom topico assunto intencao idioma",
        "resposta texto avaliacao mensagem comentario frase correto correta",
    )
    for word in line.split()
)
_ARTICLES: Final = frozenset({"the", "a", "an", "o", "os", "as"})
# Portuguese `no` is `in the`, and `não consta` says that the text is silent.
_LEADING: Final = re.compile(
    r"(yes|sim)\b"
    r"|(nao)\b(?! (?:consta|informad|e informad|ha informa|menciona|e menciona|e possivel|se sabe|sei|esta claro))"
    r"|(true|verdadeiro|false|falso)\b(?=\s*(?:$|[^\w\s]))"
    r"|(no)\b(?=\s*(?:$|[^\w\s])|\s+(?:it|he|she|they|there|the|this|that|i|we|you)\b)"
)
_BOTH: Final = re.compile(r"(?:yes|sim|no|nao)\W+(?:and|or|e|ou)\W+(?:yes|sim|no|nao)\b")


def agree(
    task: Task,
    local: str,
    cloud: str,
    *,
    schema: Mapping[str, Any] | None,
    labels: Sequence[str] | None = None,
) -> bool | None:
    """Whether the answers say the same; None where a program cannot tell.

    Args:
        task: what was asked for. Outside `TESTABLE_TASKS` the answer is True or None, never False.
        local: the answer that was kept.
        cloud: the cloud's answer to the same request.
        schema: that of a structured answer; both are then compared as JSON.
        labels: the closed set of answers where it is known (`closed_labels`); it makes labels sure.
    """
    first, second = _unfenced(local), _unfenced(cloud)
    if not first or not second or _REFUSAL.match(_folded(first)) or _REFUSAL.match(_folded(second)):
        return None
    if task not in TESTABLE_TASKS:
        return True if _exact(first) == _exact(second) else None
    values = _decoded(first), _decoded(second)
    structured = [isinstance(value, dict | list) for value in values]
    if schema is not None or all(structured):
        return None if _NO_JSON in values else _same_value(*values)
    first, second = (_single(value, text) for value, text in zip(values, (first, second), strict=True))
    said = _yes_or_no(first), _yes_or_no(second)
    if task is not Task.EXTRACT and None not in said:
        return said[0] is said[1]
    if task is Task.CLOSED_QA and said != (None, None):
        return None
    return _same_label(first, second, labels) if task is Task.CLASSIFY else _same_span(first, second)


_NO_JSON: Final = msgspec.UNSET


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return _NO_JSON


def _single(value: Any, text: str) -> str:
    """The one string of an object like {"label": "spam"} that nobody asked to be an object; else the text."""
    inner = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
    return inner if isinstance(inner, str) else text


def _unfenced(text: str) -> str:
    fenced = _FENCE.fullmatch(text.strip())
    return (fenced.group(1) if fenced else text).strip()


def _folded(text: str) -> str:
    return fold(text.replace("’", "'")).strip()


def _exact(text: str) -> str:
    """Space and surrounding quotes aside: a rewrite may be about case, accents or punctuation."""
    return " ".join(text.split()).strip(_QUOTES + " ")


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(_folded(text).replace("_", " "))


def _without(words: Sequence[str], taken: Sequence[str]) -> list[str] | None:
    """What is left of the words when the others are cut out in one piece; None where they are no piece of them."""
    size = len(taken)
    for at in range(len(words) - size + 1) if size else ():
        if list(words[at : at + size]) == list(taken):
            return [*words[:at], *words[at + size :]]
    return None


def _all(verdicts: Iterable[bool | None]) -> bool | None:
    """One difference is a difference, and what cannot be told leaves the whole untold."""
    found = set(verdicts)
    return False if False in found else None if None in found else True


def _same_value(first: Any, second: Any) -> bool | None:
    """Two JSON values: the same fields, types and values. Numbers by value, strings as `_same_text` says."""
    if isinstance(first, bool) or isinstance(second, bool) or first is None or second is None:
        return first is second
    if isinstance(first, int | float) and isinstance(second, int | float):
        exact = isinstance(first, int) and isinstance(second, int)
        return first == second if exact else math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(first, str) and isinstance(second, str):
        return _same_text(first, second)
    if isinstance(first, dict) and isinstance(second, dict):
        if first.keys() != second.keys():
            return False
        return _all(_same_value(value, second[name]) for name, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return _same_list(first, second)
    return False


def _same_list(first: list[Any], second: list[Any]) -> bool | None:
    """Element by element. The same elements in another order are untold: whether order was asked for is not known."""
    if len(first) != len(second):
        return False
    in_order = _all(_same_value(one, other) for one, other in zip(first, second, strict=True))
    if in_order is not False:
        return in_order
    left = list(second)
    for one in first:
        match = next((at for at, other in enumerate(left) if _same_value(one, other)), None)
        if match is None:
            return False
        del left[match]
    return None


def _same_text(first: str, second: str) -> bool | None:
    """Two short strings; None for long ones that differ."""
    words, others = _tokens(first), _tokens(second)
    if not words or not others:  # nothing but symbols
        return first.strip() == second.strip()
    if words == others:
        return _signed(first) == _signed(second)
    for read in (numbers, dates):
        meant, meant_too = read(_folded(first)), read(_folded(second))
        if meant and meant_too:
            return not meant.isdisjoint(meant_too)
    digits = [sum(char.isdigit() for char in text) for text in (first, second)]
    if min(digits) >= _LEAST_CODE_DIGITS and _letters(first) == _letters(second):
        return True
    is_long = max(len(words), len(others)) > _MOST_SPAN_WORDS
    return None if is_long or _overlap(words, others) else False


def _overlap(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two texts that differ may mean one thing: a number in common, or without numbers a word's beginning.

    `18 March` and `the 18th of March`, `towel` and `towels`, `Mr Crane` and `Crane`; a number may be in words.
    """
    figures, others_figures = ({run for word in text for run in re.findall(r"\d+", word)} for text in (words, others))
    if figures and others_figures:
        return not figures.isdisjoint(others_figures)
    if figures or others_figures:
        return is_spelled_number(others if figures else words)
    starts, others_starts = ({word[:_STEM] for word in text if word not in _AROUND} for text in (words, others))
    return not starts.isdisjoint(others_starts)


def _signed(text: str) -> bool:
    """Whether it is a negative number, whose sign is no word."""
    return _NEGATIVE.match(text.strip(_QUOTES + " ")) is not None


def _letters(text: str) -> str:
    return "".join(char for char in _folded(text) if char.isalnum())


def _yes_or_no(text: str) -> bool | None:
    line = _folded(text).strip(_QUOTES + " ").split("\n", 1)[0]
    if _BOTH.match(line):
        return None
    leading = _LEADING.match(line)
    core = _core(line)
    word = leading.group(0) if leading else core[0] if len(core) == 1 else ""
    return True if word in _YES else False if word in _NO else None


def _core(text: str) -> list[str]:
    """An answer's words without those that labels are wrapped in."""
    words = _tokens(text)
    return [word for word in words if word not in _AROUND] or words


def _head(text: str) -> str:
    """A label's line, without the explanation below it."""
    line = text.split("\n", 1)[0]
    return line if len(_tokens(line)) <= _MOST_LABEL_WORDS else text


def _same_label(first: str, second: str, labels: Sequence[str] | None) -> bool | None:
    if labels is not None:
        named = _named(_head(first), labels), _named(_head(second), labels)
        if None not in named:
            return named[0] == named[1]
    words, others = _core(_head(first)), _core(_head(second))
    if words == others and words:
        return True
    shorter, longer = sorted((words, others), key=len)
    if (rest := _without(longer, shorter)) is not None:
        return False if _NEGATIONS.issuperset(rest) else None
    if not shorter:
        return first.strip() == second.strip()
    return False if labels is None and len(longer) <= _MOST_LABEL_WORDS else None


def _named(text: str, labels: Sequence[str]) -> str | None:
    """The one label that an answer is, or that its short sentence names without a negation."""
    words = _tokens(text)
    split = {label: _tokens(label) for label in labels}
    for label, own in split.items():
        if own and own in (words, _core(text)):
            return label
    found, rest = [], words
    for label, own in sorted(split.items(), key=lambda item: -len(item[1])):
        while (cut := _without(rest, own)) is not None:
            found.append(label)
            rest = cut
    is_sure = len(set(found)) == 1 and len(rest) <= _MOST_WORDS_AROUND and not _NEGATIONS.intersection(rest)
    return found[0] if is_sure else None


def _same_span(first: str, second: str) -> bool | None:
    """Two spans: equal, or one inside the other's short sentence. A difference only between two short ones."""
    words, others = ([word for word in _tokens(text) if word not in _ARTICLES] for text in (first, second))
    if words == others and words:
        return _signed(first) == _signed(second)
    verdict = _same_text(first, second)
    if verdict:
        return True
    shorter, longer = sorted((words, others), key=len)
    if (rest := _without(longer, shorter)) is not None:
        has_digits = [any(char.isdigit() for word in part for char in word) for part in (shorter, rest)]
        if len(rest) > _MOST_WORDS_AROUND or _NEGATIONS.intersection(rest) or all(has_digits):
            return None
        return True
    return None if sorted(words) == sorted(others) else verdict
