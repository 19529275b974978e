"""`teto whatif`: what one lever would change."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from teto.cli.asked import CALL, COUNTS, NUMBERS, POSITIVE, json_text
from teto.cli.inputs import BYTES, COUNT, deployment_options, named_deployment, named_device, named_model
from teto.errors import ConfigError

if TYPE_CHECKING:
    from teto.catalog.resolve import ResolvedModel
    from teto.physics.deployment import Deployment

__all__ = ["whatif"]

_LEVERS: Final = ("quant", "batch", "hardware", "speculate", "calls", "document", "length")
# An option that only some levers read; given to another it would be ignored, so it is refused.
_READ_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "context": ("quant", "batch", "hardware", "speculate"),
    "prompt": ("quant", "hardware", "length"),
    "batch": ("hardware", "speculate"),
    "formats": ("quant",),
    "batches": ("batch",),
    "factor": ("hardware",),
    "acceptance": ("speculate",),
    "draft_tokens": ("speculate",),
    "draft": ("speculate",),
    "draft_quant": ("speculate",),
    "draft_cost": ("speculate",),
    "calls": ("calls",),
    "pages": ("document",),
    "tokens_per_page": ("document",),
    "tokens": ("document",),
    "answer": ("document", "length"),
    "other_memory": ("document", "length"),
    "times": ("length",),
    "tpot_ms": ("length",),
    "total_s": ("length",),
    "most_sequences": ("length",),
    "usd_per_hour": ("length",),
}


@click.command()
@click.argument("model")
@click.argument("lever", type=click.Choice(_LEVERS))
@deployment_options
@click.option("--context", type=COUNT, help="Tokens that decode attends over (default: 4096, or the model's limit).")
@click.option("--prompt", type=COUNT, help="Tokens of the prompt (default: the context; for `length` 500).")
@click.option("--batch", type=COUNT, default=1, show_default=True, help="hardware, speculate: requests at once.")
@click.option(
    "--formats", default="bf16,q8_0,q4_k_m", show_default=True, help="quant: formats, compared with the first."
)
@click.option("--batches", type=COUNTS, default="1,10,20,50", show_default=True, help="batch: requests at once.")
@click.option("--factor", type=POSITIVE, default=2.0, show_default=True, help="hardware: how many times as much.")
@click.option("--acceptance", type=float, help="speculate: the share of proposed tokens that is accepted, 0 to 1.")
@click.option(
    "--draft-tokens",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="speculate: tokens proposed a pass.",
)
@click.option("--draft", metavar="MODEL", help="speculate: the model that proposes.")
@click.option("--draft-quant", help="speculate: its weight format.")
@click.option("--draft-cost", type=float, help="speculate: a draft's step as a fraction of the model's, in its place.")
@click.option(
    "--call", "calls", type=CALL, multiple=True, help="calls: tokens in:out, twice (default: 800:3 and 200:600)."
)
@click.option("--pages", type=POSITIVE, help="document: its pages (default: 50).")
@click.option(
    "--tokens-per-page",
    type=click.FloatRange(0, 1e6, min_open=True),
    help="document: tokens of a page (assumed otherwise: 667).",
)
@click.option("--tokens", type=COUNT, help="document: its tokens, in place of pages.")
@click.option("--answer", type=COUNT, help="document, length: tokens of the answer (default: 300).")
@click.option("--other-memory", type=BYTES, help="document, length: memory that others use, such as 9GB.")
@click.option("--times", type=NUMBERS, default="1,2,4", show_default=True, help="length: multiples of the answer.")
@click.option("--tpot-ms", type=POSITIVE, help="length: the promised time between tokens.")
@click.option("--total-s", type=POSITIVE, help="length: the promised time of a whole answer.")
@click.option("--most-sequences", type=COUNT, default=256, show_default=True, help="length: the engine's own limit.")
@click.option("--usd-per-hour", type=POSITIVE, help="length: what one device costs an hour.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def whatif(ctx: click.Context, /, *, model: str, lever: str, as_json: bool, **options: Any) -> None:
    """See what LEVER would change for MODEL on a device.

    \b
    quant      weight formats: bytes, speed, memory
    batch      many requests on one reading of the weights, and what ends it
    hardware   more bandwidth against more FLOPs, in each phase
    speculate  a draft proposes, one pass checks
    calls      two kinds of call of one model, and why one is slower
    document   a long document: does it fit, how long is it read
    length     longer answers at the same promise: does the bill double or more

    For example: teto whatif llama-3-8b batch --on rtx-4090
    """  # noqa: D301 - \b is click's mark for lines that are not to be joined
    from teto.cli import whatif_answers, whatif_text

    _refuse_unread(ctx, lever)
    resolved = named_model(model, options["quant"])
    deployment = _deployment(resolved, options)
    found = getattr(whatif_answers, f"{lever}_answer")(resolved, deployment, {**options, "model_name": model})
    if as_json:
        click.echo(json_text(found))
        return
    for line in getattr(whatif_text, f"{lever}_lines")(found):
        click.echo(line)


def _refuse_unread(ctx: click.Context, lever: str) -> None:
    for name, levers in _READ_BY.items():
        is_given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and lever not in levers:
            option = next(param.opts[0] for param in ctx.command.params if param.name == name)
            raise ConfigError(
                f"{option} says nothing to the lever {lever}.", fix=f"It belongs to: {', '.join(levers)}."
            )


def _deployment(resolved: "ResolvedModel", options: Mapping[str, Any]) -> "Deployment":
    device = named_device(
        options["device"], bandwidth=options["bandwidth"], flops=options["flops"], memory=options["memory"]
    )
    return named_deployment(
        resolved, device, kv=options["kv"], n_devices=options["n_devices"], engine=options["engine"]
    )
