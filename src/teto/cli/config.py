"""`teto config`."""

import click

__all__ = ["config"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def config(ctx: click.Context, *, as_json: bool) -> None:
    """Print every setting with its value, where it came from, and what it means."""
    import msgspec

    from teto.cli import wiring
    from teto.config import describe

    rows = list(describe(wiring.load_resolved(ctx)))
    if as_json:
        settings = [{"name": n, "value": v, "origin": o, "help": h} for n, v, o, h in rows]
        click.echo(msgspec.json.format(msgspec.json.encode(settings)))
        return
    name_width = max(len(name) for name, *_ in rows)
    value_width = max(len(_shown(value)) for _, value, *_ in rows)
    for name, value, origin, help_text in rows:
        click.echo(f"{name:{name_width}}  {_shown(value):{value_width}}  [{origin}]  {help_text}")


def _shown(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    return "unset" if value is None else str(list(value) if isinstance(value, tuple) else value)
