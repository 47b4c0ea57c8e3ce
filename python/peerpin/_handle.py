# SPDX-License-Identifier: MIT
"""The lifetime of the library's objects.

A Core is one object of the library. Its uses are calls in progress and objects that were made from it. Close marks a
Core closed, so that no new use begins. The object is freed when it is closed and its last use has ended: at once, by the
thread that ends the last use, or when the last array over a mapping goes. So neither the order in which handles are closed
or collected nor a close in another thread frees an object that is in use.

There is no lock, so that a garbage collection inside any line, and a fork() while another thread is here, are harmless.
Single operations of dicts and lists are atomic: a use adds itself before it checks the mark, and close sets the mark
before it looks for uses.
"""
import atexit
import os
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Type, TypeVar

from . import errors

H = TypeVar("H", bound="Handle")
_process = object()
_exiting = False


@atexit.register
def _exit() -> None:
    """At exit the kernel ends everything; what is collected from now on may find modules that are gone."""
    global _exiting
    _exiting = True


def _forked() -> None:
    global _process
    _process = object()


os.register_at_fork(after_in_child=_forked)


class Use:
    """A call in progress: ``with core.use() as pointer``."""

    __slots__ = ("_core",)

    def __init__(self, core: "Core") -> None:
        self._core = core

    def __enter__(self) -> Any:
        return self._core.begin(self)

    def __exit__(self, *_: object) -> None:
        self._core.end(self)


class Core:
    """One object of the library.

    owned: closing the parent closes it too. Else the parent stays until this object is closed.
    keep: what must stay allocated until the object is freed.
    """

    __slots__ = ("name", "owned", "_keep", "_pointer", "_free", "_uses", "_closed", "_parent", "_process")

    def __init__(self, name: str, pointer: Any, free: Callable[[Any], object], parent: "Optional[Core]" = None,
                 owned: bool = True, keep: object = None) -> None:
        self.name, self.owned, self._keep = name, owned, keep
        self._pointer: List[Any] = [pointer]
        self._free = free
        self._uses: Dict[object, None] = {}
        self._closed = False
        self._process = _process
        self._parent = parent
        if parent is not None:
            parent._uses[self] = None

    @property
    def closed(self) -> bool:
        return self._closed

    def use(self) -> Use:
        return Use(self)

    def begin(self, use: object) -> Any:
        self._uses[use] = None
        if self._closed or self._process is not _process:
            self.end(use)
            raise ValueError(f"the {self.name} is closed") if self._closed else errors.not_owned()
        return self._pointer[0]

    def end(self, use: object) -> None:
        self._uses.pop(use, None)
        if self._closed and not self._uses:
            self._release()

    def close(self) -> None:
        for use in reversed(list(self._uses)):
            if isinstance(use, Core) and use.owned:
                use.close()
        self._closed = True
        # a child of fork() has none of the parent's threads, so their uses never end
        if not self._uses or self._process is not _process:
            self._release()

    def _release(self) -> None:
        try:
            pointer = self._pointer.pop()
        except IndexError:
            return
        self._free(pointer)
        self._keep = None
        if self._parent is not None:
            self._parent.end(self)


class Handle:
    """Base of all handles: a context manager, closed at the end of ``with``, by close(), or when it is collected."""

    _core: Core

    def close(self) -> None:
        """Close the handle; further calls do nothing."""
        self._core.close()

    @property
    def closed(self) -> bool:
        """Whether the handle is closed"""
        return self._core.closed

    def __enter__(self: H) -> H:
        if self._core.closed:
            raise ValueError(f"the {self._core.name} is closed")
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        # without _core, the constructor has failed
        core = getattr(self, "_core", None)
        if core is not None and _exiting is False:
            core.close()
