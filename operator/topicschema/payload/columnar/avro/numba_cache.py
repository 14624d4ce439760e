"""Where a compiled loop comes from: numba compiles it in a process's first run, and keeps it on disk where it may.

That is NUMBA_CACHE_DIR, else `__pycache__` beside the source, else the user's cache folder. What is kept is used by the
same source on the same sort of processor. numba looks for changes in the function's own file only, so what else it is
made of is part of its key. Where nothing can be written, each process compiles for itself.
"""

import zlib
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, TypeVar, cast

from numba import njit

Run = TypeVar("Run", bound=Callable[..., Any])


def kept(run: Run) -> Run:
    """The loop, compiled when it is first run."""
    try:
        return cast("Run", njit(nogil=True, cache=True)(run))
    except RuntimeError:  # nowhere to keep it
        return cast("Run", njit(nogil=True)(run))


def mark(modules: Iterable[ModuleType]) -> int:
    """Another number where anything in the modules that is compiled is another: functions and constants."""
    found = 0
    for module in modules:
        for name, each in sorted(vars(module).items()):
            source = getattr(each, "py_func", None)
            if source is not None:
                code = source.__code__
                told = f"{name} {code.co_code.hex()} {code.co_consts} {code.co_names}"
            elif isinstance(each, int):
                told = f"{name} {each}"
            else:
                continue
            found = zlib.crc32(told.encode(), found)
    return found
