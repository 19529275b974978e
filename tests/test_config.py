"""Settings: who wins, where each value came from, and what is refused."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from teto.config import PrivacySettings, Resolved, RouteSettings, Settings, describe, resolve
from teto.errors import ConfigError

CLOUD = '[upstreams.main]\nbase_url = "https://api.example.com/v1"\nmodel = "m"\napi_key_env = "MAIN_KEY"\n'


def settle(
    text: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Resolved:
    """The settings of that file, environment and flags."""
    return resolve(
        flags=flags or {},
        environment=environment or {},
        file_text=None if text is None else text.encode(),
        file_name="teto.toml",
    )


def test_without_anything_every_value_is_the_default() -> None:
    """No file, no environment and no flags give the defaults, and say so."""
    resolved = settle()
    assert resolved.settings == Settings()
    assert set(resolved.origins.values()) == {"default"}
    assert {name for name, *_ in describe(resolved)} == set(resolved.origins)


def test_flags_win_over_environment_over_file_over_default() -> None:
    """Each place outranks the next, and the origin names it."""
    text = "[gateway]\nport = 1\nmode = 'local'\nhost = '127.0.0.2'\n"
    environment = {"TETO_GATEWAY_PORT": "2", "TETO_GATEWAY_MODE": "cloud"}
    resolved = settle(text, environment=environment, flags={"gateway.port": 3})
    gateway = resolved.settings.gateway
    assert (gateway.port, gateway.mode, gateway.host, gateway.degraded) == (3, "cloud", "127.0.0.2", "admissible")
    names = ("port", "mode", "host", "degraded")
    assert [resolved.origins[f"gateway.{name}"] for name in names] == [
        "flag",
        "environment TETO_GATEWAY_MODE",
        "teto.toml",
        "default",
    ]


def test_the_environment_speaks_text() -> None:
    """Numbers, switches and lists are read from the environment's text."""
    first, second = "a" * 64, "0" * 64
    environment = {
        "TETO_GATEWAY_API_KEY_SHA256": f"{first},{second}",
        "TETO_WEIGHTS_HUB": "false",
        "TETO_POLICY_MIN_CONFIDENCE": "0.5",
        "TETO_ENGINE_SLOTS": "4",
        "PATH": "/bin",
    }
    settings = settle(environment=environment).settings
    assert settings.gateway.api_key_sha256 == (first, second)
    assert (settings.weights.hub, settings.policy.min_confidence, settings.engine.slots) == (False, 0.5, 4)


def test_upstreams_and_routes_come_from_the_file() -> None:
    """Tables of upstreams and routes are read in their order, their prices exact."""
    text = CLOUD + "usd_per_mtok_in = 0.15\nusd_per_mtok_out = '0.60'\n[[routes]]\nmatch = 'gpt-*'\nupstream = 'main'\n"
    resolved = settle(text)
    upstream = resolved.settings.upstreams["main"]
    assert (upstream.usd_per_mtok_in, upstream.usd_per_mtok_out) == (Decimal("0.15"), Decimal("0.60"))
    assert resolved.settings.routes == (RouteSettings(match="gpt-*", to="auto", upstream="main"),)
    assert resolved.origins["upstreams.main.base_url"] == "teto.toml"
    assert resolved.origins["upstreams.main.gap_timeout_s"] == "default"
    assert resolved.origins["routes[0].to"] == "default"


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("[gatway]\nport = 1", "teto.toml: unknown table 'gatway'", "Did you mean gateway?"),
        ("[gateway]\nprot = 1", "teto.toml: unknown setting 'gateway.prot'", "Did you mean port"),
        ("[zzz]", "teto.toml: unknown table 'zzz'", "Known: drift, engine, gateway, ledger"),
        (f"{CLOUD}basurl = 1", "unknown setting 'upstreams.main.basurl'", "Did you mean base_url?"),
        ("[[routes]]\nmatsch = 'x'", "unknown setting 'routes[0].matsch'", "Did you mean match?"),
    ],
)
def test_an_unknown_name_in_the_file(text: str, message: str, fix: str) -> None:
    """A misspelt table or setting is refused, with the nearest names."""
    with pytest.raises(ConfigError) as raised:
        settle(text)
    assert message in raised.value.message
    assert raised.value.fix is not None
    assert raised.value.fix.startswith(fix)


