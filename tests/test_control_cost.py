"""What subgraphs cost: plans, memory, depth, and loops without end."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from control_models import loop, untyped

import minirt
from minirt.runtime import bodies, executor, plan
from models import session

X = np.float32([1.0, 2.0])


def count(n: int) -> np.ndarray:
    return np.int64(n)[...]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the graphs that are planned."""
    made, make = [], plan.make_plan

    def counted(graph: Any, *args: Any, **more: Any) -> plan.Plan:
        made.append(graph.name)
        return make(graph, *args, **more)

    monkeypatch.setattr(plan, "make_plan", counted)
    return made


def test_a_body_is_planned_once(plans):
    s = session(
        "int64 n, float[N] x", "float[N] y",
        loop("n, , x", "i, c, v", "f = Cast<to=1>(i) w = Add(v, f)", "c, w", "y"),
    )  # fmt: skip
    assert s.run([count(1000), X])[0].tolist() == [499501, 499502]
    assert plans.count("body") == 1
    s.run([count(1000), X])
    assert plans.count("body") == 1


def test_a_body_in_a_body_is_planned_once(plans):
    inner = loop("n, , v", "j, d, u", "w = Add(u, one)", "d, w", "r").replace(
        "= body (", "= inner ("
    )
    s = session(
        "int64 n, float[N] x", "float[N] y", loop("n, , x", "i, c, v", inner, "c, r", "y"),
        initializers="float one = {1}",
    )  # fmt: skip
    assert s.run([count(30), X])[0].tolist() == [901, 902]
    assert (plans.count("body"), plans.count("inner")) == (1, 1)


def test_growing_shapes_keep_a_bounded_number_of_plans(monkeypatch):
    """Each iteration has another shape; memory does not grow with their number."""
    programs: list[Any] = []

    class Program(bodies.Program):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            programs.append(self)

    monkeypatch.setattr(bodies, "Program", Program)
    s = minirt.load(
        untyped("int64 n, float[N] x", "y", loop(
            "n, , x", "i, c, v", "w = Concat<axis=0>(v, x)", "c, w", "y"))
    )  # fmt: skip
    kept = executor._KEPT
    s.run([count(2 * kept), X[:1]])
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    assert s.run([count(5 * kept), X[:1]])[0].shape == (5 * kept + 1,)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    (program,) = programs
    assert len(program._executors._kept) == kept
    assert grown < 1 << 20


def test_loops_nest_64_deep():
    """Each runs once, but the innermost, which adds one twice."""
    proto = untyped("int64 n, float[N] x", "y", "", initializers="float one = {1}")
    inner, given, made = proto.graph, "x", "y"
    for level in range(64):
        limit = "n" if level == 63 else "once"
        each = inner.node.add(op_type="Loop", input=[limit, "", given], output=[made])
        inner = each.attribute.add(name="body", type=onnx.AttributeProto.GRAPH).g
        given, made = f"v{level}", f"w{level}"
        for name in (f"i{level}", f"c{level}", given):
            inner.input.add(name=name)
        for name in (f"c{level}", made):
            inner.output.add(name=name)
    inner.node.add(op_type="Add", input=[given, "one"], output=[made])
    proto.graph.initializer.append(onnx.helper.make_tensor("once", 7, [], [1]))
    s = minirt.load(proto)
    assert s.run([count(2), X])[0].tolist() == [3, 4]


ENDLESS = """
    import os, signal, threading, time
    import numpy as np
    import minirt
    from control_models import loop
    from models import session

    body = loop("GIVEN", "i, c, v", "w = Add(v, one)", "c, w", "y")
    s = session("float x, bool go", "float y", body, initializers="float one = {1}")
    x = np.zeros((), np.float32)
    timer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        s.run([x, np.array(True)])
    except KeyboardInterrupt:
        print("interrupted")
    print(s.run([x, np.array(False)], [RESULTS]))
"""


@pytest.mark.parametrize(
    ("given", "results", "printed"),
    [(", go, x", "'y'", "Outputs({'y': array(0., dtype=float32)})"), (", , x", "", "Outputs({})")],
)
def test_a_loop_without_end_can_be_interrupted(given, results, printed):
    """The session then goes on."""
    code = textwrap.dedent(ENDLESS).replace("GIVEN", given).replace("RESULTS", results)
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=here, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        0, f"interrupted\n{printed}\n", "",
    )  # fmt: skip
