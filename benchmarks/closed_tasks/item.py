"""One item, and what a builder hands over before the item is numbered."""

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["LANGUAGES", "TASKS", "Difficulty", "Draft", "Language", "json_schema"]

Language = Literal["en", "pt"]
Difficulty = Literal["easy", "medium", "hard"]

LANGUAGES: tuple[Language, ...] = ("en", "pt")
TASKS = ("classify", "extract", "closed_qa", "rewrite", "summarise", "language", "code")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A prompt, how its answer is checked, and an answer that is right."""

    source: str
    difficulty: Difficulty
    messages: list[dict[str, str]]
    check: dict[str, Any]
    answer: str
    labels: list[str] | None = None
    response_format: dict[str, Any] | None = None

    def numbered(self, number: int, *, task: str, language: Language) -> dict[str, Any]:
        """The item as it is written; its id names the slice, the source and the place in it."""
        return {
            "id": f"{task}-{language}-{self.source}-{number:03d}",
            "task": task,
            "language": language,
            "source": self.source,
            "difficulty_hint": self.difficulty,
            "messages": self.messages,
            "response_format": self.response_format,
            "labels": self.labels,
            "check": self.check,
            "answer": self.answer,
        }


def json_schema(name: str, properties: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A strict response format whose fields are all required."""
    return {
        "type": "json_schema",
        "json_schema": {
            "name": name,
            "strict": True,
            "schema": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            },
        },
    }
