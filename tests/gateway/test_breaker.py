"""The breaker alone, on a clock that the tests own."""

from tests.fakes import FakeClock
from teto.gateway.breaker import Breaker


def opened(clock: FakeClock) -> Breaker:
    """A breaker that three failures have just opened."""
    breaker = Breaker(clock)
    for _ in range(3):
        breaker.failed("no answer")
    return breaker


def test_new_breaker_lets_everything_through() -> None:
    """Nothing is known against a cloud that was never asked."""
    breaker = Breaker(FakeClock())
    assert all(breaker.allows() for _ in range(10))


def test_breaker_opens_at_the_third_failure_in_a_row() -> None:
    """Two failures are bad luck, three are a cloud that is down."""
    breaker = Breaker(FakeClock())
    breaker.failed("no answer")
    breaker.failed("no answer")
    assert breaker.allows()
    breaker.failed("no answer")
    assert not breaker.allows()


def test_success_between_failures_counts_anew() -> None:
    """Failures that are not in a row do not open it."""
    breaker = Breaker(FakeClock())
    for _ in range(5):
        breaker.failed("no answer")
        breaker.failed("no answer")
        breaker.succeeded()
    assert breaker.allows()


def test_one_request_may_try_after_the_pause() -> None:
    """After two seconds one request gets through, and only one."""
    clock = FakeClock()
    breaker = opened(clock)
    clock.now_s += 1.99
    assert not breaker.allows()
    clock.now_s += 0.01
    assert breaker.allows()
    assert not breaker.allows()


def test_success_of_the_try_closes_it() -> None:
    """A cloud that answers again is used again, by all."""
    clock = FakeClock()
    breaker = opened(clock)
    clock.now_s += 2
    assert breaker.allows()
    breaker.succeeded()
    assert all(breaker.allows() for _ in range(10))


def test_each_failed_try_doubles_the_pause_up_to_a_minute() -> None:
    """2, 4, 8, 16, 32, then 60 seconds between tries."""
    clock = FakeClock()
    breaker = opened(clock)
    pauses_s = []
    for _ in range(7):
        start_s = clock.now_s
        while not breaker.allows():
            clock.now_s += 0.5
        pauses_s.append(clock.now_s - start_s)
        breaker.failed("no answer")
    assert pauses_s == [2, 4, 8, 16, 32, 60, 60]


def test_requests_that_were_under_way_do_not_prolong_the_pause() -> None:
    """Fifty requests that fail together, because the cloud died under them, cost one pause, not fifty doublings."""
    clock = FakeClock()
    breaker = opened(clock)
    for _ in range(50):
        breaker.failed("no answer")
    clock.now_s += 2
    assert breaker.allows()


def test_try_that_never_ends_does_not_block_the_next() -> None:
    """A try whose client left says nothing; after another pause the next one may try."""
    clock = FakeClock()
    breaker = opened(clock)
    clock.now_s += 2
    assert breaker.allows()
    clock.now_s += 2
    assert breaker.allows()


def test_pause_starts_short_again_after_a_recovery() -> None:
    """The doubling is forgotten once the cloud has answered."""
    clock = FakeClock()
    breaker = opened(clock)
    for pause_s in (2, 4, 8):
        clock.now_s += pause_s
        assert breaker.allows()
        breaker.failed("no answer")
    clock.now_s += 16
    assert breaker.allows()
    breaker.succeeded()
    for _ in range(3):
        breaker.failed("no answer")
    clock.now_s += 2
    assert breaker.allows()
