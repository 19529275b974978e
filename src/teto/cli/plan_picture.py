"""The picture of `teto plan --local --cloud`: the map over both lengths, and the decision tree below it."""

from typing import TYPE_CHECKING

from teto.charts.placement import placement_map_panel
from teto.charts.svg import picture_svg
from teto.charts.texts import Lang
from teto.charts.tree import decision_tree_panel

if TYPE_CHECKING:
    from teto.cli.plan_placement import PlacementAnswer
    from teto.physics.placement import PlacementGrid

__all__ = ["placement_picture"]


def placement_picture(found: "PlacementAnswer", grid: "PlacementGrid", *, lang: Lang) -> str:
    """Both panels as one SVG."""
    weights = "" if found.weight_format is None else f" {found.weight_format}"
    subject = f"{found.model}{weights} · {found.device} × {found.cloud.name}"
    return picture_svg(
        [
            [placement_map_panel(grid, subject=subject, lang=lang)],
            [decision_tree_panel(found.tree, subject=subject, lang=lang)],
        ]
    )
