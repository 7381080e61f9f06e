"""Threads of our own, which run kernels in blocks.

A worker is a thread that has gone into native code for good. There it waits, without the GIL,
until it is handed a function, calls it, and waits again. It knows no Python: it needs the
interpreter neither to begin nor to end, and a process ends without asking it. A launch takes
two microseconds, and the workers that are idle; where there are none it does without.

Others' threads do worse. TBB launches as fast, but a child that was forked while a second
thread was in TBB hangs or aborts at its end. OpenMP kills a forked child at its first launch.
Numba's workqueue aborts the process when two threads launch at once.
"""

from __future__ import annotations

import ctypes
import os
import threading
from _thread import start_new_thread
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from llvmlite import binding as llvm
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from .jobs import undisturbed
from .threads import numba_threads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Workers", "workers"]

#: How often a lock is tried before a thread goes to sleep, about 20 µs: what it waits for is
#: most often nearer than the time that it would take to wake up.
_SPINS = 2000

#: States of a worker: 0 idle, 1 offered work, 2 at work, 3 claimed for an offer. One that wakes
#: up too late finds the offer withdrawn, or finds the next. A launch returns how many workers it
#: offered work, and in the upper half, if one of them was last seen on the processor of this
#: thread, the number of that processor and 1.
_CODE = """
%worker = type {{ i64, ptr, ptr, ptr, ptr, i64, i64 }}

define internal i64 @place() {{
  %cpu = {getcpu}
  %number = add i32 %cpu, 1
  %place = zext i32 %number to i64
  ret i64 %place
}}

define internal void @wait(ptr %lock) {{
  br label %try
try:
  %tried = phi i64 [ 0, %0 ], [ %times, %failed ]
  %got = call i32 {acquire}(ptr %lock, i32 0)
  %is_open = icmp ne i32 %got, 0
  br i1 %is_open, label %end, label %failed
failed:
  %times = add i64 %tried, 1
  %is_enough = icmp uge i64 %times, {spins}
  br i1 %is_enough, label %sleep, label %try
sleep:
  call i32 {acquire}(ptr %lock, i32 1)
  br label %end
end:
  ret void
}}

define void @minirt.work(ptr %worker) {{
  %function.at = getelementptr %worker, ptr %worker, i64 0, i32 1
  %table.at = getelementptr %worker, ptr %worker, i64 0, i32 2
  %wake.at = getelementptr %worker, ptr %worker, i64 0, i32 3
  %done.at = getelementptr %worker, ptr %worker, i64 0, i32 4
  %place.at = getelementptr %worker, ptr %worker, i64 0, i32 5
  %index.at = getelementptr %worker, ptr %worker, i64 0, i32 6
  %wake = load ptr, ptr %wake.at
  %done = load ptr, ptr %done.at
  br label %idle
idle:
  call void @wait(ptr %wake)
  %here = call i64 @place()
  store atomic i64 %here, ptr %place.at monotonic, align 8
  %old = cmpxchg ptr %worker, i64 1, i64 2 acquire monotonic
  %is_offered = extractvalue {{ i64, i1 }} %old, 1
  br i1 %is_offered, label %busy, label %idle
busy:
  %function = load ptr, ptr %function.at
  %table = load ptr, ptr %table.at
  %index = load i64, ptr %index.at
  call void %function(ptr %table, i64 %index)
  call void {release}(ptr %done)
  br label %idle
}}

define i64 @minirt.launch(ptr %workers, i64 %count, i64 %most, ptr %function, ptr %table) {{
  %crew = alloca ptr, i64 %most
  %here = call i64 @place()
  br label %claims
claims:
  %i = phi i64 [ 0, %0 ], [ %i.next, %claim ], [ %i.next, %offer ]
  %size = phi i64 [ 0, %0 ], [ %size, %claim ], [ %size.next, %offer ]
  %shared = phi i64 [ 0, %0 ], [ %shared, %claim ], [ %shared.next, %offer ]
  %is_left = icmp ult i64 %i, %count
  %is_wanted = icmp ult i64 %size, %most
  %both = and i1 %is_left, %is_wanted
  br i1 %both, label %claim, label %work
claim:
  %i.at = getelementptr ptr, ptr %workers, i64 %i
  %i.next = add i64 %i, 1
  %helper = load ptr, ptr %i.at
  %claimed = cmpxchg ptr %helper, i64 0, i64 3 acquire monotonic
  %is_idle = extractvalue {{ i64, i1 }} %claimed, 1
  br i1 %is_idle, label %offer, label %claims
offer:
  %size.at = getelementptr ptr, ptr %crew, i64 %size
  %size.next = add i64 %size, 1
  store ptr %helper, ptr %size.at
  %function.at = getelementptr %worker, ptr %helper, i64 0, i32 1
  %table.at = getelementptr %worker, ptr %helper, i64 0, i32 2
  %wake.at = getelementptr %worker, ptr %helper, i64 0, i32 3
  %place.at = getelementptr %worker, ptr %helper, i64 0, i32 5
  %index.at = getelementptr %worker, ptr %helper, i64 0, i32 6
  %there = load atomic i64, ptr %place.at monotonic, align 8
  %is_here = icmp eq i64 %there, %here
  %shared.next = select i1 %is_here, i64 %here, i64 %shared
  store ptr %function, ptr %function.at
  store ptr %table, ptr %table.at
  store i64 %size.next, ptr %index.at
  store atomic i64 1, ptr %helper release, align 8
  %wake = load ptr, ptr %wake.at
  call void {release}(ptr %wake)
  br label %claims
work:
  call void %function(ptr %table, i64 0)
  br label %ends
ends:
  %j = phi i64 [ 0, %work ], [ %j.next, %withdraw ], [ %j.next, %await ]
  %is_busy = icmp ult i64 %j, %size
  br i1 %is_busy, label %withdraw, label %end
withdraw:
  %j.at = getelementptr ptr, ptr %crew, i64 %j
  %j.next = add i64 %j, 1
  %late = load ptr, ptr %j.at
  %withdrawn = cmpxchg ptr %late, i64 1, i64 0 release monotonic
  %is_withdrawn = extractvalue {{ i64, i1 }} %withdrawn, 1
  br i1 %is_withdrawn, label %ends, label %await
await:
  %done.at = getelementptr %worker, ptr %late, i64 0, i32 4
  %done = load ptr, ptr %done.at
  call void @wait(ptr %done)
  store atomic i64 0, ptr %late release, align 8
  br label %ends
end:
  %upper = shl i64 %shared, 32
  %found = or i64 %upper, %size
  ret i64 %found
}}
"""


