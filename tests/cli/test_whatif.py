"""`teto whatif`: each lever as text and as JSON, and what it refuses."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Home

# 1 TB/s and 100 TFLOP/s: no fit covers a device that is only numbers, so every time is a ceiling.
GIVEN = ("--bandwidth", "1e12", "--flops", "1e14", "--memory", "24GB")
CEILING = "note: no fit covers this: times are ceilings, which no engine reaches"
# 32 layers of (2 · 4,096 · 4,096 + 2 · 4,096 · 1,024 + 3 · 4,096 · 14,336) and a head of 128,256 · 4,096, in 16 bits.
MATRICES = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 128_256 * 4096
READ_BYTES = 2 * MATRICES + 4 * (65 * 4096) + 2 * 4096  # norms in 32 bits, and a row of the table
KV_BYTES = 131_072


def ask(home: Home, *arguments: str) -> dict[str, Any]:
    """The answer as JSON, of Llama-3.1-8B in 16 bits on a device that is only numbers."""
    done = home.run("whatif", "llama-3.1-8b", *arguments, "--quant", "bf16", *GIVEN, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["about"]["kind"] == "ceiling"
    return found


def test_batches_as_text(home: Home) -> None:
    """The table of batches, what ends them, and that these are ceilings."""
    done = home.run("whatif", "llama-3.1-8b", "batch", "--quant", "bf16", *GIVEN, "--context", "1000")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "llama-3.1-8b bf16 on given: requests that share each step, at 1,000 tokens of context each (ceiling)",
        "batch     step  tok/s each  tok/s in all  in all  read/token       KV  memory left   bound",
        "1      15.1 ms        66.0          66.0   x1.00     15.1 GB   131 MB      7.81 GB  memory",
        "10     16.3 ms        61.3         612.7   x9.28     1.63 GB  1.31 GB      6.63 GB  memory",
        "20     17.6 ms        56.7       1,134.1  x17.17      882 MB  2.62 GB      5.32 GB  memory",
        "50     21.6 ms        46.4       2,317.9  x35.10      431 MB  6.55 GB      1.39 GB  memory",
        # 24e9 - 16.06e9 of weights over 131.1e6; 15.01 ms over 155.3 µs of FLOPs less 131.2 µs of KV a request.
        "- KV of 1,000 tokens each fills memory at 60 requests",
        "- multiplying takes longer than reading from 623 requests on",
        CEILING,
    ]


def test_batches_as_json(home: Home) -> None:
    """The same figures whole: bytes over bandwidth."""
    found = ask(home, "batch", "--context", "1000", "--batches", "1,10")
    one, ten = found["options"]
    assert one["step_s"] == pytest.approx((READ_BYTES + 1001 * KV_BYTES) / 1e12)
    assert ten["step_s"] == pytest.approx((READ_BYTES + 9 * 8192 + 10 * 1001 * KV_BYTES) / 1e12)
    assert ten["tokens_per_s"] == pytest.approx(10 / ten["step_s"])


def test_formats(home: Home) -> None:
    """Fewer bits are more tokens a second, and the first format is what others are compared with."""
    found = ask(home, "quant", "--formats", "bf16,q8_0,q4_k_m")
    speeds = [option["speed_ratio"] for option in found["options"]]
    assert speeds[0] == 1
    assert 1 < speeds[1] < 16 / 8.5
    assert speeds[1] < speeds[2] < 16 / 4.5


def test_hardware(home: Home) -> None:
    """Twice the FLOPs move decode by nothing, and twice the bandwidth moves a long prefill by nothing."""
    done = home.run("whatif", "llama-3.1-8b", "hardware", "--quant", "bf16", *GIVEN)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[3][-6:-4] == ["+0", "%"]
    assert lines[3][-2:] == ["+100", "%"]
    assert lines[4][-6:-4] == ["+100", "%"]
    assert lines[4][-2:] == ["+0", "%"]
    assert "- memory binds decode here, compute prefill: pay only for what binds" in done.stdout


def test_speculation(home: Home) -> None:
    """3.3616 tokens a pass at 0.8 and 4, and a draft of a tenth of a step."""
    found = ask(home, "speculate", "--acceptance", "0.8", "--draft-cost", "0.1")
    assert found["found"]["tokens_per_pass"] == pytest.approx(3.3616)
    # The check reads one set of weights and one cache: nearly a plain step. 3.3616 / 1.4.
    assert found["found"]["speed_ratio"] == pytest.approx(2.40, abs=0.01)
    assert found["tokens_per_s_after"] / found["tokens_per_s_before"] == pytest.approx(found["found"]["speed_ratio"])


def test_a_draft_model(home: Home) -> None:
    """A model of its own proposes: its steps cost what its weights take to read."""
    found = ask(home, "speculate", "--acceptance", "0.7", "--draft", "llama-3.2-1b", "--draft-quant", "q4_0")
    assert found["draft"] == "llama-3.2-1b"
    assert 0 < found["found"]["draft_s"] < found["found"]["plain_s"]


def test_two_kinds_of_call(home: Home) -> None:
    """Without --call, classifying 800 to 3 and writing 200 to 600; decode is why."""
    found = ask(home, "calls")
    assert found["found"]["first"]["tokens"] == {"prompt_tokens": 800, "output_tokens": 3}
    assert found["ratio"] > 20
    given = ask(home, "calls", "--call", "800:3", "--call", "800→300")
    assert given["found"]["second"]["tokens"]["output_tokens"] == 300
    assert given["found"]["second"]["prefill_s"] == given["found"]["first"]["prefill_s"]


def test_a_document(home: Home) -> None:
    """Fifty pages in 16 GB of which 9 are taken: 33,350 tokens, whose KV does not fit beside 4-bit weights."""
    done = home.run(
        "whatif", "llama-3.1-8b", "document", "--quant", "q4_k_m", "--bandwidth", "1e11", "--flops", "1e13",
        "--memory", "16GB", "--other-memory", "9GB",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "a document of 50 pages of 667 tokens (assumed), 33,350 tokens (ceiling)" in done.stdout
    # 33,650 · 131,072 bytes.
    assert "KV               4.41 GB with an answer of 300 tokens\n" in done.stdout
    assert "fits             no\n" in done.stdout
    assert "- does not fit in memory by 2.32 GB: weights 4.91 GB + KV 4.41 GB + others 9 GB of 16 GB\n" in done.stdout


def test_longer_answers(home: Home) -> None:
    """Where memory is what limits, twice the answer more than doubles the bill, and the reason has its figures."""
    done = home.run(
        "whatif", "llama-3.1-8b", "length", "--quant", "bf16", *GIVEN, "--answer", "1000", "--prompt", "500"
    )
    assert (done.returncode, done.stderr) == (0, "")
    # 40 caches of 1,499 tokens fit in the 7.94 GB left, and 24 of 2,499.
    assert "- the bill more than doubles: x2.97 for x2 the length\n" in done.stdout
    assert (
        "- calls in flight go from 40 to 24 (memory): 25 caches of 328 MB are more than the 7.94 GB free" in done.stdout
    )
    found = ask(home, "length", "--answer", "1000", "--prompt", "500", "--usd-per-hour", "2")
    one, two, _ = found["options"]
    assert (one["constraint"], two["constraint"]) == ("memory", "memory")
    assert found["usd_per_call"][1] / found["usd_per_call"][0] == pytest.approx(two["cost_ratio"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("batch",), "A device is needed"),
        (("batch", *GIVEN, "--batches", "0,3"), "expected whole numbers of at least 1 such as 1,10,20,50, found '0,3'"),
        (("batch", *GIVEN, "--context", "200000"), "beyond the 131,072 tokens"),
        (
            ("quant", *GIVEN, "--formats", "q4_k_n"),
            "No weight format is called 'q4_k_n'; the nearest are q4_k_s, q4_k_m",
        ),
        (("hardware", *GIVEN, "--factor", "nan"), "expected a finite number above 0, found 'nan'"),
        (("hardware", *GIVEN, "--pages", "3"), "--pages says nothing to the lever hardware"),
        (("speculate", *GIVEN), "--acceptance is missing"),
        (("speculate", *GIVEN, "--acceptance", "0.5"), "Speculation needs one draft"),
        (("speculate", *GIVEN, "--acceptance", "1.5", "--draft-cost", "0.1"), "from 0 to 1, found 1.5"),
        (("calls", *GIVEN, "--call", "800:3"), "Two kinds of call are compared, found 1"),
        (("calls", *GIVEN, "--call", "800", "--call", "1:1"), "expected tokens in and tokens out such as 800:3"),
        (("calls", *GIVEN, "--call", "131072:2", "--call", "1:1"), "need a context of 131,073"),
        (("document", "--bandwidth", "1e12", "--flops", "1e14"), "The memory of given is unknown"),
        (("document", "--bandwidth", "1e12"), "The multiply rate of given is unknown"),
        (("length", *GIVEN, "--tpot-ms", "-1"), "expected a finite number above 0, found '-1'"),
        (("length", "--on", "rtx-4091"), "No device is called 'rtx-4091'; the nearest are"),
        (("nothing",), "'nothing' is not one of"),
    ],
)
def test_what_is_refused(home: Home, arguments: tuple[str, ...], words: str) -> None:
    """Every refusal says what was found and what is expected, with exit code 2 and nothing printed."""
    done = home.run("whatif", "llama-3.1-8b", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in " ".join(done.stderr.split())


def test_an_unknown_model(home: Home) -> None:
    """A model that is not in the catalog is refused with the nearest names."""
    done = home.run("whatif", "llama-3.1-9b", "batch", *GIVEN)
    assert done.returncode == 2
    assert "llama-3.1-8b" in done.stderr
