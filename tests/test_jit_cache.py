"""The cache directory and its entries, without a compiler."""

from __future__ import annotations

import errno
import logging
import os
import sys
from pathlib import Path

import pytest
from jit_process import finish, start_python

from minirt.errors import InputError
from minirt.jit import cache
from minirt.jit.cache import Store, cache_clear, cache_info, root

PAYLOAD = bytes(range(256)) * 8


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINIRT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(place: Path) -> list[Path]:
    return sorted(place.glob("*/*/*.kernel"))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def test_what_was_saved_is_loaded_by_another_store(place: Path) -> None:
    Store("cpu").save("a.kernel", "key", PAYLOAD)
    assert Store("cpu").load("a.kernel", "key") == PAYLOAD
    assert [path.suffix for path in place.rglob("*") if path.is_file()] == [".kernel"]


@pytest.mark.parametrize(
    ("processor", "name", "key"), [("cpu", "a", "other"), ("cpu", "b", "key"), ("gpu", "a", "key")]
)
def test_nothing_else_is_loaded(place: Path, processor: str, name: str, key: str) -> None:
    Store("cpu").save("a", "key", PAYLOAD)
    assert Store(processor).load(name, key) is None


def test_saving_again_replaces_the_entry(place: Path) -> None:
    store = Store("cpu")
    for payload in (PAYLOAD, b"new"):
        store.save("a", "key", payload)
    assert store.load("a", "key") == b"new"
    assert len(entries(place)) == 1


def test_names_that_no_file_may_have_are_told_apart(place: Path) -> None:
    store = Store("cpu/../../<x>")
    names = ["f.<locals>.g", "f._locals_.g", "../../../escape", "x" * 500]
    for number, name in enumerate(names):
        store.save(name, str(number), name.encode())
    assert [store.load(name, str(i)) for i, name in enumerate(names)] == [n.encode() for n in names]
    assert len(entries(place)) == len([p for p in place.parent.rglob("*") if p.is_file()]) == 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: b"",
        lambda entry: entry[:1],
        lambda entry: entry[:20],
        lambda entry: entry[:60],
        lambda entry: entry[:-1],
        lambda entry: entry + b"\0",
        lambda entry: b"garbage" * 1000,
        lambda entry: entry[:-5] + bytes([entry[-5] ^ 1]) + entry[-4:],
        lambda entry: b"X" + entry[1:],
        lambda entry: bytes(len(entry)),
    ],
)
def test_a_damaged_entry_is_a_miss_and_is_replaced(place: Path, caplog, damage) -> None:
    store = Store("cpu")
    store.save("a", "key", PAYLOAD)
    (path,) = entries(place)
    path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.INFO, "minirt.jit"):
        assert store.load("a", "key") is None
    assert "damaged" in caplog.text
    assert not warnings(caplog)
    store.save("a", "key", PAYLOAD)
    assert Store("cpu").load("a", "key") == PAYLOAD


def test_an_entry_under_the_name_of_another_is_not_taken_for_it(place: Path, caplog) -> None:
    store = Store("cpu")
    store.save("a", "one", b"code of one")
    (one,) = entries(place)
    store.save("a", "two", b"code of two")
    (two,) = set(entries(place)) - {one}
    two.write_bytes(one.read_bytes())
    with caplog.at_level(logging.INFO, "minirt.jit"):
        assert store.load("a", "two") is None
    assert "another kernel" in caplog.text


def test_an_entry_that_cannot_be_read_is_a_miss(place: Path) -> None:
    store = Store("cpu")
    store.save("a", "key", PAYLOAD)
    (path,) = entries(place)
    path.unlink()
    path.mkdir()  # not even root reads a directory
    assert store.load("a", "key") is None


