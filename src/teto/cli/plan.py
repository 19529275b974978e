"""`teto plan`: what keeps a promise; own, rented or API; local or cloud; the parts of a laptop."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from teto.cli.asked import COUNTS, NOT_NEGATIVE, POSITIVE, PRICE_OF, SIZE_OF, json_text
from teto.cli.inputs import BYTES, COUNT, FLOPS
from teto.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["plan"]

_FAMILIES: Final = ("gddr", "hbm", "apple", "cpu", "apu", "npu")
_KV: Final = ("f32", "f16", "bf16", "fp8", "q8_0", "q4_0")


@click.command()
@click.option("--model", required=True, help="A model of the catalog, a .gguf file, or a config.json.")
@click.option("--prompt-tokens", type=COUNT, help="Tokens in.")
@click.option("--output-tokens", type=COUNT, help="Tokens out.")
@click.option("--rate", type=POSITIVE, help="Calls a second that arrive (default: one group, always full).")
@click.option("--ttft-ms", type=POSITIVE, help="The promised mean time to the first token.")
@click.option("--tpot-ms", type=POSITIVE, help="The promised mean time between later tokens.")
@click.option(
    "--load", type=POSITIVE, default=0.9, show_default=True, help="The most of its capacity that a group gets."
)
@click.option("--on", multiple=True, metavar="DEVICE", help="Only this device; again for more (default: all).")
@click.option("--family", type=click.Choice(_FAMILIES), help="Only devices of this kind.")
@click.option("--quant", multiple=True, help="Only this weight format; again for more (default: by kind of device).")
@click.option("--batches", type=COUNTS, help="Calls in flight to try (default: 1 to 256).")
@click.option("--devices", "counts", type=COUNTS, help="Devices that share a step (default: 1, HBM 1,2,4,8).")
@click.option("--kv", type=click.Choice(_KV), default="f16", show_default=True, help="KV format.")
@click.option("--engine", help="Whose fit to use: llama.cpp, vllm, sglang, trtllm (default: by device).")
@click.option(
    "--memory", type=SIZE_OF, multiple=True, metavar="DEVICE=SIZE", help="Memory of a device sold in several sizes."
)
@click.option("--other-memory", type=BYTES, help="Memory of each device that others use.")
@click.option(
    "--usd-per-hour", type=PRICE_OF, multiple=True, metavar="DEVICE=USD", help="What one device costs an hour."
)
@click.option("--own", metavar="price=,years=,kwh=", help="Owning one group: dollars, years of use, dollars per kWh.")
@click.option("--rented", metavar="usd_per_h=", help="Renting one device by the hour.")
@click.option("--api", metavar="MODEL", help="Paying a listed API for each call.")
@click.option("--local", metavar="DEVICE", help="With --cloud: where the local model runs; `here` is this machine.")
@click.option("--flops", type=FLOPS, help="With --local: its dense multiply rate, where the catalog has none.")
@click.option("--cloud", metavar="MODEL", help="With --local: the API's model.")
@click.option("--cloud-first-token-ms", type=NOT_NEGATIVE, help="The cloud's own time to its first token.")
@click.option("--cloud-tokens-per-s", type=POSITIVE, help="The cloud's speed after it.")
@click.option("--cloud-prefill-tokens-per-s", type=POSITIVE, help="How fast it reads what is longer than this prompt.")
@click.option("--round-trip-ms", type=NOT_NEGATIVE, help="The network's round trip to the cloud.")
@click.option("--queue-ms", type=NOT_NEGATIVE, default=0.0, show_default=True, help="Mean wait for the local model.")
@click.option("--usd-per-kwh", type=POSITIVE, help="With --local: the price of electricity.")
@click.option("--watts", type=POSITIVE, help="With --local: what it draws while it works.")
@click.option("--laptop", metavar="GROUP", help="CPU, iGPU and NPU of one package side by side.")
@click.option("--battery-wh", type=POSITIVE, help="With --laptop: hours on this battery.")
@click.option("--top", type=COUNT, default=12, show_default=True, help="Lines of each table.")
@click.option(
    "--picture", type=click.Path(dir_okay=False, path_type=Path), help="With --local: write map and tree to this SVG."
)
@click.option("--lang", type=click.Choice(["en", "pt"]), default="en", help="Language of picture and tree.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(*, as_json: bool, **options: Any) -> None:
    """Plan for a kind of call: what keeps the promise, what it costs, and why the rest does not.

    \b
    teto plan --model llama-3-8b --prompt-tokens 800 --output-tokens 200 --rate 2 --tpot-ms 50
    ... --on h100-sxm --own price=30000,years=3,kwh=0.15 --rented usd_per_h=2.5 --api gpt-4o-mini
    teto plan --model qwen2.5-3b --prompt-tokens 800 --output-tokens 3 --local here --cloud gpt-4o-mini
              --cloud-first-token-ms 400 --cloud-tokens-per-s 60 --round-trip-ms 40
    teto plan --model llama-3.2-3b --laptop ryzen-ai-7-350 --battery-wh 60
    """  # noqa: D301 - \b is click's mark for lines that are not to be joined
    question = _question(options)
    if question == "laptop":
        from teto.cli.plan_laptop import laptop_answer, laptop_lines

        laptop = laptop_answer(options)
        _print(laptop, laptop_lines(laptop), as_json=as_json)
    elif question == "place":
        _place(options, as_json=as_json)
    else:
        _plan(options, as_json=as_json)


_ASKS: Final = {
    "laptop": ("laptop", "battery_wh"),
    "place": (
        "local", "cloud", "cloud_first_token_ms", "cloud_tokens_per_s", "cloud_prefill_tokens_per_s",
        "round_trip_ms", "usd_per_kwh", "watts", "picture",
    ),
    "plan": ("rate", "ttft_ms", "tpot_ms", "own", "rented", "api"),
}  # fmt: skip


def _question(options: "Mapping[str, Any]") -> str:
    """Which of the three questions is asked; the plan over devices needs no option of its own.

    Raises:
        ConfigError: options of several of them, or a battery without a laptop.
    """
    asked = {
        question: [f"--{name.replace('_', '-')}" for name in names if options[name] is not None]
        for question, names in _ASKS.items()
    }
    found = [question for question, names in asked.items() if names]
    if len(found) > 1:
        parts = "; ".join(", ".join(asked[question]) for question in found)
        raise ConfigError(f"These belong to different questions: {parts}.", fix="Ask one at a time.")
    if found == ["laptop"] and options["laptop"] is None:
        raise ConfigError("--battery-wh is a laptop's.", fix="Name its package with --laptop.")
    return found[0] if found else "plan"


def _plan(options: "Mapping[str, Any]", *, as_json: bool) -> None:
    from teto.cli.plan_answers import asked_call, asked_targets, catalog_plan, plan_answer
    from teto.cli.plan_buying import buying_answer, buying_lines, check_buying, is_buying
    from teto.cli.plan_text import plan_lines

    tokens, targets = asked_call(options), asked_targets(options)
    if is_buying(options):
        check_buying(options)
    built, found = catalog_plan(options, tokens, targets)
    if is_buying(options):
        bought = buying_answer(options, built, found)
        _print(bought, buying_lines(bought), as_json=as_json)
    else:
        answer = plan_answer(options["model"], built, found)
        _print(answer, plan_lines(answer, top=options["top"]), as_json=as_json)


def _place(options: "Mapping[str, Any]", *, as_json: bool) -> None:
    from teto.cli.plan_answers import asked_call
    from teto.cli.plan_placement import fine_grid, placement_answer, placement_lines

    tokens = asked_call(options)
    found = placement_answer(options, tokens)
    _print(found, placement_lines(found), as_json=as_json)
    if options["picture"] is not None:
        from teto.cli.plan_picture import placement_picture

        svg = placement_picture(found, fine_grid(options, tokens), lang=options["lang"])
        try:
            options["picture"].write_text(svg, encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"{options['picture']} cannot be written: {error.strerror}.", fix="Give another --picture."
            ) from None
        click.echo(f"picture: {options['picture']}", err=True)


def _print(answer: Any, lines: "Iterable[str]", *, as_json: bool) -> None:
    if as_json:
        click.echo(json_text(answer))
        return
    for line in lines:
        click.echo(line)
