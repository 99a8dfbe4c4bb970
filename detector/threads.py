"""One thread for linear algebra: on matrices of this size more threads only wait for each other.

https://github.com/joblib/threadpoolctl, https://github.com/OpenMathLib/OpenBLAS#setting-the-number-of-threads-using-environment-variables
"""

from __future__ import annotations

import os

from threadpoolctl import threadpool_limits

_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")


def one_thread() -> None:
    """From now on: of libraries that are loaded, and of those that a first fit will load."""
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    threadpool_limits(1)