def test_versions_live_side_by_side(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("1.0", "2.0"):
        monkeypatch.setattr(cache, "__version__", version)
        Store("cpu").save("a", "key", version.encode())
    for version in ("1.0", "2.0"):
        monkeypatch.setattr(cache, "__version__", version)
        assert Store("cpu").load("a", "key") == version.encode()
    assert sorted(path.name[:4] for path in place.iterdir()) == ["1.0-", "2.0-"]


def test_another_stamp_is_another_cache(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store("cpu").save("a", "key", PAYLOAD)
    monkeypatch.setattr(cache, "stamp", lambda: "0" * 64)
    assert Store("cpu").load("a", "key") is None


def test_the_least_recently_used_goes_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store("cpu")
    for number in range(8):
        store.save("a", str(number), PAYLOAD)
    for age, number in enumerate([0, 5, 1, 2, 3, 4, 6, 7]):
        os.utime(store._path("a", str(number)), (age, age))
    assert store.load("a", "0") == PAYLOAD  # now the latest
    size = entries(place)[0].stat().st_size
    monkeypatch.setattr(cache, "LIMIT", 8 * size)
    store.save("a", "8", PAYLOAD)  # nine, over the limit: six may stay
    kept = [n for n in map(str, range(9)) if store._path("a", n).exists()]
    assert kept == ["0", "3", "4", "6", "7", "8"]


def test_under_the_limit_nothing_goes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 10 * len(PAYLOAD))
    store = Store("cpu")
    for number in range(8):
        store.save("a", str(number), PAYLOAD)
    assert len(entries(place)) == 8


def test_an_abandoned_temporary_file_goes_a_fresh_one_stays(place: Path) -> None:
    store = Store("cpu")
    store.save("a", "key", PAYLOAD)
    old, fresh = (entries(place)[0].with_name(name) for name in ("old.tmp", "fresh.tmp"))
    for path in (old, fresh):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    Store("cpu").save("a", "key", PAYLOAD)
    assert not old.exists()
    assert fresh.exists()


def test_info_and_clear_count_the_entries(place: Path) -> None:
    assert cache_info() == (place, 0, 0)
    for processor in ("one", "two"):
        Store(processor).save("a", "key", PAYLOAD)
    size = sum(path.stat().st_size for path in entries(place))
    assert cache_info() == (place, 2, size)
    assert cache_clear() == (place, 2, size)
    assert cache_info() == (place, 0, 0)
    assert list(place.iterdir()) == []


def test_clear_leaves_what_is_not_ours(place: Path) -> None:
    store = Store("cpu")
    store.save("a", "key", PAYLOAD)
    alien = [place / "notes.txt", place / "photos" / "2024" / "cat.png"]
    for path in alien:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    assert cache_clear().files == 1
    assert all(path.read_text() == "mine" for path in alien)
    store.save("a", "key", PAYLOAD)  # the folder is gone, so it is made again
    assert store.load("a", "key") == PAYLOAD


def test_info_needs_no_numba(place: Path) -> None:
    script = """
    import sys
    from minirt.jit import cache_clear, cache_info
    print(cache_info().files, cache_clear().files, "numba" in sys.modules)
    """
    assert finish(start_python(script, place, preamble="")) == "0 0 False\n"


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "home/.cache/minirt"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/minirt"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "home/.cache/minirt"),
        ("linux", {"XDG_CACHE_HOME": ""}, "home/.cache/minirt"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "home/Library/Caches/minirt"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/minirt/Cache"),
        ("win32", {}, "home/AppData/Local/minirt/Cache"),
        ("win32", {"MINIRT_CACHE_DIR": "~/mine"}, "home/mine"),
        ("linux", {"MINIRT_CACHE_DIR": "/mine", "XDG_CACHE_HOME": "/xdg"}, "/mine"),
        ("linux", {"MINIRT_CACHE_DIR": ""}, "home/.cache/minirt"),
    ],
)
def test_where_the_cache_is(tmp_path, monkeypatch, platform, environment, expected) -> None:
    home = tmp_path / "home"
    for name in ("MINIRT_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert root() == (tmp_path / expected if expected.startswith("home") else Path(expected))


def test_without_a_home_the_variable_is_named(monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("MINIRT_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(InputError, match="set MINIRT_CACHE_DIR"):
        root()
    assert Store("cpu").load("a", "key") is None
    assert len(warnings(caplog)) == 1


def test_directories_are_for_the_user_alone(place: Path) -> None:
    Store("cpu").save("a", "key", PAYLOAD)
    folders = [place, *(path for path in place.rglob("*") if path.is_dir())]
    assert len(folders) == 3
    if hasattr(os, "geteuid"):
        assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
        assert entries(place)[0].stat().st_mode & 0o777 == 0o600


def refused(caplog: pytest.LogCaptureFixture) -> str:
    """The one warning of a store that neither reads nor writes."""
    store = Store("cpu")
    store.save("a", "key", PAYLOAD)
    assert store.load("a", "key") is None
    (message,) = warnings(caplog)
    return message


if hasattr(os, "geteuid"):

    @pytest.mark.parametrize("depth", [0, 1, 2])
    @pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
    def test_a_directory_that_others_can_write_is_refused(place, caplog, depth, mode) -> None:
        Store("cpu").save("a", "key", PAYLOAD)
        (entry,) = entries(place)
        entry.parents[depth].chmod(mode)
        assert "can be written by others" in refused(caplog)

    def test_a_directory_of_another_user_is_refused(place, monkeypatch, caplog) -> None:
        Store("cpu").save("a", "key", PAYLOAD)
        monkeypatch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
        assert "belongs to another user" in refused(caplog)


def test_where_users_have_no_numbers_the_directory_is_trusted(place, monkeypatch) -> None:
    monkeypatch.delattr(os, "geteuid", raising=False)
    Store("cpu").save("a", "key", PAYLOAD)
    assert Store("cpu").load("a", "key") == PAYLOAD


def test_a_file_where_the_directory_should_be(place: Path, caplog) -> None:
    place.write_text("a file")
    assert "without a cache" in refused(caplog)
    assert place.read_text() == "a file"


def test_without_sources_there_is_no_cache(place: Path, monkeypatch, caplog) -> None:
    def sourceless() -> str:
        raise FileNotFoundError("no sources")

    monkeypatch.setattr(cache, "stamp", sourceless)
    assert "no sources" in refused(caplog)


def fail(code: int):
    def raise_it(*arguments: object, **options: object) -> None:
        raise OSError(code, os.strerror(code))

    return raise_it


def test_a_directory_that_cannot_be_made(place: Path, monkeypatch, caplog) -> None:
    monkeypatch.setattr(Path, "mkdir", fail(errno.EROFS))
    assert os.strerror(errno.EROFS) in refused(caplog)


@pytest.mark.parametrize(
    ("module", "function", "code"),
    [
        (cache.tempfile, "mkstemp", errno.EROFS),
        (cache.tempfile, "mkstemp", errno.EACCES),
        (cache.os, "replace", errno.ENOSPC),
        (cache.os, "replace", errno.EDQUOT),
    ],
)
def test_a_directory_that_takes_nothing(place, monkeypatch, caplog, module, function, code) -> None:
    store = Store("cpu")
    store.save("old", "key", PAYLOAD)
    with monkeypatch.context() as broken:
        broken.setattr(module, function, fail(code))
        for name in ("a", "b"):
            store.save(name, "key", PAYLOAD)
    assert len(warnings(caplog)) == 1
    assert os.strerror(code) in caplog.text
    assert store.load("a", "key") is None
    assert store.load("old", "key") == PAYLOAD
    assert [path.suffix for path in place.rglob("*") if path.is_file()] == [".kernel"]


def test_a_disk_that_fills_up_while_writing(place: Path, monkeypatch, caplog) -> None:
    class Full:
        def __init__(self, handle: int, mode: str) -> None:
            self.handle = handle

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: object) -> None:
            os.close(self.handle)

        def write(self, data: bytes) -> None:
            os.write(self.handle, data[:100])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = Store("cpu")
    with monkeypatch.context() as full:
        full.setattr(cache.os, "fdopen", Full)
        for name in ("a", "b"):
            store.save(name, "key", PAYLOAD)
    assert len(warnings(caplog)) == 1
    assert [path for path in place.rglob("*") if path.is_file()] == []
