"""Places for the labels of points, so that none lies on another, on a point, or on a line."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Frame", "Label", "PlacedLabel", "along", "place_labels"]

_HEIGHT = 13.0
_RINGS = (10.0, 20.0, 30.0, 42.0, 56.0, 72.0)  # how far out a place is looked for, in pixels
# To the right first; where a slope rises to the right, the lower right and the upper left are free.
_ANGLES = (0, 45, 90, 135, 180, 225, 270, 315, 20, 70, 110, 160, 200, 250, 290, 340)


@dataclass(frozen=True, slots=True)
class Label:
    """A text that belongs to a point, in pixels from the upper left."""

    x: float
    y: float
    text: str
    width: float


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """Where the text goes: its own anchor, which end of it is there, and whether a line must lead to its point."""

    x: float
    y: float
    align: Literal["left", "center", "right"]
    is_far: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle by its edges, in pixels; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Frame") -> bool:
        """Whether the two share any area."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def holds(self, other: "Frame") -> bool:
        """Whether the other lies inside."""
        return (
            self.left <= other.left and other.right <= self.right
            and self.top <= other.top and other.bottom <= self.bottom
        )  # fmt: skip


def along(x: float, y: float, x2: float, y2: float, *, half: float = 2.0) -> list[Frame]:
    """Small squares that cover a line."""
    n_squares = max(1, round(math.hypot(x2 - x, y2 - y) / (2 * half)))
    places = [step / n_squares for step in range(n_squares + 1)]
    middles = [(x + (x2 - x) * place, y + (y2 - y) * place) for place in places]
    return [Frame(at_x - half, at_y - half, at_x + half, at_y + half) for at_x, at_y in middles]


def place_labels(labels: Sequence[Label], *, within: Frame, taken: Iterable[Frame]) -> list[PlacedLabel]:
    """A place for each label in order: the nearest free one.

    Where none is free, one that at least lies on no other label, else the first that is tried.
    """
    occupied = list(taken)
    texts: list[Frame] = []
    placed = []
    for label in labels:
        tried = [_place(label, angle, ring) for ring in _RINGS for angle in _ANGLES]
        inside = [place for place in tried if within.holds(_box(label, place))]
        apart = [place for place in inside if not _is_on(texts, [_box(label, place)])]
        free = (
            place for place in apart
            if not _is_on(occupied, [_box(label, place)]) and not _is_on(texts, _leader(label, place))
        )  # fmt: skip
        found = next(free, (apart or tried)[0])
        texts.append(_box(label, found))
        occupied += [_box(label, found), *_leader(label, found)]
        placed.append(found)
    return placed


def _is_on(frames: Sequence[Frame], others: Sequence[Frame]) -> bool:
    return any(one.overlaps(other) for one in others for other in frames)


def _leader(label: Label, place: PlacedLabel) -> list[Frame]:
    return along(label.x, label.y, place.x, place.y) if place.is_far else []


def _place(label: Label, angle: int, ring: float) -> PlacedLabel:
    across, down = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    align: Literal["left", "center", "right"] = "left" if across > 0.3 else "right" if across < -0.3 else "center"
    lift = 3 * down if align == "center" else 0.0
    return PlacedLabel(x=label.x + across * ring, y=label.y + down * ring + lift, align=align, is_far=ring > _RINGS[0])


def _box(label: Label, place: PlacedLabel) -> Frame:
    left = place.x - {"left": 0.0, "center": label.width / 2, "right": label.width}[place.align]
    return Frame(left, place.y - _HEIGHT / 2, left + label.width, place.y + _HEIGHT / 2)
