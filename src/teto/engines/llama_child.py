"""The child process: llama.cpp's own server on a loopback port, until standard input ends.

Started by `llama_process`. Its orders come as one line of JSON on standard input, so that the key is in no
argument list and no environment. It answers with one line of JSON on what was standard output: the address, or
the error. Standard input stays open as long as the parent lives, however it dies: at its end the child exits.
"""

import json
import os
import sys
from typing import Any, BinaryIO

from teto.engines.parking import die_with_parent

__all__: list[str] = []


def _params(orders: dict[str, Any]) -> Any:
    import xllamacpp  # noqa: PLC0415 - OpenMP reads its environment when this is loaded

    params = xllamacpp.CommonParams()
    params.model.path = orders["weights"]
    params.model_alias = {"teto"}
    params.api_keys = [orders["key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = orders["slots"]
    params.n_ctx = orders["context_tokens"] * orders["slots"]  # the engine divides it among the slots
    # Beside one token for each slot that decodes, a whole batch of a prompt fits.
    params.n_batch = params.n_ubatch = orders["batch_tokens"] + orders["slots"] - 1
    params.cpuparams.n_threads = orders["decode_threads"]
    params.cpuparams_batch.n_threads = orders["prefill_threads"]
    params.no_extra_bufts = not orders["repack"]
    params.n_threads_http = 64  # as many open streams as HTTP threads would hang even the health check
    params.cache_ram_mib = 0  # no second cache of 8 GiB beside the slots
    params.ui = False
    params.cors_origins = ""
    params.sampling.temp = 0.0
    params.ctx_shift = False  # a full context ends the answer, it never forgets its beginning
    params.verbosity = 1
    return params


def main() -> None:
    """Serve until standard input ends."""
    die_with_parent()
    answer: BinaryIO = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever the library prints goes to the log, not into the answer
    orders = json.loads(sys.stdin.buffer.readline())

    def tell(message: dict[str, str]) -> None:
        answer.write(json.dumps(message).encode() + b"\n")

    try:
        import xllamacpp  # noqa: PLC0415 - see above

        server = xllamacpp.Server(_params(orders))
    except Exception as error:  # noqa: BLE001 - every initialisation failure is the parent's to explain
        tell({"error": f"{type(error).__name__}: {error}"})
        os._exit(1)
    tell({"address": server.listening_address, "version": xllamacpp.__version__})
    sys.stdin.buffer.read()
    os._exit(0)  # the server's threads do not end by themselves


if __name__ == "__main__":
    main()