def test_an_unknown_name_in_the_environment() -> None:
    """A misspelt variable of a known table is refused by its own name."""
    with pytest.raises(ConfigError, match="environment TETO_GATEWAY_PROT: unknown setting") as raised:
        settle(environment={"TETO_GATEWAY_PROT": "1"})
    assert raised.value.fix == "Did you mean port or host?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[gateway]\nport = '80'", "gateway.port = '80': Expected `int`, got `str`"),
        ("[gateway]\nport = true", "gateway.port = True: Expected `int`, got `bool`"),
        ("[gateway]\nmode = 'fast'", "gateway.mode = 'fast': Invalid enum value 'fast'"),
        ("[weights]\nhub = 1", "weights.hub = 1: Expected `bool`, got `int`"),
        ("gateway = 5", "gateway must be a table, found 5"),
        ("upstreams = 5", "upstreams must be a table, found 5"),
        ("[upstreams]\nmain = 5", "upstreams.main must be a table, found 5"),
        ("[routes]\nmatch = 'x'", "routes must be [[routes]] tables"),
        ("routes = [5]", "routes[0] must be a table, found 5"),
        (f"{CLOUD}usd_per_mtok_in = 'cheap'", "upstreams.main.usd_per_mtok_in = 'cheap'"),
        ("gateway", "teto.toml is not TOML"),
    ],
)
def test_a_wrong_type(text: str, message: str) -> None:
    """A value of another type is refused, with what was found."""
    with pytest.raises(ConfigError) as raised:
        settle(text)
    assert message in raised.value.message


def test_a_file_that_is_no_text() -> None:
    """Bytes that are no UTF-8 are no settings."""
    with pytest.raises(ConfigError, match=r"teto\.toml is not TOML"):
        resolve(flags={}, environment={}, file_text=b"\xff", file_name="teto.toml")


def test_a_wrong_type_in_the_environment() -> None:
    """Text that is no number is refused by the variable's name."""
    with pytest.raises(ConfigError, match=r"environment TETO_ENGINE_SLOTS: engine\.slots = 'two'"):
        settle(environment={"TETO_ENGINE_SLOTS": "two"})


@pytest.mark.parametrize(
    ("table", "name", "values"),
    [
        ("gateway", "port", "-1 65536"),
        ("gateway", "body_limit_bytes", "0"),
        ("gateway", "api_key_sha256", '["my-secret-key"]'),
        ("engine", "context_tokens", "255"),
        ("engine", "slots", "0 33"),
        ("engine", "queue_limit", "-1"),
        ("engine", "first_token_timeout_s", "0.0 -1.0 nan"),
        ("engine", "gap_timeout_s", "0.0"),
        ("policy", "min_confidence", "0.0 1.01 nan"),
        ("policy", "added_delay_limit_s", "0.0"),
        ("policy", "hold_back_tokens", "0"),
        ("power", "mean_power_w", "-0.1 nan"),
        ("upstreams.main", "connect_timeout_s", "0.0"),
        ("upstreams.main", "first_token_timeout_s", "-1.0"),
        ("upstreams.main", "gap_timeout_s", "0.0"),
        ("upstreams.main", "total_timeout_s", "0.0"),
        ("upstreams.main", "usd_per_mtok_in", "-0.1 nan"),
        ("upstreams.main", "usd_per_mtok_out", "-1"),
    ],
)
def test_a_value_out_of_range(table: str, name: str, values: str) -> None:
    """A value outside its range is refused by its full name, and the value is not repeated: it may be a secret."""
    for value in values.split(" "):
        head = CLOUD if table == "upstreams.main" else f"[{table}]\n"
        with pytest.raises(ConfigError, match=rf"^teto\.toml: {table}\.{name} (must|cannot)") as raised:
            settle(f"{head}{name} = {value}")
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize("text", ["port = 0", "port = 65535"])
def test_the_ends_of_a_range_are_inside(text: str) -> None:
    """The first and the last port are ports."""
    assert settle(f"[gateway]\n{text}").settings.gateway.port in {0, 65535}


@pytest.mark.parametrize("missing", ["base_url", "model"])
def test_an_upstream_needs_a_url_and_a_model(missing: str) -> None:
    """An upstream without its URL or its model is refused, and told what the setting is."""
    text = "\n".join(line for line in CLOUD.split("\n") if not line.startswith(missing))
    with pytest.raises(ConfigError, match=rf"upstreams\.main\.{missing} is required: "):
        settle(text)


@pytest.mark.parametrize(
    "url",
    ["api.example.com", "ftp://api.example.com", "https://", "", "https://me:secret@api.example.com/v1", "http://a b/"],
)
def test_a_url_is_one_and_holds_no_secret(url: str) -> None:
    """The base URL is http or https and carries neither name nor password, and a wrong one is not repeated."""
    with pytest.raises(ConfigError, match=r"upstreams\.main\.base_url must be an http\(s\) URL without") as raised:
        settle(f'[upstreams.main]\nbase_url = "{url}"\nmodel = "m"')
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("url", ["https://api.example.com/v1", "http://127.0.0.1:8000", "http://[::1]:1/v1/x@y"])
def test_these_are_urls(url: str) -> None:
    """Hosts, ports, addresses and paths are all allowed."""
    text = f'[upstreams.main]\nbase_url = "{url}"\nmodel = "m"'
    assert settle(text).settings.upstreams["main"].base_url == url


