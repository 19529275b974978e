"""The pictures of `teto ceiling`: one token, and the roofline with prefill and decode at several sizes."""

from typing import TYPE_CHECKING, Final, Literal

from teto.charts.roofline import RooflineFigure, RooflinePoint, roofline_panel
from teto.charts.svg import picture_svg
from teto.charts.token import Pass, TokenFigure, token_panel
from teto.cli.inputs import require_rate

if TYPE_CHECKING:
    from teto.cli.ceiling_answer import Answer, PhasePart
    from teto.physics.deployment import Deployment, Phase

__all__ = ["picture"]

_PROMPTS: Final = (16, 128, 1024)
_BATCHES: Final = (1, 10, 50)
_SHOWN_TOKENS: Final = 64


def picture(deployment: "Deployment", found: "Answer", *, lang: Literal["en", "pt"]) -> str:
    """Both pictures as one SVG.

    Raises:
        ConfigError: the multiply rate is unknown, so that prefill cannot be drawn.
    """
    require_rate(deployment)
    subject = f"{found.model.name} {found.model.format or ''} · {found.device.name}".replace("  ", " ")
    bandwidth = found.device.n_devices * found.device.mem_bandwidth_bytes_per_s
    flops = None if found.device.flops_per_s is None else found.device.n_devices * found.device.flops_per_s
    measured = found.judgement
    token = TokenFigure(
        subject=subject,
        prompt_tokens=found.prefill.tokens,
        output_tokens=_SHOWN_TOKENS,
        prefill=_pass(found.prefill),
        decode=_pass(found.decode),
        mem_bandwidth_bytes_per_s=bandwidth,
        flops_per_s=flops,
        waterfall=found.decode.waterfall + (() if found.load is None else found.load.waterfall),
        batch=found.decode.batch,
        tokens_per_pass=found.tokens_per_step,
        band_s=found.decode.estimate_band_s,
        measured_s=None if measured is None else found.tokens_per_step / measured.measured_tokens_per_s,
        is_moe=deployment.shape.is_moe,
    )
    roofline = RooflineFigure(
        subject=subject,
        mem_bandwidth_bytes_per_s=bandwidth,
        flops_per_s=flops,
        points=_points(deployment, found.context_tokens),
    )
    return picture_svg([[token_panel(token, lang)], [roofline_panel(roofline, lang)]], title=subject)


def _pass(part: "PhasePart") -> Pass:
    return Pass(
        weight_bytes=part.weight_bytes,
        kv_bytes=part.kv_bytes,
        flops=part.flops,
        ceiling_s=part.ceiling_s,
        bound="memory" if part.bound == "unknown" else part.bound,
        estimate_s=part.estimate_s,
    )


def _points(deployment: "Deployment", context_tokens: int) -> tuple[RooflinePoint, ...]:
    limit = deployment.shape.context_limit_tokens or context_tokens
    prompts = [n_tokens for n_tokens in _PROMPTS if n_tokens <= limit]
    return (
        *(_point("prefill", n, deployment.prefill(n_tokens=n)) for n in prompts),
        *(_point("decode", n, deployment.decode(batch=n, context_tokens=context_tokens)) for n in _BATCHES),
    )


def _point(kind: Literal["prefill", "decode"], count: int, phase: "Phase") -> RooflinePoint:
    return RooflinePoint(
        phase=kind,
        count=count,
        flops=float(phase.work.flops),
        bytes=float(phase.work.bytes),
        ceiling_s=phase.ceiling_s,
        estimate_s=phase.estimate_s,
    )
