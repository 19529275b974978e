"""Whether an answer to a closed task is right: strict about what was asked, lenient about how it is dressed.

Case, surrounding quotes, final punctuation and a code fence never matter; accents matter only where the task is to
write them. Nothing here does I/O, except that code is run in a process of its own (`sandbox`).
"""

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any, Final

from teto.closed_tasks.answer_code import programs
from teto.closed_tasks.language_names import NAMES
from teto.closed_tasks.sandbox import passes

__all__ = ["fold", "is_right"]

_QUOTES: Final = "\"'`“”‘’«»*"
_MOST_WORDS_AROUND = 14  # a label, a name or a span may stand in one short sentence
_NEGATIONS: Final = frozenset({"not", "isn't", "neither", "nor", "nao", "nem", "nenhum", "nenhuma"})
_YES: Final = frozenset({"yes", "sim"})
_NO: Final = frozenset({"no", "nao"})


def is_right(item: dict[str, Any], answer_text: str) -> bool:
    """Whether the answer passes the item's own check."""
    check = item["check"]
    return _CHECKS[check["kind"]](check, answer_text)


def fold(text: str) -> str:
    """Lower case without accents, typographic quotes made plain, white space made single."""
    plain = unicodedata.normalize("NFKD", text.replace("’", "'").replace("–", "-").lower())
    return " ".join("".join(char for char in plain if not unicodedata.combining(char)).split())


def _unfenced(text: str) -> str:
    fenced = re.fullmatch(r"```[\w-]*\n(.*?)\n?```", text.strip(), flags=re.DOTALL)
    return (fenced.group(1) if fenced else text).strip()


def _bare(text: str) -> str:
    """Without a code fence, surrounding quotes and final punctuation."""
    return _unfenced(text).strip(_QUOTES + " ").rstrip(".!;,").strip(_QUOTES + " ")


def _first_line(text: str) -> str:
    return _bare(text).split("\n", 1)[0]


def _json(text: str) -> Any:
    """The JSON value of an answer, fenced or not; None when it is no JSON."""
    try:
        return json.loads(_unfenced(text))
    except ValueError:
        return None


def _names(text: str, phrase: str) -> bool:
    """Whether folded text holds the folded phrase as whole words and whole numbers."""
    edge = re.escape(fold(phrase))
    return re.search(rf"(?<!\w)(?<!\d[.,:]){edge}(?!\w)(?![.,:]\d)", text) is not None


def _named(text: str, phrases: list[str]) -> set[str]:
    """The phrases that the text holds, the longest first, so that `not urgent` is not also `urgent`."""
    found = set()
    for phrase in sorted(phrases, key=len, reverse=True):
        if _names(text, phrase):
            found.add(phrase)
            text = text.replace(fold(phrase), " _ ")
    return found


def _label(check: dict[str, Any], answer: str) -> bool:
    parsed = _json(answer)
    if isinstance(parsed, dict):
        value = next(iter(parsed.values())) if len(parsed) == 1 else None
        return isinstance(value, str) and _spaced(value) == _spaced(check["expected"])
    line = _spaced(_first_line(answer))
    labels = [_spaced(label) for label in check["labels"]]
    wanted = _spaced(check["expected"])
    if line in labels:
        return line == wanted
    named = _named(line, labels)
    rest = line.replace(wanted, " ").split()
    return named == {wanted} and len(rest) <= _MOST_WORDS_AROUND and not _NEGATIONS.intersection(rest)


def _spaced(label: str) -> str:
    return fold(_bare(label).replace("_", " "))


def _json_fields(check: dict[str, Any], answer: str) -> bool:
    value = _json(answer)
    expected = check["expected"]
    if not isinstance(value, dict) or value.keys() != expected.keys():
        return False
    return all(any(_same(value[field], one) for one in accepted) for field, accepted in expected.items())


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, bool) or isinstance(found, bool) or wanted is None:
        return found is wanted
    if isinstance(wanted, str):
        return isinstance(found, str) and fold(_bare(found)) == fold(_bare(wanted))
    return isinstance(found, int | float) and abs(found - wanted) < 1e-9


