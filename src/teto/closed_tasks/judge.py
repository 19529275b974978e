"""From recorded answers to judged ones, as the deployed rule would have seen them."""

from collections.abc import Sequence
from typing import Any

from teto.closed_tasks.record import request_of
from teto.closed_tasks.recorded import Recorded, RecordedToken
from teto.triage.empty_input import closed_labels, given_text
from teto.triage.form import Answer, form_fault
from teto.triage.judged import Judged
from teto.triage.policy import Case, signals_for
from teto.triage.recognise import Recognition
from teto.triage.score import is_same_answer
from teto.wire.generation import Piece, TokenLogprob

__all__ = ["judge"]


def _pieces(tokens: Sequence[RecordedToken]) -> list[Piece]:
    return [Piece(text=token.text, tokens=(token.as_token,)) for token in tokens]


def _tokens(recorded: Sequence[RecordedToken] | None) -> list[TokenLogprob] | None:
    return None if recorded is None else [token.as_token for token in recorded]


def judge(
    item: dict[str, Any], recorded: Recorded, recognition: Recognition, *, right: bool, hold_back_tokens: int
) -> Judged:
    """The judged answer to an item that is admitted as `recognition` says, decided after `hold_back_tokens`.

    A structured answer is waited for to its end, as the gateway does. `right` is of the whole answer; one that
    reached its limit is wrong.
    """
    request = request_of(item)
    whole = Answer(pieces=_pieces(recorded.tokens), finish_reason=recorded.finish_reason)
    answer = whole if request.json_schema is not None else whole.cut(hold_back_tokens)
    case = Case(
        task=recognition.task,
        language=str(recognition.language),
        answer=answer,
        schema=request.json_schema,
        labels=closed_labels(request, recognition.task),
        empty=_tokens(recorded.empty),
        rule=None,
        request_text="\n".join(message.text for message in request.messages),
        given=given_text(request),
    )
    fault = form_fault(case.task, answer, schema=request.json_schema, labels=case.labels)
    second = recorded.second if answer.finish_reason is not None else None
    return Judged(
        id=item["id"],
        task=str(recognition.task),
        language=str(recognition.language),
        signals=None if fault is not None else signals_for(case),
        n_tokens=answer.n_tokens,
        right=right and recorded.finish_reason == "stop",
        cloud_right=item.get("cloud_right"),
        agreed=None if second is None else is_same_answer(answer.text, second),
        prompt_tokens=recorded.prompt_tokens,
        local_s=recorded.prefill_s + recorded.decode_s,
    )
