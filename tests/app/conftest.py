import pytest

pytest.importorskip("starlette", reason="the packages of the extra app are not installed")


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The app, on a folder of its own, for all tests; each opens tables of its own."""
    from tests.app.serving import running

    with running(
        tmp_path_factory.mktemp("folder"), tmp_path_factory.mktemp("home"), max_upload=2 * 10**6
    ) as made:
        yield made


@pytest.fixture
def guest(server):
    from tests.app.serving import Guest

    server.desk.state.problem = ""
    return Guest(server)
