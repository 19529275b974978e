"""The figures that the tests draw, and how they read an SVG."""

from xml.etree import ElementTree as ET

import numpy as np

from teto.charts.roofline import RooflineFigure, RooflinePoint
from teto.charts.token import Pass, TokenFigure
from teto.physics.deployment import Rung
from teto.physics.placement import PlacementGrid
from teto.physics.placement_tree import Leaf, Question

# The article's 7B in FP16 on 3 TB/s: 14 GB, 214 tok/s; half a millisecond lost to each of two causes.
CEILING_S = 14e9 / 3e12
TOKEN = TokenFigure(
    subject="a 7B in f16 on 3 TB/s",
    prompt_tokens=1000,
    output_tokens=200,
    prefill=Pass(weight_bytes=14e9, kv_bytes=0, flops=14e12, ceiling_s=0.014, bound="compute", estimate_s=0.02),
    decode=Pass(
        weight_bytes=14e9, kv_bytes=0, flops=14e9, ceiling_s=CEILING_S, bound="memory", estimate_s=CEILING_S + 1e-3
    ),
    mem_bandwidth_bytes_per_s=3e12,
    flops_per_s=1e15,
    waterfall=(Rung("weights", CEILING_S), Rung("KV", 0.0), Rung("efficiency", 5e-4), Rung("queue", 5e-4)),
    band_s=(CEILING_S, CEILING_S + 2e-3),
)


def decode_point(batch: int, *, estimate_s: float | None = None, measured_s: float | None = None) -> RooflinePoint:
    """One decode step of that 7B."""
    return RooflinePoint(
        phase="decode",
        count=batch,
        flops=14e9 * batch,
        bytes=14e9,
        ceiling_s=CEILING_S,
        estimate_s=estimate_s,
        measured_s=measured_s,
    )


def prefill_point(n_tokens: int) -> RooflinePoint:
    """One prefill of that 7B."""
    seconds = max(CEILING_S, 14e9 * n_tokens / 1e15)
    return RooflinePoint(phase="prefill", count=n_tokens, flops=14e9 * n_tokens, bytes=14e9, ceiling_s=seconds)


ROOFLINE = RooflineFigure(
    subject="a 7B in f16 on 3 TB/s",
    mem_bandwidth_bytes_per_s=3e12,
    flops_per_s=1e15,
    points=(*(decode_point(batch) for batch in (1, 10, 20, 50)), prefill_point(16), prefill_point(1000)),
)

# Local is faster for short prompts, the cloud for long ones, and the longest do not fit.
PROMPTS = np.geomspace(10, 100_000, 9)
OUTPUTS = np.geomspace(1, 1000, 7)
MAP = PlacementGrid(
    prompt_tokens=PROMPTS,
    output_tokens=OUTPUTS,
    local_s=np.where(PROMPTS[:, None] > 20_000, np.inf, PROMPTS[:, None] / 1000 + 0 * OUTPUTS),
    cloud_s=np.ones((9, 7)),
)

TREE = Question(
    text="Does it fit here?",
    figure="1,000 tokens; memory holds 32,768",
    answer=True,
    yes=Question(
        text="Is local at least as fast?",
        figure="1.2 s here, 2.1 s there",
        answer=None,
        yes=Leaf("local", "faster & free"),
        no=Leaf("neither", "nobody waits"),
    ),
    no=Leaf("cloud", "no room"),
)

_SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ET.Element:
    """The SVG's tree; text that is not XML fails."""
    return ET.fromstring(svg)  # noqa: S314  (our own output, without entities)


def texts(svg: str) -> list[str]:
    """Every line of text that is drawn."""
    return [line for element in parsed(svg).iter(f"{_SVG}text") for line in element.itertext()]


def spoken(svg: str) -> tuple[str, str]:
    """The title and the description of the whole."""
    root = parsed(svg)
    return root.findtext(f"{_SVG}title") or "", root.findtext(f"{_SVG}desc") or ""
