"""Cache of compiled loops: numba compiles a loop in a process's first run, and stores it on disk if possible.

The folder is NUMBA_CACHE_DIR, else `__pycache__` beside the source, else the user's cache folder. An entry is valid for
the same source on the same kind of processor. numba only notices changes in the function's own file, so the hash of all
other parts belongs to the key. If no folder is writable, each process compiles for itself.
"""

import zlib
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, TypeVar, cast

from numba import njit

Run = TypeVar("Run", bound=Callable[..., Any])


def cached(run: Run) -> Run:
    """Return the loop, compiled in its first run."""
    try:
        return cast("Run", njit(nogil=True, cache=True)(run))
    except RuntimeError:  # no folder for the cache
        return cast("Run", njit(nogil=True)(run))


def mark(modules: Iterable[ModuleType]) -> int:
    """Return a number that changes if anything compiled in the modules changes: functions and constants."""
    checksum = 0
    for module in modules:
        for name, each in sorted(vars(module).items()):
            source = getattr(each, "py_func", None)
            if source is not None:
                code = source.__code__
                text = f"{name} {code.co_code.hex()} {code.co_consts} {code.co_names}"
            elif isinstance(each, int):
                text = f"{name} {each}"
            else:
                continue
            checksum = zlib.crc32(text.encode(), checksum)
    return checksum