def test_an_external_engine_needs_a_url_and_a_model() -> None:
    """An external engine without its server or model cannot be asked."""
    with pytest.raises(ConfigError, match=r"engine\.kind external needs engine\.base_url and engine\.model"):
        settle("[engine]\nkind = 'external'\nmodel = 'x'")
    with pytest.raises(ConfigError, match=r"engine\.base_url must be an http"):
        settle("[engine]\nkind = 'external'\nmodel = 'x'\nbase_url = 'localhost:11434'")
    text = "[engine]\nkind = 'external'\nmodel = 'x'\nbase_url = 'http://localhost:11434/v1'"
    assert settle(text).settings.engine.kind == "external"


def test_a_route_leads_to_a_known_upstream() -> None:
    """A route to an upstream that is not there is refused, with the nearest or with what to add."""
    route = "[[routes]]\nmatch = 'x'\nupstream = 'mian'\n"
    with pytest.raises(ConfigError, match=r"routes\[0\]\.upstream = 'mian' is no upstream") as raised:
        settle(CLOUD + route)
    assert raised.value.fix == "Did you mean main?"
    with pytest.raises(ConfigError) as raised:
        settle(route)
    assert raised.value.fix == "Add an [upstreams.NAME] table."


def test_no_key_is_ever_described() -> None:
    """The description names the variables that hold keys, and never what they hold."""
    environment = {"MAIN_KEY": "sk-secret", "ENGINE_KEY": "sk-secret", "TETO_API_KEY": "sk-secret"}
    text = f"{CLOUD}[engine]\napi_key_env = 'ENGINE_KEY'"
    rows = list(describe(settle(text, environment=environment)))
    values = {name: value for name, value, _, _ in rows}
    assert values["upstreams.main.api_key_env"] == "MAIN_KEY"
    assert values["engine.api_key_env"] == "ENGINE_KEY"
    assert "sk-secret" not in repr(rows)


def test_every_setting_is_described() -> None:
    """Each row has the value, its origin and what it means, upstreams and routes included, in the tree's order."""
    rows = list(describe(settle(f"{CLOUD}[[routes]]\nmatch = 'x'")))
    assert all(origin and help_text for _, _, origin, help_text in rows)
    names = [name for name, *_ in rows]
    assert len(set(names)) == len(names)
    assert names[0] == "gateway.host"
    assert names[-1] == "routes[0].hedge_above"
    assert ("upstreams.main.model", "m", "teto.toml") in [row[:3] for row in rows]


def test_half_a_price_is_refused() -> None:
    """One price without the other would be completed from another source in silence."""
    with pytest.raises(ConfigError, match="usd_per_mtok_in and usd_per_mtok_out are stated together"):
        settle(f"{CLOUD}usd_per_mtok_in = 0.1\n")


def test_a_slip_in_the_section_of_a_variable_is_refused() -> None:
    """TETO_GATWAY_PORT sets nothing, which nobody who wrote it wants; a variable of one's own is left alone."""
    with pytest.raises(ConfigError, match=r"unknown section 'gatway'.*gateway"):
        settle("", environment={"TETO_GATWAY_PORT": "1"})
    settle("", environment={"TETO_CLOUD_KEY": "x", "TETO_API_KEY": "y", "TETO_CONFIG": "z"})


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_a_number_without_end_is_refused(value: str) -> None:
    """Infinity is no limit: it cannot be written into a receipt, which is JSON."""
    with pytest.raises(ConfigError, match=r"policy\.added_delay_limit_s must be"):
        settle(f"[policy]\nadded_delay_limit_s = {value}\n")


RULES = """
[[privacy]]
name = "people"
detect = ["cpf", "email"]
[[privacy]]
key = ["AB12cd34ef56"]
header = { X-Data-Class = "secret*" }
tag = ["hr", "legal-*"]
"""


def test_rules_of_privacy_come_from_the_file() -> None:
    """Tables of privacy are read in their order, each with what it states; the gateway's settings hold them."""
    resolved = settle(RULES)
    assert resolved.settings.gateway.privacy == (
        PrivacySettings(name="people", detect=("cpf", "email")),
        PrivacySettings(key=("AB12cd34ef56",), header={"X-Data-Class": "secret*"}, tag=("hr", "legal-*")),
    )
    rows = {name: (value, origin) for name, value, origin, _ in describe(resolved)}
    assert rows["privacy[0].name"] == ("people", "teto.toml")
    assert rows["privacy[0].tag"] == ((), "default")
    assert rows["privacy[1].header"] == ({"X-Data-Class": "secret*"}, "teto.toml")
    assert not [name for name in rows if name.startswith("gateway.privacy")]


