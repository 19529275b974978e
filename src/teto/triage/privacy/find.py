"""The detectors together: what is found in a text, and the text without it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from teto.triage.privacy.bank import find_card, find_iban
from teto.triage.privacy.documents import find_cnpj, find_cpf, find_rg
from teto.triage.privacy.finding import KINDS, Finding, Kind, Span
from teto.triage.privacy.fold import fold
from teto.triage.privacy.online import find_api_key, find_email
from teto.triage.privacy.phones import find_phone_br

__all__ = ["find_private", "redact"]

_DETECTORS: Final[Mapping[Kind, Callable[[str], Iterator[Span]]]] = {
    "cpf": find_cpf,
    "cnpj": find_cnpj,
    "phone_br": find_phone_br,
    "rg": find_rg,
    "iban": find_iban,
    "card": find_card,
    "email": find_email,
    "api_key": find_api_key,
}


def _apart(spans: Iterable[Span]) -> Iterator[Span]:
    """The spans without those that overlap an earlier or longer one."""
    last_end = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= last_end:
            yield start, end
            last_end = end


def find_private(text: str, kinds: Collection[Kind] = KINDS) -> tuple[Finding, ...]:
    """What detectors of these kinds find in a text, by place; findings of different kinds may overlap.

    The time it takes is linear in the length of the text, whatever the text is.
    """
    folded = fold(text)
    found: list[Finding] = []
    for kind in KINDS:
        if kind in kinds:
            for span in _apart(_DETECTORS[kind](folded.text)):
                start, end = folded.original(span)
                found.append(Finding(kind=kind, start=start, end=end))
    return tuple(sorted(found, key=lambda item: (item.start, -item.end)))


def redact(text: str, kinds: Collection[Kind] = KINDS) -> str:
    """The text with each finding replaced by its kind in brackets; of findings that overlap the first one names it."""
    parts: list[str] = []
    done = 0
    for item in find_private(text, kinds):
        if item.start >= done:
            parts += [text[done : item.start], f"[{item.kind}]"]
        done = max(done, item.end)
    return "".join([*parts, text[done:]])
