"""Every error of teto, with the exit code of the command line and the HTTP status of the gateway beside each.

The tree:

    TetoError                       exit  http
    ├── ConfigError                    2   500   a setting is wrong, or a name in it is unknown
    ├── UnknownNameError               2   404   a model, receipt or mode that does not exist
    ├── RequestError                   2   400   the client's request cannot be understood
    │   ├── AuthenticationError        2   401   no key, or the wrong one
    │   ├── ContextOverflowError       2   413   the prompt is larger than the context
    │   └── PrivacyError               2   403   a cloud is asked for, and privacy keeps the request here
    │       └── KeptHereError          2   422   privacy keeps it here, and the local model does not answer it
    ├── WeightsError                   3   503   the store cannot give the weights
    │   ├── MissingWeightsError        3   503   they were never pulled
    │   ├── CorruptWeightsError        3   503   their sha256 is not the catalog's
    │   └── DiskFullError              3   503   no room for them
    ├── EngineError                    4   503   the local engine cannot answer
    │   ├── EngineBusyError            4   503   its queue is full
    │   └── EngineDiedError            4   503   its process ended while it worked
    ├── UpstreamError                  5   502   the cloud answered with an error
    │   ├── UpstreamUnreachableError   5   503   no answer at all: refused, timed out, name not found
    │   ├── UpstreamStatusError        5   502   an HTTP status other than 200
    │   └── UpstreamCutError           5   503   the connection broke inside an answer
    ├── UnavailableError               5   503   neither the engine nor the cloud may answer this request
    │   └── StoppingError              5   503   the gateway is being stopped
    └── PortTakenError                 6   500   another process listens there
"""

from typing import ClassVar

__all__ = [
    "AuthenticationError",
    "ConfigError",
    "ContextOverflowError",
    "CorruptWeightsError",
    "DiskFullError",
    "EngineBusyError",
    "EngineDiedError",
    "EngineError",
    "KeptHereError",
    "MissingWeightsError",
    "PortTakenError",
    "PrivacyError",
    "RequestError",
    "StoppingError",
    "TetoError",
    "UnavailableError",
    "UnknownNameError",
    "UpstreamCutError",
    "UpstreamError",
    "UpstreamStatusError",
    "UpstreamUnreachableError",
    "WeightsError",
]


class TetoError(Exception):
    """An error that a person can act on: what was found, where, and in `fix` what to do."""

    exit_code: ClassVar[int] = 1
    http_status: int = 500
    code: ClassVar[str] = "internal_error"

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return self.message if self.fix is None else f"{self.message} {self.fix}"


class ConfigError(TetoError):
    """A setting is unknown, of the wrong type, or out of range."""

    exit_code = 2
    code = "config_error"


class UnknownNameError(TetoError):
    """A name that is in no catalog, table or list; the message gives the nearest ones."""

    exit_code = 2
    http_status = 404
    code = "not_found"


class RequestError(TetoError):
    """A request that cannot be understood; `param` is the JSON field at fault."""

    exit_code = 2
    http_status = 400
    code = "invalid_request"

    def __init__(self, message: str, *, fix: str | None = None, param: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.param = param


class AuthenticationError(RequestError):
    """The gateway asks for a key and got none, or one it does not know."""

    http_status = 401
    code = "invalid_api_key"


class ContextOverflowError(RequestError):
    """The prompt and its answer need more tokens than the context holds."""

    http_status = 413
    code = "context_length_exceeded"


class PrivacyError(RequestError):
    """A request that a rule of privacy keeps here asks for the cloud; nothing was sent."""

    http_status = 403
    code = "private_request"


class KeptHereError(PrivacyError):
    """A rule of privacy keeps the request here, and the local model cannot stand behind an answer.

    The status is 422 and not 503: the same request would be refused again, so a client should not repeat it.
    """

    http_status = 422
    code = "private_unanswered"


class WeightsError(TetoError):
    """The weights store cannot give what was asked for."""

    exit_code = 3
    http_status = 503
    code = "weights_error"


class MissingWeightsError(WeightsError):
    """The weights are in no place that the store may read."""

    code = "weights_missing"


class CorruptWeightsError(WeightsError):
    """The file's sha256 differs from the one that is trusted."""

    code = "weights_corrupt"


class DiskFullError(WeightsError):
    """The disk has less room than the weights need."""

    code = "disk_full"


class EngineError(TetoError):
    """The local engine cannot answer."""

    exit_code = 4
    http_status = 503
    code = "engine_error"


class EngineBusyError(EngineError):
    """More requests wait for the engine than its queue may hold."""

    code = "engine_busy"


class EngineDiedError(EngineError):
    """The engine's process ended while it worked on this request."""

    code = "engine_died"


class UpstreamError(TetoError):
    """The cloud could not be used; `upstream` names it."""

    exit_code = 5
    http_status = 502
    code = "upstream_error"

    def __init__(self, message: str, *, upstream: str, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.upstream = upstream


class UpstreamUnreachableError(UpstreamError):
    """No answer: refused, timed out, or its name is not found."""

    http_status = 503
    code = "upstream_unreachable"


class UpstreamStatusError(UpstreamError):
    """The cloud answered with an HTTP status other than 200; its body is kept as it came."""

    code = "upstream_status"

    def __init__(
        self,
        message: str,
        *,
        upstream: str,
        status: int,
        body: bytes = b"",
        retry_after: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(message, upstream=upstream, fix=fix)
        self.status = status
        self.body = body
        self.retry_after = retry_after
        # The client's request is at fault, or its rate: it gets the cloud's own status. A key that the cloud
        # refuses (401, 403) is the operator's fault, and a cloud that fails (5xx) is down.
        if self.passes_through:
            self.http_status = status
        elif status >= 500:
            self.http_status = 503

    @property
    def is_the_requests_fault(self) -> bool:
        """Whether the cloud refused this request as such: it is up, and asking elsewhere would not be honest."""
        return 400 <= self.status < 500 and self.status not in {401, 403, 407, 429}

    @property
    def passes_through(self) -> bool:
        """Whether the client is told in the cloud's own words and status."""
        return self.is_the_requests_fault or self.status == 429


class UpstreamCutError(UpstreamError):
    """The connection broke inside an answer."""

    http_status = 503
    code = "upstream_cut"


class UnavailableError(TetoError):
    """Neither the engine nor the cloud may answer this request; the message says why for both."""

    exit_code = 5
    http_status = 503
    code = "unavailable"


class StoppingError(UnavailableError):
    """The gateway is being stopped while it answers."""

    code = "stopping"


class PortTakenError(TetoError):
    """Another process listens on the address."""

    exit_code = 6
    code = "port_taken"
