"""Running plans: results, memory between runs, and what happens when a step fails."""

import _thread
import threading

import numpy as np
import pytest

from minirt.dtypes import BY_NAME
from minirt.errors import ExecutionError, InputError, ShapeError
from minirt.graph import Node
from minirt.runtime import executor
from minirt.runtime.executor import Executor, Executors, Frames
from minirt.runtime.steps import NOTHING, Constant, Objects, Plan, Region, Step
from minirt.types import TensorType

INT, HALF, STRING = (BY_NAME[n] for n in ("int32", "float16", "string"))
I4 = np.dtype("i4")


def add_one(source: np.ndarray, target: np.ndarray) -> None:
    np.add(source, 1, out=target)


def step(run, reads, writes, index: int = 0, dtype=INT, size: int = 3) -> Step:
    type = TensorType(dtype, (size,))
    node = Node("Op", "test", 1, [], [], name=f"n{index}", index=index)
    return Step(run, tuple(reads), tuple(writes), node, (type,), (type,), 0)


def plan(steps, buffers=(), inputs=1, results=1, dtype=INT, shape=(3,), arena_bytes=0) -> Plan:
    type = TensorType(dtype, shape)
    return Plan((type,) * inputs, (type,) * results, tuple(buffers), tuple(steps), arena_bytes)


def chain(arena_bytes: int = 128) -> Plan:
    """x + 3, over two regions of the arena."""
    buffers = [Region(0, 3, I4), Region(64, 3, I4)]
    return plan(
        [step(add_one, [0], [2]), step(add_one, [2], [3], 1), step(add_one, [3], [1], 2)],
        buffers,
        arena_bytes=arena_bytes,
    )


X = np.array([1, 2, 3], "i4")


def test_steps_run_in_order() -> None:
    assert Executor(chain(), Frames()).run([X])[0].tolist() == [4, 5, 6]


def test_results_are_new_in_each_run() -> None:
    run = Executor(chain(), Frames()).run
    (first,), (second,) = run([X]), run([X])
    assert not np.shares_memory(first, second)
    first[:] = 0
    assert run([X])[0].tolist() == second.tolist() == [4, 5, 6]
    assert first.flags.owndata
    assert X.tolist() == [1, 2, 3]


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0, 3)])
@pytest.mark.parametrize("dtype", [INT, HALF, STRING], ids=str)
def test_results_have_public_types_and_their_shape(shape: tuple[int, ...], dtype) -> None:
    seen = []
    fill = step(lambda target: seen.append((target.dtype, target.shape)), [], [0])
    made = plan([fill], inputs=0, dtype=dtype, shape=shape)
    (result,) = Executor(made, Frames()).run([])
    assert type(result) is np.ndarray
    assert (result.shape, result.dtype) == (shape, dtype.public)
    assert result.flags.c_contiguous
    assert seen == [(dtype.storage, (int(np.prod(shape)),))]


def test_nothing_is_passed_as_none() -> None:
    seen = []
    call = step(
        lambda *arguments: seen.append([a is None for a in arguments]), [0, NOTHING], [1, NOTHING]
    )
    Executor(plan([call]), Frames()).run([X])
    assert seen == [[False, True, False, True]]


def test_no_inputs_no_results_no_steps() -> None:
    assert Executor(plan([], inputs=0, results=0), Frames()).run([]) == []


def test_constants_are_passed_as_they_are() -> None:
    seen = []
    constant = np.arange(3, dtype="i4")
    call = step(lambda a, b: seen.append(a), [2], [1])
    Executor(plan([call], [Constant(constant)]), Frames()).run([X])
    assert seen[0] is constant


def test_buffers_of_an_arena_are_aligned() -> None:
    seen = []
    call = step(lambda *arrays: seen.extend(a.ctypes.data % 64 for a in arrays), [2], [3])
    Executor(plan([call], [Region(0, 3, I4), Region(64, 3, I4)], arena_bytes=128), Frames()).run(
        [X]
    )
    assert seen == [0, 0]


# Memory between runs


def test_strings_are_let_go_after_a_run() -> None:
    buffers = []

    def fill(target: np.ndarray) -> None:
        buffers.append(target)
        target[:] = "text"

    constant = np.array(["kept"] * 3, object)
    steps = [step(fill, [], [1]), step(lambda a, b: np.copyto(b, a), [1], [0])]
    made = plan(steps, [Objects(3), Constant(constant)], inputs=0, dtype=STRING)
    run = Executor(made, Frames()).run
    assert run([])[0].tolist() == ["text"] * 3
    assert buffers[0].tolist() == [None] * 3
    assert constant.tolist() == ["kept"] * 3
    run([])
    assert buffers[0] is buffers[1]


