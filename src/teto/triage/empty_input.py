"""A request without the text it was given to work on: what the model would say to the instruction alone."""

from typing import Any

import msgspec

from teto.traffic.task import Task
from teto.triage import signs
from teto.triage.instruction import Instruction, read_instruction
from teto.triage.label_set import label_set
from teto.wire.chat import ChatRequest, parse_chat_request

__all__ = ["EMPTY_OUTPUT_TOKENS", "closed_labels", "emptied", "given_text"]

EMPTY_OUTPUT_TOKENS = 12  # enough for a schema's forced beginning and the label's first token


def _asked(request: ChatRequest) -> Instruction:
    schema = request.json_schema
    return read_instruction(request.messages, tasks=signs.TASKS, orders=signs.ORDERS, brief=schema is not None)


def given_text(request: ChatRequest) -> str:
    """The text that the request gives to work on; "" where none was found."""
    return _asked(request).given


def closed_labels(request: ChatRequest, task: Task) -> tuple[str, ...] | None:
    """The closed set of answers that the request allows, folded, or None where it is not known.

    Only classification has one, and a question that is answered by yes or no or by a schema's enumeration.
    """
    asked, schema = _asked(request), request.json_schema
    if task is Task.CLASSIFY:
        return label_set(asked, schema)
    is_yes_no = schema is not None or signs.YES_NO.search(asked.folded) is not None
    return label_set(asked, schema) if task is Task.CLOSED_QA and is_yes_no else None


def emptied(request: ChatRequest) -> ChatRequest | None:
    """The request with its given text taken out; None where no such text was found in its messages.

    The client's sampling is left out: only the first token's probabilities are of interest.
    """
    given = [part for part in _asked(request).given.split("\n") if part.strip()]
    if not given:
        return None
    found = False
    messages: list[dict[str, Any]] = []
    for message in request.messages:
        text = message.text
        if message.role == "user":
            for part in given:
                found = found or part in text
                text = text.replace(part, "", 1)
        messages.append({"role": message.role, "content": text})
    if not found:
        return None
    body: dict[str, Any] = {"model": request.model, "messages": messages, "logprobs": True, "top_logprobs": 20}
    if request.fields.response_format is not None:
        body["response_format"] = request.fields.response_format
    return parse_chat_request(msgspec.json.encode(body))
