from __future__ import annotations

from tests.fresh import imported_by


def test_libraries_that_are_loaded_later_have_one_thread_too() -> None:
    program = """
from detector.threads import one_thread
one_thread()
import sklearn.decomposition
from threadpoolctl import threadpool_info
assert {pool["num_threads"] for pool in threadpool_info()} == {1}, threadpool_info()"""
    assert "scipy" in imported_by(program)
