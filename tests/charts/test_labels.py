"""Labels lie on nothing."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from teto.charts.labels import Frame, Label, PlacedLabel, place_labels

WHOLE = Frame(0, 0, 600, 400)


def frame(label: Label, place: PlacedLabel) -> Frame:
    """What the label covers where it was put."""
    left = place.x - {"left": 0.0, "center": label.width / 2, "right": label.width}[place.align]
    return Frame(left, place.y - 6, left + label.width, place.y + 6)


@given(st.lists(st.tuples(st.floats(60, 540), st.floats(60, 340)), min_size=1, max_size=8))
def test_labels_overlap_neither_each_other_nor_the_edge(points: list[tuple[float, float]]) -> None:
    """Wherever a few points lie, even all on one spot, their labels are apart and inside."""
    labels = [Label(x, y, "×10", 25) for x, y in points]
    frames = [
        frame(label, place) for label, place in zip(labels, place_labels(labels, within=WHOLE, taken=[]), strict=True)
    ]
    assert all(WHOLE.holds(one) for one in frames)
    assert not any(one.overlaps(other) for one, other in combinations(frames, 2))


def test_a_taken_place_is_avoided() -> None:
    """With a box to the right of the point, the label goes elsewhere; without, it is right there."""
    label = Label(300, 200, "×10", 25)
    assert place_labels([label], within=WHOLE, taken=[]) == [PlacedLabel(310, 200, "left", is_far=False)]
    box = Frame(305, 150, 400, 250)
    (place,) = place_labels([label], within=WHOLE, taken=[box])
    assert not frame(label, place).overlaps(box)


def test_a_label_without_room_is_still_placed() -> None:
    """Where everything is taken, the label stands beside its point."""
    (place,) = place_labels([Label(300, 200, "×10", 25)], within=WHOLE, taken=[WHOLE])
    assert (place.x, place.y) == (310, 200)
