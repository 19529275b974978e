"""Brazilian documents: CPF of a person, CNPJ of a company, RG of a state's registry."""

import re
from collections.abc import Iterator
from typing import Final

from teto.triage.privacy.checksums import cnpj_holds, cpf_holds, rg_sp_holds
from teto.triage.privacy.finding import Span, every_match

__all__ = ["find_cnpj", "find_cpf", "find_rg"]

# Every pattern begins with one character, so that the search skips texts without it, and only then looks back:
# a number does not begin inside another, nor behind the point of a decimal fraction. All repeats are bounded.
_STARTS: Final = r"(?<![0-9A-Za-z].)(?<![0-9]\..)"
_ENDS: Final = r"(?![0-9A-Za-z]|[.-][0-9])"

_CPF: Final = re.compile(
    rf"[0-9](?:{_STARTS}|(?<=[cC][pP][fF].))[0-9]{{2}}[. ]?[0-9]{{3}}[. ]?[0-9]{{3}}(?: ?[-./] ?| )?[0-9]{{2}}{_ENDS}"
)
_CNPJ: Final = re.compile(
    rf"[0-9](?:{_STARTS}|(?<=[cC][nN][pP][jJ].))[0-9][. ]?[0-9]{{3}}[. ]?[0-9]{{3}}(?: ?/ ?| )?[0-9]{{4}}"
    rf"(?: ?[-/.] ?| )?[0-9]{{2}}{_ENDS}"
)
# With letters: written out with its signs in any case, or bare in capitals.
_A: Final = "[0-9A-Za-z]"
_CNPJ_WRITTEN: Final = re.compile(
    rf"/{_A}{{4}}-[0-9]{{2}}{_ENDS}(?<=(?<!{_A}){_A}{{2}}\.{_A}{{3}}\.{_A}{{3}}/{_A}{{4}}-[0-9]{{2}})"
)
_CNPJ_WRITTEN_LENGTH: Final = 18
_CNPJ_BARE: Final = re.compile(rf"[0-9A-Z](?<!{_A}.)[0-9A-Z]{{11}}[0-9]{{2}}{_ENDS}")

_RG_WRITTEN: Final = re.compile(rf"[0-9]{_STARTS}[0-9]\.[0-9]{{3}}\.[0-9]{{3}}-[0-9Xx]{_ENDS}")
_RG_SHAPED: Final = re.compile(
    rf"[0-9]{_STARTS}[0-9]?\.?[0-9]{{3}}\.?[0-9]{{3}}(?:-?[0-9Xx])?(?![0-9A-Za-z]|[./-][0-9]|/)"
)
_RG_WORD: Final = re.compile(
    r"(?:\bR\.?G\.?|\bidentidade|\bregistro geral)(?:[^0-9A-Za-z][^0-9]{0,24}|[^0-9A-Za-z]?)\Z", re.IGNORECASE
)
_LOOK_BACK: Final = 42

_NOT_ALPHANUMERIC: Final = re.compile("[^0-9A-Za-z]")


def _bare(text: str) -> str:
    return _NOT_ALPHANUMERIC.sub("", text)


def find_cpf(text: str) -> Iterator[Span]:
    """CPFs: 11 digits with two check digits, written 000.000.000-00, in parts of it, or bare."""
    for found in every_match(_CPF, text):
        if cpf_holds(_bare(found[0])):
            yield found.span()


def find_cnpj(text: str) -> Iterator[Span]:
    """CNPJs: 14 characters with two check digits, written 00.000.000/0000-00 or bare, letters in the first 12."""
    for found in every_match(_CNPJ, text):
        if cnpj_holds(_bare(found[0])):
            yield found.span()
    for found in _CNPJ_WRITTEN.finditer(text):
        start, end = found.end() - _CNPJ_WRITTEN_LENGTH, found.end()
        characters = _bare(text[start:end])
        if not characters.isdigit() and cnpj_holds(characters.upper()):
            yield start, end
    for found in _CNPJ_BARE.finditer(text):
        if not found[0].isdigit() and cnpj_holds(found[0]):
            yield found.span()


def find_rg(text: str) -> Iterator[Span]:
    """RGs: as São Paulo writes them with a check character that holds, or 7 to 9 digits behind the word for one.

    There is no national form: a number of another state is only known by the word before it.
    """
    taken: set[int] = set()
    for found in _RG_WRITTEN.finditer(text):
        if rg_sp_holds(_bare(found[0])):
            taken.add(found.start())
            yield found.span()
    for found in _RG_SHAPED.finditer(text):
        if found.start() not in taken and _RG_WORD.search(text[max(0, found.start() - _LOOK_BACK) : found.start()]):
            yield found.span()