class _Worker(ctypes.Structure):
    """A worker in memory, as the code above knows it, and its thread as the system knows it.

    ``wake`` and ``done`` are two of Python's locks; ``place`` is the processor on which it
    last woke up, counted from 1; ``index`` is its number in the launch that it works for.
    """

    _fields_ = (
        ("state", ctypes.c_int64),
        ("function", ctypes.c_void_p),
        ("table", ctypes.c_void_p),
        ("wake", ctypes.c_void_p),
        ("done", ctypes.c_void_p),
        ("place", ctypes.c_int64),
        ("index", ctypes.c_int64),
        ("thread", ctypes.c_int64),
    )


class Workers:
    """The workers of a process: started when they are wanted, and kept."""

    def __init__(self) -> None:
        self._code = _code()
        self._most = numba_threads() - 1
        self._addresses = (ctypes.c_size_t * self._most)()
        self._started = 0

    def run(self, function: int, table: Any) -> None:
        """Call the native ``void function(word *table, word thread)`` from several threads at once.

        ``table`` is a ctypes array of words; the first says how many threads. This one has
        number 0, the others count from 1. There may be fewer: the function is called once at
        least, and shares out its work itself. All calls have ended when this returns.
        """
        wanted = min(table[0] - 1, self._most)
        while self._started < wanted and self._start():
            pass
        found = self._code.launch(self._addresses, self._started, wanted, function, table)
        place, found = divmod(found, 1 << 32)
        if found < wanted:  # the others are at work for other threads
            self._start()
        if place:
            self._part(place)

    def _part(self, place: int) -> None:
        """Keep workers off the processor that a launch has found them on.

        Left alone, Linux wakes a worker on the launching thread's own processor, again and
        again, while a second one is idle: it looks for idle ones with less zeal the fewer
        there are. The launch then takes longer than a single thread would.
        """
        for worker in map(_Worker.from_address, self._addresses[: self._started]):
            if worker.place == place:
                worker.place = 0
                with suppress(OSError, AttributeError):  # not all systems can
                    others = os.sched_getaffinity(0) - {place - 1}
                    os.sched_setaffinity(worker.thread, others)

    def _start(self) -> bool:
        """Start one more worker; False if there can be none."""
        with _lock:
            if self._started < self._most:
                try:
                    self._addresses[self._started] = _start(self._code)
                except RecursionError:
                    raise
                except (RuntimeError, MemoryError):  # the system has no more for us
                    self._most = self._started
                else:
                    self._started += 1
                    return True
        return False