def test_a_frame_is_used_again() -> None:
    frames = Frames()
    run = Executor(chain(), frames).run
    run([X])
    (frame,) = frames._idle
    run([X])
    assert list(frames._idle) == [frame]


def test_a_frame_of_a_broken_run_is_not_used_again() -> None:
    frames = Frames()
    calls = []

    def fail_once(source: np.ndarray, target: np.ndarray) -> None:
        calls.append(source)
        if len(calls) == 2:
            raise KeyboardInterrupt

    run = Executor(
        plan([step(fail_once, [1], [0])], [Region(0, 3, I4)], inputs=0, arena_bytes=64), frames
    ).run
    run([])
    with pytest.raises(KeyboardInterrupt):
        run([])
    assert not frames._idle
    run([])
    assert calls[0] is calls[1]
    assert calls[2] is not calls[0]


def test_each_run_at_the_same_time_has_a_frame() -> None:
    inside = threading.Barrier(4)
    seen = []

    def meet(source: np.ndarray, target: np.ndarray) -> None:
        seen.append(source.ctypes.data)
        inside.wait(10)

    frames = Frames()
    run = Executor(
        plan([step(meet, [1], [0])], [Region(0, 3, I4)], inputs=0, arena_bytes=64), frames
    ).run
    threads = [threading.Thread(target=run, args=([],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 4
    assert len(frames._idle) == 4


def test_idle_frames_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "_IDLE_BYTES", 300)
    frames = Frames()
    plans = [chain() for _ in range(4)]
    for made in plans:
        Executor(made, frames).run([X])
    assert [f.plan for f in frames._idle] == plans[2:]
    large = chain(arena_bytes=1000)
    Executor(large, frames).run([X])
    assert [f.plan for f in frames._idle] == [large]


def test_idle_frames_are_bounded_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "_IDLE_FRAMES", 2)
    frames = Frames()
    plans = [chain() for _ in range(4)]
    for made in plans:
        Executor(made, frames).run([X])
    Executor(plans[2], frames).run([X])
    assert [f.plan for f in frames._idle] == [plans[3], plans[2]]


def test_executors_wanted_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "_KEPT", 3)
    kept = Executors()
    added = {key: kept.add(key, chain()) for key in "abc"}
    assert kept.get("a") is added["a"]
    kept.add("d", chain())
    assert kept.get("b") is None
    assert [kept.get(key) for key in "ac"] == [added["a"], added["c"]]


def test_the_first_executor_for_a_key_stays() -> None:
    kept = Executors()
    first = kept.add("a", chain())
    assert kept.add("a", chain()) is first


# Failures


def failing(error: BaseException):
    def run(*arrays: np.ndarray) -> None:
        raise error

    return run


@pytest.mark.parametrize("index", [0, 1, 2])
def test_the_step_that_failed_is_named(index: int) -> None:
    good = chain()
    steps = list(good.steps)
    steps[index] = step(failing(ZeroDivisionError("division\n by zero\n")), [0], [1], index)
    with pytest.raises(ExecutionError) as caught:
        Executor(plan(steps, good.buffers, arena_bytes=128), Frames()).run([X])
    place = f"test.Op 'n{index}' (node {index})"
    assert str(caught.value) == f"{place}: ZeroDivisionError: division by zero"
    assert caught.value.node_path == place
    assert caught.value.types == ("int32[3]",)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    "error",
    [ExecutionError("element 1 is no number"), ShapeError("does not fit"), InputError("no")],
    ids=lambda e: type(e).__name__,
)
def test_errors_of_our_tree_get_the_place(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        Executor(plan([step(failing(error), [0], [1])]), Frames()).run([X])
    assert str(caught.value).startswith("test.Op 'n0' (node 0): ")
    if isinstance(error, ExecutionError):
        assert caught.value is error
        assert error.node_path == "test.Op 'n0' (node 0)"
        assert error.types == ("int32[3]",)


def test_an_interrupt_takes_effect_between_steps() -> None:
    done = []
    steps = [
        step(lambda *arrays: done.append(0), [0], [1]),
        # A compiled function, as kernels are: Python looks for signals when it has returned.
        step(_thread.interrupt_main, [], []),
        step(lambda *arrays: done.append(2), [0], [1]),
    ]
    with pytest.raises(KeyboardInterrupt):
        Executor(plan(steps), Frames()).run([X])
    assert done == [0]


def test_a_result_that_is_too_large() -> None:
    made = plan([], shape=(1 << 40, 1 << 20))
    with pytest.raises(ExecutionError, match=r"^allocating the results: "):
        Executor(made, Frames()).run([X])


def test_profile_times_each_step() -> None:
    run = Executor(chain(), Frames())
    measured = run.profile([X])
    assert tuple(step for step, _ in measured) == run.plan.steps
    assert all(seconds >= 0 for _, seconds in measured)
