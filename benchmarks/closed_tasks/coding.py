"""Code: a small Python function to write or to finish, checked by asserts that were worked out from a right one."""

from collections.abc import Iterator
from typing import Any

from closed_tasks.coding_generated import Problem, for_gaps, generated
from closed_tasks.draw import Draw
from closed_tasks.item import Draft, Language
from closed_tasks.words import DIFFICULTIES, frames, sections

__all__ = ["code"]


def _name(problem: Problem) -> str:
    return problem.signature.partition("(")[0]


def _program(problem: Problem) -> str:
    return f"def {problem.signature}:\n{problem.body}"


def _tests(problem: Problem) -> list[str]:
    """An assert for each of the arguments, with what the right function returns."""
    space: dict[str, Any] = {}
    exec(_program(problem), space)  # noqa: S102 - the functions of this folder
    found = []
    for arguments in problem.arguments:
        call = f"{_name(problem)}({arguments})"
        found.append(f"assert {call} == {eval(call, space)!r}")  # noqa: S307 - same
    return found


def _draft(problem: Problem, language: Language, at: int, *, code: str = "") -> Draft:
    source = "gaps" if code else problem.source
    phrasings = frames(language, "code_frames", "hole" if code else "stub")
    order = Draw("code", language, source, "order").shuffled(range(len(phrasings)))
    said = problem.said
    return Draft(
        source=source,
        difficulty=problem.difficulty,
        messages=phrasings[order[at % len(order)]].messages(
            signature=problem.signature,
            said=said,
            Said=said[0].upper() + said[1:],
            code=code,
        ),
        check={
            "kind": "code",
            "name": _name(problem),
            "stub": f"def {problem.signature}:",
            "tests": _tests(problem),
        },
        answer=_program(problem),
    )


def _written(language: Language) -> Iterator[Problem]:
    for head, lines in sections(language, "code_functions"):
        hint, signature, said = head.split(" | ")
        body = "\n".join(line for line in lines if not line.startswith("> "))
        arguments = next(line for line in lines if line.startswith("> "))[2:].split(" ; ")
        yield Problem(
            source="functions",
            difficulty=DIFFICULTIES[hint],
            signature=signature,
            said=said,
            body=body,
            arguments=[one.strip() for one in arguments],
        )


def _gapped(problem: Problem) -> str:
    """The function with the condition that selects taken out."""
    before, _, rest = _program(problem).partition(" if ")
    return f"{before} if ____]\n{rest.partition(']' + chr(10))[2]}"


def code(language: Language) -> Iterator[Draft]:
    """Every code draft of a language."""
    count: dict[str, int] = {}
    for problem in (*_written(language), *generated(language)):
        at = count.get(problem.source, 0)
        count[problem.source] = at + 1
        yield _draft(problem, language, at)
    for at, problem in enumerate(for_gaps(language)):
        yield _draft(problem, language, at, code=_gapped(problem))