def _start(code: _Code) -> int:
    """The address of a new worker. It is never freed: its thread ends with the process."""
    calloc = _python(ctypes.c_void_p, "PyMem_RawCalloc", ctypes.c_size_t, ctypes.c_size_t)
    address = calloc(1, ctypes.sizeof(_Worker))
    if not address:
        raise MemoryError
    worker = _Worker.from_address(address)
    worker.wake, worker.done = _closed_lock(), _closed_lock()
    start_new_thread(_serve, (worker, code, address))
    return int(address)


def _serve(worker: _Worker, code: _Code, address: int) -> None:
    worker.thread = threading.get_native_id()
    code.work(address)


def _closed_lock() -> int:
    """One of Python's own locks: they are there on every platform, and need no GIL."""
    lock = _python(ctypes.c_void_p, "PyThread_allocate_lock")()
    if not lock:
        raise MemoryError
    _python(ctypes.c_int, "PyThread_acquire_lock", ctypes.c_void_p, ctypes.c_int)(lock, 1)
    return int(lock)


def _python(result: Any, name: str, *arguments: Any) -> Any:
    """A function of Python's C interface."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


class _Code(NamedTuple):
    """The compiled functions, and what keeps them."""

    work: Callable[[int], None]
    launch: Callable[..., int]
    library: Any


@cache
def _code() -> _Code:
    return undisturbed(_compile)


def _compile() -> _Code:
    address = {
        name: ctypes.cast(_python(None, f"PyThread_{name}_lock"), ctypes.c_void_p).value
        for name in ("acquire", "release")
    }
    calls = {name: f"inttoptr (i64 {value} to ptr)" for name, value in address.items()}
    calls["getcpu"] = _getcpu()
    with global_compiler_lock:
        library = cpu_target.target_context.codegen().create_library("minirt.workers")
        library.add_llvm_module(llvm.parse_assembly(_CODE.format(spins=_SPINS, **calls)))
        library.finalize()
        work, launch = map(library.get_pointer_to_function, ("minirt.work", "minirt.launch"))
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    return _Code(
        ctypes.CFUNCTYPE(None, pointer)(work),
        ctypes.CFUNCTYPE(size, pointer, size, size, pointer, pointer)(launch),
        library,
    )


def _getcpu() -> str:
    """The instruction for the number of this thread's processor, -1 where nobody tells."""
    try:
        function = ctypes.cast(ctypes.CDLL(None).sched_getcpu, ctypes.c_void_p).value
    except (OSError, TypeError, AttributeError):
        return "add i32 0, -1"
    return f"call i32 inttoptr (i64 {function} to ptr)()"


_lock = threading.RLock()
_workers: Workers | None = None


def workers() -> Workers:
    """Those of this process."""
    global _workers
    if _workers is None:
        with _lock:
            if _workers is None:
                _workers = Workers()
    return _workers


def _forget() -> None:
    """In a forked child: the threads stayed with the parent, and whoever held the lock."""
    global _workers, _lock
    _workers, _lock = None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