def _yes_no(check: dict[str, Any], answer: str) -> bool:
    words = re.findall(r"\w+", fold(_first_line(answer)))
    if not words:
        return False
    if words[0] in _YES | _NO:
        said = words[0] in _YES
    else:
        said_yes, said_no = bool(_YES.intersection(words)), bool(_NO.intersection(words))
        if said_yes == said_no:
            return False
        said = said_yes
    return said is bool(check["expected"] == "yes")


def _span(check: dict[str, Any], answer: str) -> bool:
    text = fold(_bare(answer))
    accepted = sorted((fold(_bare(one)) for one in check["accept"]), key=len, reverse=True)
    if text in accepted:
        return True
    found = [one for one in accepted if _names(text, one)]
    if not found or len(text.split()) > len(found[0].split()) + _MOST_WORDS_AROUND:
        return False
    for one in found:
        text = text.replace(one, " _ ")
    return not any(_names(text, other) for other in check["reject"])


def _plain(text: str, *, keeps_case: bool, keeps_commas: bool) -> str:
    text = unicodedata.normalize("NFC", text).replace("’", "'").replace("“", '"').replace("”", '"')
    text = re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "- ", text, flags=re.MULTILINE)
    text = "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())
    text = text.strip(_QUOTES + " ").rstrip(".!").strip(_QUOTES + " ")
    text = text if keeps_commas else text.replace(",", "")
    return text if keeps_case else text.lower()


def _transform(check: dict[str, Any], answer: str) -> bool:
    kept = {"keeps_case": bool(check["keeps_case"]), "keeps_commas": bool(check["keeps_commas"])}
    wanted = {_plain(one, **kept) for one in check["expected"]}
    text = _unfenced(answer)
    forms = [text]
    head, colon, rest = text.partition(":")
    if colon and len(head.split()) <= 8:  # `Here is the sentence: ...`
        forms.append(rest)
    return any(_plain(form, **kept) in wanted for form in forms)


def _tells(text: str, fact: str) -> bool:
    """Whether folded text holds a word that begins like the fact; what has a digit must end there too."""
    folded = fold(fact)
    end = r"(?!\w)(?![.,:]\d)" if folded[0].isdigit() or folded[-1].isdigit() else ""
    return re.search(rf"(?<!\w)(?<!\d[.,:]){re.escape(folded)}{end}", text) is not None


def _facts(check: dict[str, Any], answer: str) -> bool:
    text = fold(_bare(answer))
    if not text or len(text.split()) > 1.25 * check["max_words"]:
        return False
    if not all(any(_tells(text, one) for one in fact) for fact in check["all"]):
        return False
    return not any(_names(text, other) for other in check["none"])


def _language(check: dict[str, Any], answer: str) -> bool:
    line = re.sub(r'"[^"]+"', "", fold(_first_line(answer)))  # an answer may quote the text
    parsed = _json(answer)
    if isinstance(parsed, dict) and len(parsed) == 1:
        line = fold(str(next(iter(parsed.values()))))
    code: str = check["expected"]
    if check["form"] == "code":
        accepted: list[str] = [code, *check["accept"]]
        return line in accepted or line.startswith(f"{code}-")
    named = {one for one, names in NAMES.items() if any(_names(line, name) for name in names)}
    return named == {code} and len(line.split()) <= _MOST_WORDS_AROUND


def _code(check: dict[str, Any], answer: str) -> bool:
    return any(passes(program, check["tests"]) for program in programs(answer, check["stub"], check["name"]))


_CHECKS: Final[dict[str, Callable[[dict[str, Any], str], bool]]] = {
    "label": _label,
    "json_fields": _json_fields,
    "yes_no": _yes_no,
    "span": _span,
    "transform": _transform,
    "facts": _facts,
    "language": _language,
    "code": _code,
}
