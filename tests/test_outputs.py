"""Outputs: a tuple in output order that also takes names."""

import copy
import pickle

import numpy as np
import pytest

from minirt.outputs import Outputs, labeller

A, B, C = np.arange(3), np.float32(2.5), np.array(["text"], object)


@pytest.fixture
def outputs() -> Outputs:
    return Outputs([A, B, C], ["y", "scores:0", "class"])


def test_it_is_a_tuple(outputs: Outputs) -> None:
    y, scores, classes = outputs
    assert isinstance(outputs, tuple)
    assert (y is A, scores is B, classes is C) == (True, True, True)
    assert len(outputs) == 3
    assert outputs[0] is A
    assert outputs[-1] is C
    assert outputs[np.int64(1)] is B


def test_it_takes_names_that_are_no_identifiers(outputs: Outputs) -> None:
    assert outputs["y"] is A
    assert outputs["scores:0"] is B
    assert outputs["class"] is C


def test_a_slice_keeps_its_names(outputs: Outputs) -> None:
    tail = outputs[1:]
    assert isinstance(tail, Outputs)
    assert tail.keys() == ("scores:0", "class")
    assert tail["class"] is C
    assert outputs[::-1].keys() == ("class", "scores:0", "y")
    assert outputs[3:].keys() == ()


def test_it_acts_like_a_mapping(outputs: Outputs) -> None:
    assert outputs.keys() == ("y", "scores:0", "class")
    assert [name for name, _ in outputs.items()] == ["y", "scores:0", "class"]
    assert all(a is b for (_, a), b in zip(outputs.items(), outputs, strict=True))
    assert type(outputs.values()) is tuple
    assert outputs.values()[2] is C
    assert dict(outputs) == outputs._asdict() == {"y": A, "scores:0": B, "class": C}
    assert dict(**outputs)["y"] is A


def test_in_means_a_name_or_this_very_object(outputs: Outputs) -> None:
    assert "y" in outputs
    assert "z" not in outputs
    assert A in outputs
    assert A.copy() not in outputs


def test_a_name_twice_is_there_twice() -> None:
    first, second = np.zeros(2), np.ones(2)
    outputs = Outputs([first, second], ["y", "y"])
    assert outputs.keys() == ("y", "y")
    assert len(outputs.items()) == 2
    assert outputs["y"] is first
    assert list(outputs._asdict()) == ["y"]


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        ("Y", KeyError, "no output is named 'Y'; there are ['y', 'scores:0', 'class']"),
        (3, IndexError, "tuple index out of range"),
        (1.0, TypeError, "tuple indices must be integers or slices, not float"),
    ],
)
def test_a_key_that_is_not_there(
    outputs: Outputs, key: object, error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        outputs[key]  # type: ignore[call-overload]
    assert caught.value.args == (text,)


def test_as_many_names_as_values() -> None:
    with pytest.raises(ValueError, match=r"^2 values cannot have 1 names$"):
        Outputs([A, B], ["y"])
    assert len(Outputs()) == 0


def test_repr(outputs: Outputs) -> None:
    assert repr(outputs[:1]) == "Outputs({'y': array([0, 1, 2])})"
    assert repr(Outputs([1, 2], ["a", "a"])) == "Outputs({'a': 1, 'a': 2})"
    assert repr(Outputs()) == "Outputs({})"


@pytest.mark.parametrize(
    "clone",
    [
        copy.copy,
        copy.deepcopy,
        *(lambda o, p=p: pickle.loads(pickle.dumps(o, p)) for p in range(6)),
    ],
)
def test_copies_and_pickles_keep_names(outputs: Outputs, clone) -> None:
    again = clone(outputs)
    assert type(again) is Outputs
    assert again.keys() == outputs.keys()
    np.testing.assert_array_equal(again["y"], A)
    assert again["class"].tolist() == ["text"]


def test_labelled_results_are_the_same() -> None:
    labelled = labeller(("a", "b"))([A, B])
    assert isinstance(labelled, Outputs) and type(labelled).__name__ == "Outputs"
    assert labelled.keys() == ("a", "b")
    assert labelled["b"] is B
    assert not vars(labelled)
    assert copy.copy(labelled).keys() == labelled[:].keys() == ("a", "b")
    again = pickle.loads(pickle.dumps(labelled))
    assert type(again) is Outputs
    assert again.keys() == ("a", "b")
