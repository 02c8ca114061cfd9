import numba
import pytest
from hypothesis import HealthCheck, settings

# Kernels compile inside the first example, so deadlines would only measure the compiler.
settings.register_profile(
    "microagg",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("microagg")


@pytest.fixture
def threads():
    """Set the number of threads, and put it back afterwards."""
    before = numba.get_num_threads()
    yield numba.set_num_threads
    numba.set_num_threads(before)
