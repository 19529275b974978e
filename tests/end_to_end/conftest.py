"""One cloud and one folder of tunings for all of these tests, and one gateway for those that leave it as it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.cloud import Cloud, open_cloud
from tests.end_to_end.home import Gateway, Home
from tests.smoke_weights import smoke_weights


@pytest.fixture(scope="session")
def cloud() -> Iterator[Cloud]:
    """The cloud that every gateway here has."""
    with open_cloud() as opened:
        yield opened


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where tunings and the machine's probe are kept, so that they are made once."""
    smoke_weights()
    return tmp_path_factory.mktemp("state")


@pytest.fixture
def home(tmp_path: Path, state: Path, cloud: Cloud) -> Home:
    """A home of the test's own, in which local answers may take ten minutes, however busy the machine is."""
    settings = "[policy]\nadded_delay_limit_s = 600.0\n"
    return Home.make(tmp_path, state=state, cloud_url=cloud.base_url, more_settings=settings)


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory, state: Path, cloud: Cloud) -> Home:
    """The home of the gateway that tests share."""
    return Home.make(tmp_path_factory.mktemp("home"), state=state, cloud_url=cloud.base_url)


@pytest.fixture(scope="session")
def gateway(shared_home: Home) -> Iterator[Gateway]:
    """A running gateway that no test may stop or switch."""
    with shared_home.serve() as running:
        yield running
