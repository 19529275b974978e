"""E-mail addresses and the keys of services."""

import re
from collections import Counter
from collections.abc import Iterator
from math import log2
from typing import Final

from teto.triage.privacy.finding import Span

__all__ = ["find_api_key", "find_email"]

# An address begins where no character of a name stands before it and its parts are bounded: a long word costs nothing.
_EMAIL: Final = re.compile(
    r"(?<![\w.%+'-])[\w.%+'-]{1,64}+@(?:[^\W_](?:[\w-]{0,62})\.){1,8}([A-Za-z]{2,24}|[^\W\d_a-zA-Z]{2,24})(?![\w-])"
)
_FILES: Final = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "css", "js", "ts", "map", "html"})


def find_email(text: str) -> Iterator[Span]:
    """E-mail addresses; not `git@host` of a repository, and not `logo@2x.png`."""
    for found in _EMAIL.finditer(text) if "@" in text else ():
        if found[1].lower() in _FILES or found[0].startswith("git@"):
            continue
        yield found.span()


# Keys that their issuer marks: the mark, and what follows it. A key begins where no letter, digit or underscore stands
# before it. Each pattern begins with its mark, which is searched for at the speed of memory.
_WORD: Final = "0-9A-Za-z_"
_MARKS: Final = {
    "sk-ant-": r"[\w-]{20,256}+",
    "sk-": r"(?:(?:proj|svcacct|admin|or-v1)-[\w-]{20,256}+|[0-9A-Za-z]{20,128}+)",
    "ghp_": "[0-9A-Za-z]{36,255}+",
    "gho_": "[0-9A-Za-z]{36,255}+",
    "ghu_": "[0-9A-Za-z]{36,255}+",
    "ghs_": "[0-9A-Za-z]{36,255}+",
    "ghr_": "[0-9A-Za-z]{36,255}+",
    "github_pat_": f"[{_WORD}]{{22,255}}+",
    "AKIA": "[0-9A-Z]{16}(?![0-9A-Za-z])",
    "ASIA": "[0-9A-Z]{16}(?![0-9A-Za-z])",
    "AIza": r"[\w-]{35}(?![\w-])",
    "xox": "[abeoprs]-[0-9A-Za-z-]{10,255}+",
    "xapp-": "[0-9A-Za-z-]{10,255}+",
    "hf_": "[0-9A-Za-z]{30,128}+",
    "gsk_": "[0-9A-Za-z]{30,128}+",
    "glpat-": r"[\w-]{20,128}+",
    "npm_": "[0-9A-Za-z]{36}(?![0-9A-Za-z])",
    "pypi-": r"[\w-]{32,255}+",
    "sk_": "(?:live|test)_[0-9A-Za-z]{16,255}+",
    "pk_": "(?:live|test)_[0-9A-Za-z]{16,255}+",
    "rk_": "(?:live|test)_[0-9A-Za-z]{16,255}+",
    "SG.": r"[\w-]{16,64}+\.[\w-]{16,64}+",
    "ya29.": r"[\w-]{20,255}+",
    "APP_USR-": "[0-9A-Za-z-]{20,255}+",
    "eyJ": r"[\w-]{8,8192}+\.eyJ[\w-]{8,8192}+\.[\w-]{8,8192}+",
}
_MARKED: Final = {
    mark: re.compile(f"{re.escape(mark)}(?<![{_WORD}]{re.escape(mark)}){tail}") for mark, tail in _MARKS.items()
}
_ALSO_IN_NAMES: Final = frozenset({"sk-", "pypi-"})  # without a digit it is a name: pypi-with-many-words-behind-it
_PEM: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END: Final = re.compile(r"-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_LONGEST: Final = 8192
# A value that is assigned, and the name that stands before the sign.
_ASSIGNED: Final = re.compile(
    r"[:=]>? {0,3}[\"'\\]{0,3}(?:[Bb]earer {1,3}|[Bb]asic {1,3}|[Tt]oken {1,3})?"
    r"([0-9A-Za-z_\-/+.~]{16,512}+(?:={1,2}(?![0-9A-Za-z=]))?)"
)
_NAME: Final = re.compile(
    r"(?:api[_-]?key|chave[_-]?(?:de[_-]?)?api|secret|secret[_-]?key|access[_-]?key|private[_-]?key"
    r"|(?:access|auth|refresh|bearer|api|bot)[_-]?token|passw(?:or)?d|senha|authorization)[\"'\\ ]{0,4}:?\Z",
    re.IGNORECASE,
)
_LONGEST_NAME: Final = 32
# Of 10,000 random values of 32 hexadecimal digits all have more, of 20 digits all but 10.
_LEAST_ENTROPY_BITS: Final = 2.75
_MOST_LOOKED_AT: Final = 128


def _entropy_bits(text: str) -> float:
    """Shannon's entropy of a character of the text: 4 for random hexadecimal, near 6 for random base64."""
    counts = Counter(text[:_MOST_LOOKED_AT])
    total = sum(counts.values())
    return -sum(count / total * log2(count / total) for count in counts.values())


def _looks_random(value: str) -> bool:
    has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return has_both and _entropy_bits(value) >= _LEAST_ENTROPY_BITS


def find_api_key(text: str) -> Iterator[Span]:
    """Keys: those with a known prefix, JSON web tokens, private keys in PEM, and random values assigned to a name."""
    for mark, pattern in _MARKED.items():
        if mark in text:
            for found in pattern.finditer(text):
                if mark not in _ALSO_IN_NAMES or any(character.isdigit() for character in found[0]):
                    yield found.span()
    if "-----BEGIN " in text:
        for found in _PEM.finditer(text):
            end = _PEM_END.search(text, found.end(), found.end() + _PEM_LONGEST)
            yield found.start(), end.end() if end is not None else found.end()
    for found in _ASSIGNED.finditer(text):
        named = _NAME.search(text[max(0, found.start() - _LONGEST_NAME) : found.start()])
        if named is not None and _looks_random(found[1]):
            yield found.span(1)
