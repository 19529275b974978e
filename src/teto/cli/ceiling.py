"""`teto ceiling`: what one token costs, what binds it, and how far an engine stays below."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from teto.cli.asked import json_text
from teto.cli.inputs import (
    BYTES,
    COUNT,
    NUMBER,
    deployment_options,
    listed_rent,
    named_deployment,
    named_device,
    named_model,
)
from teto.errors import ConfigError

if TYPE_CHECKING:
    from teto.physics.deployment import Deployment

__all__ = ["ceiling"]

_READ_BY_PLAIN: Final = frozenset(
    {"weight_bytes", "device", "bandwidth", "n_devices", "batch", "tokens_per_step", "measured", "as_json"}
)


@click.command()
@click.argument("model", required=False)
@deployment_options
@click.option("--weight-bytes", type=BYTES, help="Bytes read per token, in place of a model: 14e9, 14GB.")
@click.option("--context", type=COUNT, help="Tokens that decode attends over (default: 4096, or the model's limit).")
@click.option("--prompt", type=COUNT, help="Tokens of the prefill (default: the context).")
@click.option("--batch", type=COUNT, default=1, show_default=True, help="Sequences that share each decode step.")
@click.option("--concurrency", type=COUNT, help="Users who each send their next call at once: adds load and queue.")
@click.option("--output-tokens", type=COUNT, help="With --concurrency: tokens of an answer.")
@click.option(
    "--tokens-per-step",
    type=click.FloatRange(1, 100),
    default=1.0,
    help="What a pass yields on average: above 1 if speculating.",
)
@click.option("--other-memory", type=BYTES, help="Memory that others use: 9GB for the system and a browser.")
@click.option("--usd-per-hour", type=NUMBER, help="What one device costs an hour.")
@click.option("--measured", type=NUMBER, help="A measured decode speed in tokens/s of one request, to be judged.")
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), help="Write the pictures to this SVG.")
@click.option("--lang", type=click.Choice(["en", "pt"]), default="en", help="Language of the pictures.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def ceiling(
    ctx: click.Context, /, *, model: str | None, weight_bytes: float | None, as_json: bool, **options: Any
) -> None:
    """Predict what a token of MODEL costs on a device, prefill and decode apart.

    MODEL is a name of `teto models catalog`, a hub id, a .gguf file, or a config.json. Plain numbers do as well:
    teto ceiling --weight-bytes 14e9 --bandwidth 3e12.
    """
    if (model is None) == (weight_bytes is None):
        raise ConfigError(
            "Give a model, or --weight-bytes, and not both.",
            fix="teto ceiling llama-3-8b --on rtx-4090, or teto ceiling --weight-bytes 14e9 --bandwidth 3e12.",
        )
    if not 1 <= options["tokens_per_step"] <= 100:
        raise ConfigError(
            f"--tokens-per-step must be between 1 and 100, found {options['tokens_per_step']:g}.",
            fix="A pass yields at least one token; speculation yields a few.",
        )
    if weight_bytes is not None:
        _refuse_unread(ctx)
        _plain(weight_bytes, as_json=as_json, **options)
    else:
        assert model is not None  # noqa: S101 - checked above
        _full(model, as_json=as_json, **options)


def _refuse_unread(ctx: click.Context) -> None:
    """Plain numbers answer one division: an option that it does not read is refused, not swallowed."""
    for param in ctx.command.params:
        is_given = ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if is_given and param.name not in _READ_BY_PLAIN:
            raise ConfigError(
                f"{param.opts[0]} says nothing to plain --weight-bytes.",
                fix="Name a model instead, or leave it out.",
            )


def _plain(weight_bytes: float, *, as_json: bool, **options: Any) -> None:
    from teto.cli.ceiling_text import print_plain
    from teto.physics.judgement import judge

    device = named_device(
        options["device"], bandwidth=options["bandwidth"], flops=options["flops"], memory=options["memory"]
    )
    speed = options["n_devices"] * device.mem_bandwidth_bytes_per_s / weight_bytes
    measured = options["measured"]
    judgement = None
    if measured is not None:
        judgement = judge(
            measured_tokens_per_s=measured,
            ceiling_tokens_per_s=speed,
            tokens_per_step=options["tokens_per_step"],
        )
    if as_json:
        click.echo(
            json_text(
                {
                    "weight_bytes": weight_bytes,
                    "mem_bandwidth_bytes_per_s": options["n_devices"] * device.mem_bandwidth_bytes_per_s,
                    "decode": {
                        "ceiling_tokens_per_s": round(speed, 4),
                        "batch": options["batch"],
                        "ceiling_aggregate_tokens_per_s": round(options["batch"] * speed, 4),
                        "ceiling_s": 1 / speed,
                    },
                    "judgement": judgement,
                }
            )
        )
    else:
        print_plain(device, weight_bytes, speed, judgement, batch=options["batch"])


def _full(model: str, *, as_json: bool, **options: Any) -> None:
    from teto.cli import ceiling_text
    from teto.cli.ceiling_answer import answer

    resolved = named_model(model, options["quant"])
    device = named_device(
        options["device"], bandwidth=options["bandwidth"], flops=options["flops"], memory=options["memory"]
    )
    deployment = named_deployment(
        resolved,
        device,
        kv=options["kv"],
        n_devices=options["n_devices"],
        tokens_per_step=options["tokens_per_step"],
        engine=options["engine"],
    )
    if (options["concurrency"] is None) != (options["output_tokens"] is None):
        raise ConfigError("--concurrency and --output-tokens belong together.", fix="Give both, or neither.")
    context = options["context"]
    if options["output_tokens"] is not None and options["prompt"] is not None and context is None:
        context = options["prompt"] + options["output_tokens"] // 2  # the mean of a call
    context_tokens, prompt_tokens = _lengths(deployment, context, options["prompt"])
    found = answer(
        resolved,
        deployment,
        context_tokens=context_tokens,
        prompt_tokens=prompt_tokens,
        batch=options["batch"],
        other_memory_bytes=options["other_memory"] or 0.0,
        usd_per_hour=options["usd_per_hour"] or listed_rent(device),
        measured_tokens_per_s=options["measured"],
        concurrency=options["concurrency"],
        output_tokens=options["output_tokens"],
    )
    if as_json:
        click.echo(json_text(found))
    else:
        ceiling_text.print_answer(found)
    if options["picture"] is not None:
        from teto.cli.ceiling_picture import picture

        drawn = picture(deployment, found, lang=options["lang"])
        try:
            options["picture"].write_text(drawn)
        except OSError as error:
            raise ConfigError(
                f"{options['picture']} cannot be written: {error.strerror}.", fix="Give another --picture."
            ) from None
        click.echo(f"picture: {options['picture']}", err=True)


def _lengths(deployment: "Deployment", context: int | None, prompt: int | None) -> tuple[int, int]:
    """Context and prompt, defaults filled in.

    Raises:
        ConfigError: more tokens than the model was made for.
    """
    limit = deployment.shape.context_limit_tokens
    context_tokens = context or min(4096, limit or 4096)
    prompt_tokens = prompt or context_tokens
    for option, tokens in (("--context", context_tokens), ("--prompt", prompt_tokens)):
        if limit is not None and tokens > limit:
            raise ConfigError(
                f"{option} {tokens:,} is beyond the {limit:,} tokens that {deployment.shape.name} was made for.",
                fix=f"Give at most {limit}.",
            )
    return context_tokens, prompt_tokens
