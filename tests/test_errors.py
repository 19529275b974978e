"""The error tree: what its docstring draws is what there is."""

import re
from itertools import takewhile

import pytest

from teto import errors
from teto.errors import TetoError, UpstreamStatusError

# A line of the tree: its indent in steps of four, the class, its exit code and its HTTP status.
LINE = re.compile(r"^ {4}((?:[│ ]   )*)(?:[├└]── )?(\w+Error) +(?:exit|(\d)) +(?:http|(\d{3}))", re.MULTILINE)


def drawn() -> dict[str, tuple[str | None, int, int]]:
    """Each class of the drawing with its parent, exit code and status."""
    found: dict[str, tuple[str | None, int, int]] = {}
    open_names: list[str] = []
    for match in LINE.finditer(errors.__doc__ or ""):
        indent, name, exit_code, status = match.groups()
        depth = 0 if name == "TetoError" else len(indent) // 4 + 1
        del open_names[depth:]
        found[name] = (open_names[-1] if open_names else None, int(exit_code or 1), int(status or 500))
        open_names.append(name)
    return found


def classes() -> dict[str, type[TetoError]]:
    """Every error that the module defines."""
    return {
        name: value for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, TetoError)
    }


def test_the_drawing_is_the_tree() -> None:
    """Every class is drawn under its parent with its exit code and status, and nothing else is drawn."""
    assert drawn() == {
        name: (None if kind is TetoError else kind.__bases__[0].__name__, kind.exit_code, kind.http_status)
        for name, kind in classes().items()
    }


def test_all_names_every_error() -> None:
    """`__all__` is exactly the errors, in order."""
    assert errors.__all__ == sorted(classes())


def test_every_error_is_explained() -> None:
    """Each class has a docstring, and each line of the drawing an explanation but the first."""
    assert all(kind.__doc__ for kind in classes().values())
    lines = list(takewhile(bool, (errors.__doc__ or "").partition("The tree:\n\n")[2].split("\n")))
    assert len(lines) == len(classes())
    assert all(re.search(r"\d{3}   \w", line) for line in lines[1:])


def test_codes_are_apart() -> None:
    """No two errors share a code for programs."""
    codes = [kind.code for kind in classes().values()]
    assert len(set(codes)) == len(codes)


def test_an_error_says_what_to_do() -> None:
    """The text of an error is its message, and behind it the fix."""
    assert str(TetoError("It broke.", fix="Mend it.")) == "It broke. Mend it."
    assert str(TetoError("It broke.")) == "It broke."
    assert TetoError("It broke.", fix="Mend it.").message == "It broke."


@pytest.mark.parametrize(
    ("status", "http_status", "requests_fault"),
    [
        (400, 400, True),
        (404, 404, True),
        (413, 413, True),
        (422, 422, True),
        (429, 429, False),
        (401, 502, False),
        (403, 502, False),
        (407, 502, False),
        (500, 503, False),
        (503, 503, False),
        (302, 502, False),
    ],
)
def test_whose_fault_a_status_is(status: int, http_status: int, *, requests_fault: bool) -> None:
    """The client gets the cloud's status for its own faults and its rate; a refused key is the operator's."""
    error = UpstreamStatusError("No.", upstream="main", status=status, body=b"{}", retry_after="3")
    assert error.http_status == http_status
    assert error.is_the_requests_fault is requests_fault
    assert error.passes_through is (requests_fault or status == 429)
    assert (error.upstream, error.body, error.retry_after) == ("main", b"{}", "3")
    assert UpstreamStatusError.http_status == 502
