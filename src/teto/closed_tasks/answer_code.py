"""The programs that an answer to a code task may mean: a whole function, a body, or one expression."""

import ast
import re
import textwrap

__all__ = ["programs"]


def programs(answer: str, stub: str, name: str) -> list[str]:
    """Programs that parse, the likeliest first; none when the answer holds no code that could be the function."""
    code = _code_of(answer, name)
    if re.search(rf"^\s*def {re.escape(name)}\b", code, flags=re.MULTILINE):
        found = [_function(textwrap.dedent(code), name)]
    else:
        body = _body(code)
        found = [f"{stub}\n{body}\n", f"{stub}\n    return {code.strip()}\n"]
    return [program for program in found if _parses(program)]


def _code_of(answer: str, name: str) -> str:
    """The fenced block that defines the function, else the first one, else everything."""
    blocks = re.findall(r"```[\w+-]*\n(.*?)(?:```|\Z)", answer, flags=re.DOTALL)
    defining = [block for block in blocks if f"def {name}" in block]
    return next(iter([*defining, *blocks]), answer).strip("\n").strip("`")


def _function(code: str, name: str) -> str:
    """From the imports or the definition on, without the prose before and behind it."""
    lines = code.split("\n")
    top = ("def ", "import ", "from ", "@")
    start = next(at for at, line in enumerate(lines) if line.startswith(top))
    kept: list[str] = []
    for line in lines[start:]:
        if line and not line.startswith((" ", "\t", "#", ")", *top)) and f"def {name}" in "\n".join(kept):
            break
        kept.append(line)
    return "\n".join(kept) + "\n"


def _body(code: str) -> str:
    """The lines as a function's body; a first line that continues the stub's indentation gets it back."""
    first, _, rest = code.partition("\n")
    indented = [line for line in rest.split("\n") if line.strip()]
    if indented and not first.startswith(" ") and all(line.startswith("    ") for line in indented):
        continued = f"    {first}\n{rest}"
        if _parses(f"def f():\n{continued}\n"):
            return continued
    return textwrap.indent(textwrap.dedent(code), "    ")


def _parses(program: str) -> bool:
    try:
        ast.parse(program)
    except (SyntaxError, ValueError):
        return False
    return True