def test_without_rules_nothing_is_private() -> None:
    """No rule is the default, and no setting of the gateway's own table makes one."""
    assert Settings().gateway.privacy == ()
    with pytest.raises(ConfigError, match=r"unknown setting 'gateway\.privacy'"):
        settle("[gateway]\nprivacy = []")
    with pytest.raises(ConfigError, match="unknown setting"):
        settle(environment={"TETO_GATEWAY_PRIVACY": "cpf"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[privacy]]\n", r"teto\.toml: privacy\[0\] must state a condition: key, header, tag or detect"),
        ("[[privacy]]\nname = 'x'", r"privacy\[0\] must state a condition"),
        ("[[privacy]]\ndetect = []\ntag = []\nheader = {}", r"privacy\[0\] must state a condition"),
        ("[privacy]\ndetect = ['cpf']", r"privacy must be \[\[privacy\]\] tables"),
        ("[[privacy]]\ndetect = 'cpf'", r"privacy\[0\]\.detect = 'cpf': Expected `array`"),
        ("[[privacy]]\nkey = ['sk-my-secret-key-1']", r"privacy\[0\]\.key must hold 12 to 64 hex digits"),
        ("[[privacy]]\nkey = ['ab12cd34ef5']", r"privacy\[0\]\.key must hold 12 to 64 hex digits"),
        ("[[privacy]]\nheader = { 'x class' = 'a' }", r"privacy\[0\]\.header must give names of headers"),
        ("[[privacy]]\nheader = { x-class = '' }", r"privacy\[0\]\.header must give names of headers"),
        ("[[privacy]]\nheader = { x-class = 1 }", r"privacy\[0\]\.header = "),
        ("[[privacy]]\ntag = ['hr', ' ']", r"privacy\[0\]\.tag must hold globs, none of them empty"),
        ("[[privacy]]\nname='a'\ntag=['x']\n[[privacy]]\nname='a'\ntag=['y']", r"privacy\[1\]\.name must differ"),
    ],
)
def test_a_rule_that_keeps_nothing_is_refused(text: str, message: str) -> None:
    """A rule that could never hold, or not as it was meant, is refused by its place, and a key is not repeated."""
    with pytest.raises(ConfigError, match=message) as raised:
        settle(text)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "fix"),
    [
        ("cfp", "Did you mean cpf or cnpj?"),
        ("e-mail", "Did you mean email?"),
        ("zzz", "Known: all, api_key, card, cnpj"),
    ],
)
def test_an_unknown_detector_is_refused_with_the_nearest(kind: str, fix: str) -> None:
    """A misspelt detector is an error with its nearest names, and not a rule that finds nothing."""
    with pytest.raises(
        ConfigError, match=rf"teto\.toml: privacy\[0\]\.detect: there is no detector '{kind}'"
    ) as raised:
        settle(f"[[privacy]]\ndetect = ['cpf', '{kind}']")
    assert raised.value.fix is not None
    assert raised.value.fix.startswith(fix)


def test_a_misspelt_condition_is_refused() -> None:
    """A condition that does not exist would be one that is not there."""
    with pytest.raises(ConfigError, match=r"unknown setting 'privacy\[0\]\.headers'"):
        settle("[[privacy]]\nheaders = { x-class = 'a' }")


def test_a_rule_for_a_key_that_nobody_has_is_refused() -> None:
    """Where clients have keys, a rule's key is one of theirs; where they have none, any may be meant."""
    keys = f"[gateway]\napi_key_sha256 = ['ab12cd34ef56{'0' * 52}']\n"
    settle(f"{keys}[[privacy]]\nkey = ['AB12CD34EF56']")
    settle("[[privacy]]\nkey = ['ab12cd34ef56']")
    with pytest.raises(ConfigError, match=r"privacy\[0\]\.key must name keys of gateway\.api_key_sha256"):
        settle(f"{keys}[[privacy]]\nkey = ['ab12cd34ef57']")


def test_a_rule_in_the_environment_is_refused() -> None:
    """Rules live in the file: one that somebody trusts is not left out in silence."""
    with pytest.raises(ConfigError, match="environment TETO_PRIVACY_DETECT: rules of privacy live in the file"):
        settle(environment={"TETO_PRIVACY_DETECT": "cpf"})
