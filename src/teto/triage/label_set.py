"""Reads the closed set of answers that a request allows: from its schema, or from the words of its instruction."""

import re
from collections.abc import Sequence
from typing import Any, Final

from teto.triage import signs
from teto.triage.instruction import Instruction, fold

__all__ = ["label_set"]

_MOST_LABELS: Final = 40
_MOST_LABEL_WORDS: Final = 4
_WORD: Final = r"\w(?:[\w&+/-]|\.(?=\w))*"
_LABEL: Final = rf"[\"'“`«]?{_WORD}(?: {_WORD}){{0,3}}[\"'”`»]?"
_CUE: Final = (
    r"(?:labels?|tags?|options?|categor(?:y|ies)|classes|answers?|values?|choices|topics?|intents?|one of(?: these)?|"
    r"must be|between|among|either|from this list|readers of|only|is it|is this|as|choose|pick|into|"
    r"rotulos?|opcoes|categorias?|respostas?|valores?|alternativas|topicos|intencoes|uma (?:de|das|destas)(?: \w+)?|"
    r"um (?:de|dos|destes)(?: \w+)?|entre|so vale|apenas|leitores de|permitid[oa]s|possiveis|com|como|escolha|em)"
)
_STRONG_CUE: Final = (
    r"(?:(?:must be )?one of(?: these)?|must be|between|uma (?:de|das|destas)|um (?:de|dos|destes)|entre|so vale)"
)
_JOIN: Final = r"(?:\s*[,;|/]\s*(?:or |ou |and |e )?|\s+(?:or|ou)\s+)"
_LIST: Final = rf"({_LABEL}(?:{_JOIN}{_LABEL})+)"
# The surest first: brackets, a cue with a colon, a cue, and last a bare list that ends its sentence or stands alone.
_LISTS: Final = (
    re.compile(rf"[\[({{]\s*{_LIST}\s*[\])}}]"),
    re.compile(rf"\b{_CUE}(?: \w+){{0,4}}:\s*{_LIST}"),
    re.compile(rf"\b{_STRONG_CUE}\s+{_LIST}"),
    re.compile(rf"(?:^|[:.?!\n])\s*{_LIST}\s*(?=[?.\n]|$)", re.MULTILINE),
    re.compile(rf"\b{_CUE}\s+{_LIST}"),
    re.compile(r"((?<!\S)[\w-]+(?:, [\w-]+)*,? (?:or|ou) [\w-]+)"),
)
_BULLETS: Final = re.compile(r"(?:^|\n)\s*(?:[-*•]|\d+[.)])\s+(.{1,40})(?=\n|$)")
_SPLIT: Final = re.compile(_JOIN)
_EDGES: Final = " \t\n\"'“”`«»."
# What stands before the first label, or behind the last one, and belongs to the sentence.
_BEFORE: Final = re.compile(
    r"^(?:(?:please|answer|reply|respond|say|choose|pick|select|output|return|give|write|use|label|mark|classify|is it|"
    r"is this|was it|(?:of|in) (?:this|the) \w+|text in|as|with|only|just|either|one of|responda|diga|escolha|marque|"
    r"devolva|retorne|classifique|use|com|"
    r"como|apenas|so|somente|se e|e|a|an|the|o|um|uma)\s+)+"
)
_BEHIND: Final = re.compile(
    r"\s+(?:only|please|nothing else|for(?: this| the)?(?: \w+)?|apenas|somente|por favor|para \w+)$"
)
# Parts of a sentence that commas part as they part labels.
_NO_LABEL: Final = re.compile(
    r"\b(?:thanks?|thank you|obrigad[oa]|resposta|basta|lingua em que|just the|without|sem|explain\w*|expli\w+)\b"
)


def label_set(asked: Instruction, schema: dict[str, Any] | None) -> tuple[str, ...] | None:
    """The labels, folded, or None where the set is not known.

    A schema gives it when its one property, or itself, is an enumeration of strings; else the instruction may list
    it (`one of: a, b, c`, `[a | b]`, `a or b?`, a bulleted list).
    """
    if schema is not None:
        found = _enumeration(schema)
        return None if found is None else _checked(found)
    if yes_no := signs.YES_NO.search(asked.folded):
        return ("sim", "nao") if "sim" in yes_no.group(0) or yes_no.group(0) == "s/n" else ("yes", "no")
    for pattern in _LISTS:
        for match in pattern.finditer(asked.folded):
            if labels := _checked(_SPLIT.split(match.group(1))):
                return labels
    return _checked(_BULLETS.findall(asked.folded))


def _enumeration(schema: dict[str, Any]) -> list[str] | None:
    fields = schema.get("properties")
    inner: Any = next(iter(fields.values())) if isinstance(fields, dict) and len(fields) == 1 else schema
    if not isinstance(inner, dict):
        return None
    values = inner.get("enum")
    if inner.get("type") == "boolean":
        return ["true", "false"]
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else None


def _checked(labels: Sequence[str]) -> tuple[str, ...] | None:
    """The labels if they can be a set of answers: two or more, distinct, short."""
    plain = [_BEHIND.sub("", _BEFORE.sub("", fold(label).strip(_EDGES))) for label in labels]
    plain = [label for label in plain if not _NO_LABEL.search(label)]
    if not 2 <= len(plain) <= _MOST_LABELS or len(set(plain)) < len(plain):
        return None
    if not all(label and len(label.split()) <= _MOST_LABEL_WORDS and "¶" not in label for label in plain):
        return None
    return tuple(plain)
