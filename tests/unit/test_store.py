"""A store returns exactly what was saved, or an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
from pathlib import Path

import pytest
from filelock import FileLock
from msgspec.structs import replace

from pytest_devperf.errors import StoreError, UsageError
from pytest_devperf.record.codec import encode
from pytest_devperf.record.record import DeviceRecord, Document, Run
from pytest_devperf.store import writing
from pytest_devperf.store.commit import read_commit
from pytest_devperf.store.file import names_a_file, read_bytes, read_file
from pytest_devperf.store.folder import FolderStore
from pytest_devperf.store.generation import save_run
from pytest_devperf.store.open import open_store
from pytest_devperf.store.writing import ABANDONED_S, write_file

HOST = DeviceRecord(fingerprint="0123456789ab", kind="host", model="Board 7/B (rev. 2)")
PHONE = DeviceRecord(fingerprint="ba9876543210", kind="android", model="Phone")
FINGERPRINT = HOST.fingerprint


def a_run(label="main", taken_at="2026-11-29T20:15:03Z", device=HOST, **fields) -> Run:
    fields.setdefault("generation", taken_at)
    return Run(label=label, taken_at=taken_at, devperf_version="0.1.0", device=device, **fields)


@pytest.fixture
def store(tmp_path):
    return FolderStore(tmp_path / "store")


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_saved_run_comes_back(store):
    run = a_run(id="r1")

    path = store.save(run)

    assert store.runs(FINGERPRINT, "main") == (run,)
    assert path.endswith("host-board-7-b-rev.-2-0123456789ab/main/2026-11-29T20-15-03Z-r1.json".replace("/", os.sep))
    assert read_file(path).runs == (run,)


def test_a_store_that_is_not_there_yet_is_empty(store):
    assert store.label_summaries() == ()
    assert store.runs(FINGERPRINT, "main") == ()
    assert not store.path.exists()


def test_the_first_save_leaves_a_note_on_whether_to_commit_the_folder(store):
    store.save(a_run())

    assert "Should this folder be committed?" in (store.path / "README.md").read_text(encoding="utf-8")


def test_a_note_that_somebody_changed_stays(store):
    store.save(a_run())
    (store.path / "README.md").write_text("ours", encoding="utf-8")

    store.save(a_run())

    assert (store.path / "README.md").read_text(encoding="utf-8") == "ours"


def test_devices_and_labels_are_kept_apart_and_listed(store):
    store.save(a_run("main"))
    store.save(a_run("main", taken_at="2026-11-30T08:00:00Z"))
    store.save(a_run("other"))
    store.save(a_run("main", device=PHONE))

    found = [
        (label_summary.device, label_summary.label, label_summary.runs, label_summary.newest)
        for label_summary in store.label_summaries()
    ]

    assert found == [
        (PHONE, "main", 1, "2026-11-29T20:15:03Z"),
        (HOST, "main", 2, "2026-11-30T08:00:00Z"),
        (HOST, "other", 1, "2026-11-29T20:15:03Z"),
    ]


@pytest.mark.parametrize(
    "label",
    [
        "..",
        "../../outside",
        "/etc/passwd",
        "a\\b:c*?",
        "con",
        "NUL.txt",
        "com1.json",
        ".hidden",
        "trailing. ",
        "größe ✓ 名前",
        "line\nbreak\x00",
        "x" * 3000,
        " ",
    ],
)
def test_a_hostile_label_stays_inside_and_comes_back(store, label, tmp_path):
    store.save(a_run(label))

    assert [run.label for run in store.runs(FINGERPRINT, label)] == [label]
    assert [label_summary.label for label_summary in store.label_summaries()] == [label]
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert all(path.name.isascii() and len(path.name) < 100 for path in store.path.rglob("*"))


@pytest.mark.parametrize(("one", "other"), [("main", "Main"), ("a/b", "a-b"), ("a b", "a  b"), ("con", "label")])
def test_labels_that_look_alike_to_a_file_system_are_different(store, one, other):
    store.save(a_run(one, id="1"))
    store.save(a_run(other, id="2"))

    folders = [path.name.lower() for path in (store.path / store.places(FINGERPRINT, one)[0][0]).iterdir()]
    assert len(set(folders)) == 2
    assert [run.id for run in store.runs(FINGERPRINT, one)] == ["1"]


def test_a_hostile_model_and_id_stay_inside(store, tmp_path):
    device = replace(HOST, model="../../up", kind="a/b", fingerprint="../x")

    store.save(a_run(device=device, id="../../../y"))

    assert len(store.runs("../x", "main")) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_runs_come_newest_first(store):
    for day in (3, 1, 2):
        store.save(a_run(taken_at=f"2026-11-0{day}T00:00:00Z", id=f"r{day}"))

    assert [run.id for run in store.runs(FINGERPRINT, "main")] == ["r2", "r1", "r3"], "the order of saving"


def test_two_saves_in_one_second_both_stay_the_later_first(store):
    for number in range(12):
        store.save(a_run(id=f"r{number}"))

    assert [run.id for run in store.runs(FINGERPRINT, "main")] == [f"r{number}" for number in reversed(range(12))]


def test_the_same_id_twice_overwrites_nothing(store):
    store.save(a_run(id="same"))
    store.save(a_run(id="same"))

    assert len(store.runs(FINGERPRINT, "main")) == 2


def test_only_the_newest_generation_is_read_when_it_is_wanted(store):
    first = store.save(a_run(taken_at="2026-11-01T00:00:00Z", id="old"))
    store.save(a_run(taken_at="2026-11-02T00:00:00Z", id="older"))
    store.save(a_run(taken_at="2026-11-03T00:00:00Z", id="a"))
    store.save(a_run(taken_at="2026-11-04T00:00:00Z", id="b", generation="2026-11-03T00:00:00Z"))
    Path(first).write_text("never looked at", encoding="utf-8")

    assert [run.id for run in store.runs(FINGERPRINT, "main", newest=True)] == ["b", "a"]


@pytest.mark.parametrize("damage", ["truncate", "foreign", "empty", "other device", "two runs"])
def test_a_damaged_newest_run_is_an_error_that_names_it_never_an_older_run(store, damage):
    store.save(a_run(taken_at="2026-11-01T00:00:00Z"))
    path = Path(store.save(a_run(taken_at="2026-11-02T00:00:00Z")))
    whole = path.read_bytes()
    two = encode(Document(runs=(a_run(), a_run())))
    data = {"truncate": whole[:-20], "foreign": b'{"a": 1}', "empty": b"", "two runs": two}
    path.write_bytes(data.get(damage, whole.replace(b"0123456789ab", b"ffffffffffff")))

    with pytest.raises(StoreError, match="2026-11-02T00-00-00Z"):
        store.runs(FINGERPRINT, "main")
    with pytest.raises(StoreError, match="2026-11-02T00-00-00Z"):
        store.runs(FINGERPRINT, "main", newest=True)


def test_a_damaged_label_does_not_affect_another(store):
    store.save(a_run("sound"))
    Path(store.save(a_run("damaged"))).write_bytes(b"{")

    assert len(store.runs(FINGERPRINT, "sound")) == 1
    with pytest.raises(StoreError, match="damaged"):
        store.label_summaries()


def test_stray_files_are_left_alone(store):
    name = Path(store.save(a_run(id="r1"))).name
    folder = store.path.joinpath(*store.places(FINGERPRINT, "main")[0][:-1])
    for stray in (
        "notes.txt",
        f"{name}~",
        f".{name}.swp",
        ".x.json.1234.tmp",
        "#a#",
    ):
        (folder / stray).write_text("not JSON")
    (store.path / "stray").write_text("x")
    (store.path / "__pycache__").mkdir()

    assert [run.id for run in store.runs(FINGERPRINT, "main")] == ["r1"]
    assert [label_summary.runs for label_summary in store.label_summaries()] == [1]


def test_an_unreadable_run_is_named(store):
    path = Path(store.save(a_run()))
    path.unlink()
    path.mkdir()  # which nobody can read as a file, root included

    with pytest.raises(StoreError, match=r"2026-11-29T20-15-03Z-\w+\.json is a folder"):
        store.runs(FINGERPRINT, "main")


def test_a_run_without_a_label_is_refused(store):
    with pytest.raises(StoreError, match="without a label"):
        store.save(a_run(None))
    assert not store.path.exists()


def test_a_label_that_no_document_can_hold_is_refused(store):
    with pytest.raises(StoreError, match="is not valid UTF-8"):
        store.save(a_run("caf\udce9"))
    assert not store.path.exists()


@pytest.mark.parametrize("taken_at", ["", "yesterday", "29.11.2026"])
def test_a_run_whose_time_is_none_is_refused_since_nobody_would_find_it(store, taken_at):
    with pytest.raises(StoreError, match="cannot be saved"):
        store.save(a_run(taken_at=taken_at))
    assert not store.path.exists()


@pytest.mark.parametrize("taken_at", ["2026-11-29T20:15:03.123456Z", "2026-11-29T20:15:03+00:00"])
def test_other_spellings_of_a_time_are_found_again(store, taken_at):
    store.save(a_run(taken_at=taken_at))

    assert len(store.runs(FINGERPRINT, "main")) == 1


def test_a_run_that_cannot_be_written_as_json_leaves_nothing(store):
    with pytest.raises(StoreError, match="not a finite number"):
        store.save(a_run(settings={"x": float("nan")}))
    assert not store.path.exists()


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_store_that_is_a_file_is_named_and_stays(tmp_path, below):
    (tmp_path / "file").write_text("mine")
    store = FolderStore(tmp_path / "file" / below)

    for attempt in (store.check_writable, lambda: store.save(a_run())):
        with pytest.raises(StoreError, match=r"file.*: name another"):
            attempt()
    assert (tmp_path / "file").read_text() == "mine"
    assert files_below(tmp_path) == ["file"]


@pytest.mark.usefixtures("ordinary_rights")
def test_a_folder_closed_to_us_is_named(tmp_path):
    tmp_path.chmod(0o500)
    try:
        for attempt in (FolderStore(tmp_path).check_writable, FolderStore(tmp_path / "new").check_writable):
            with pytest.raises(StoreError, match="permission denied"):
                attempt()
        with pytest.raises(StoreError, match="permission denied"):
            FolderStore(tmp_path).save(a_run())
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_lock_that_is_a_link_leaves_what_it_points_to_alone(store, tmp_path):
    store.save(a_run(id="kept"))
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    (store.path / ".lock").unlink(missing_ok=True)
    (store.path / ".lock").symlink_to(theirs)

    with pytest.raises(StoreError, match=r"symbolic link"):
        store.save(a_run(id="new"))
    assert theirs.read_text() == "theirs"


def test_checking_leaves_no_trace(store, tmp_path):
    store.check_writable()
    assert list(tmp_path.iterdir()) == []

    store.save(a_run())
    before = files_below(tmp_path)
    store.check_writable()
    assert files_below(tmp_path) == before


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are a POSIX matter")
@pytest.mark.parametrize("first", [True, False])
def test_a_full_disk_is_an_error_that_leaves_nothing_behind(tmp_path, first):
    store = FolderStore(tmp_path / "store")
    if not first:
        store.save(a_run("main", id="kept"))
    before = files_below(tmp_path)
    program = """
        import resource, sys
        from pytest_devperf.errors import StoreError
        from pytest_devperf.record.record import DeviceRecord, Run
        from pytest_devperf.store.folder import FolderStore
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        device = DeviceRecord(fingerprint="0123456789ab", kind="host")
        run = Run(label="main", taken_at="2026-12-01T00:00:00Z", devperf_version="0", device=device,
                  settings={"long": "x" * 5000})
        try:
            FolderStore(sys.argv[1]).save(run)
        except StoreError as error:
            print(error)
    """

    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(store.path)], capture_output=True, text=True, check=True
    )

    assert f"{store.path} cannot be written (file too large): free space" in found.stdout
    assert files_below(tmp_path) == before
    assert store.path.exists() is not first


def test_an_interrupt_while_writing_leaves_nothing_behind(store, tmp_path, monkeypatch):
    def interrupted(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)

    with pytest.raises(KeyboardInterrupt):
        store.save(a_run())
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_use_is_waited_for_and_then_named(tmp_path):
    store = FolderStore(tmp_path, lock_wait_s=0.05)
    with (
        FileLock(tmp_path / ".lock"),
        pytest.raises(StoreError, match=r"locked by another process for over 0\.05 s"),
    ):
        store.save(a_run())

    store.save(a_run())


def test_savers_at_once_lose_nothing(store):
    savers = [threading.Thread(target=FolderStore(store.path).save, args=(a_run(id=f"r{n}"),)) for n in range(8)]
    for saver in savers:
        saver.start()
    for saver in savers:
        saver.join()

    assert sorted(run.id for run in store.runs(FINGERPRINT, "main")) == [f"r{n}" for n in range(8)]
    assert not [name for name in files_below(store.path) if name.endswith(".tmp")]


@pytest.mark.parametrize("attempt", range(10))
@pytest.mark.parametrize("below", ["store", "not/there/yet/store"])
def test_sessions_that_make_the_store_at_the_same_moment_lose_nothing(tmp_path, below, attempt):
    start, failed = threading.Barrier(12), []

    def session(number):
        store = FolderStore(tmp_path / below)
        start.wait()
        try:
            store.check_writable()
            store.save(a_run(id=f"r{number}"))
        except StoreError as error:
            failed.append(error)

    sessions = [threading.Thread(target=session, args=(number,)) for number in range(12)]
    for each in sessions:
        each.start()
    for each in sessions:
        each.join()

    assert failed == []
    found = FolderStore(tmp_path / below).runs(FINGERPRINT, "main")
    assert sorted(run.id for run in found) == sorted(f"r{number}" for number in range(12))
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_store_that_another_session_makes_meanwhile_is_added_to(tmp_path, monkeypatch):
    """The other session is done when this one would put its own store in place."""
    store, rename = FolderStore(tmp_path / "store"), Path.rename

    def overtaken(self, target):
        if self.suffix == ".tmp" and not (tmp_path / "store").exists():
            monkeypatch.setattr(Path, "rename", rename)
            FolderStore(tmp_path / "store").save(a_run(id="other"))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", overtaken)
    store.save(a_run(id="own"))

    assert [run.id for run in store.runs(FINGERPRINT, "main")] == ["own", "other"]
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_files_of_killed_writers_are_deleted_but_not_those_being_written(store, tmp_path):
    path = Path(store.save(a_run()))
    old, new = time.time() - 2 * ABANDONED_S, time.time()
    left = [path.parent / ".devperf-00000001.tmp", store.path / ".devperf-00000002.tmp"]
    stay = [path.parent / ".devperf-00000003.tmp", path.parent / "notes.tmp", path.parent / ".devperf-.tmp"]
    for each in (*left, *stay):
        each.write_text("{")
        os.utime(each, (old, new if each == stay[0] else old))

    store.save(a_run())

    assert not any(each.exists() for each in left)
    assert all(each.exists() for each in stay)


def test_a_store_that_was_never_finished_goes_with_the_next_first_save(tmp_path):
    half = tmp_path / ".devperf-00000001.tmp" / "device" / "label"
    half.mkdir(parents=True)
    (half / "run.json").write_text("{")
    os.utime(tmp_path / ".devperf-00000001.tmp", (0, 0))

    FolderStore(tmp_path / "store").save(a_run())

    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a FIFO is a POSIX matter")
def test_a_pipe_that_is_named_like_a_run_is_named_and_not_waited_for(store):
    path = Path(store.save(a_run()))
    path.unlink()
    os.mkfifo(path)

    for look in (store.label_summaries, lambda: store.runs(FINGERPRINT, "main")):
        with pytest.raises(StoreError, match=r"2026-11-29T20-15-03Z-\w+\.json is not a regular file"):
            look()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_in_the_place_of_the_lock_is_not_followed(store, tmp_path):
    store.save(a_run())
    (tmp_path / "victim").write_text("mine")
    (store.path / ".lock").unlink()
    (store.path / ".lock").symlink_to(tmp_path / "victim")

    with pytest.raises(StoreError, match="symbolic links"):
        store.save(a_run())
    assert (tmp_path / "victim").read_text() == "mine"


@pytest.mark.parametrize("folder", ["label", "device"])
def test_a_run_in_a_folder_of_another_name_is_named_rather_than_listed_and_not_found(store, folder):
    path = Path(store.save(a_run()))
    moved = path.parent if folder == "label" else path.parent.parent
    moved.rename(moved.with_name("elsewhere"))

    with pytest.raises(StoreError, match=r"elsewhere.* contains a run of another device or label"):
        store.label_summaries()


class PlainStore:
    """A store of a plugin's own, which can do no more than the protocol asks."""

    def __init__(self, path):
        self._kept = FolderStore(path)

    def check_writable(self):
        self._kept.check_writable()

    def save(self, run):
        assert run.generation is not None
        return self._kept.save(run)

    def label_summaries(self):
        return self._kept.label_summaries()

    def runs(self, fingerprint, label, *, newest=False):
        return self._kept.runs(fingerprint, label, newest=newest)


@pytest.fixture(params=[FolderStore, PlainStore])
def any_store(request, tmp_path):
    return request.param(tmp_path / "kept")


def saved_generation(store, taken_at, *, append):
    save_run(store, a_run(taken_at=taken_at, generation=None), append=append)
    return store.runs(FINGERPRINT, "main")[0].generation


def test_a_save_starts_a_new_generation_and_append_joins_the_newest(any_store):
    assert saved_generation(any_store, "2026-11-01T00:00:00Z", append=True) == "2026-11-01T00:00:00Z"
    assert saved_generation(any_store, "2026-11-02T00:00:00Z", append=False) == "2026-11-02T00:00:00Z"
    assert saved_generation(any_store, "2026-11-03T00:00:00Z", append=True) == "2026-11-02T00:00:00Z"
    assert len(any_store.runs(FINGERPRINT, "main", newest=True)) == 2


@pytest.mark.parametrize("taken_at", ["2026-11-29T20:15:03Z", "2020-01-01T00:00:00Z"])
def test_a_new_generation_is_the_newest_in_the_same_second_and_by_a_clock_set_back(any_store, taken_at):
    saved_generation(any_store, "2026-11-29T20:15:03Z", append=False)

    assert saved_generation(any_store, taken_at, append=False) == "2026-11-29T20:15:04Z"
    assert len(any_store.runs(FINGERPRINT, "main", newest=True)) == 1


def test_a_damaged_baseline_can_be_replaced_but_not_joined(any_store):
    path = Path(save_run(any_store, a_run(), append=False))
    path.write_bytes(b"{")

    with pytest.raises(StoreError):
        save_run(any_store, a_run(), append=True)
    again = Path(save_run(any_store, a_run(taken_at="2026-12-01T00:00:00Z", generation=None), append=False))
    assert read_file(again).runs[0].generation == "2026-12-01T00:00:00Z"


SAVER = """
import sys
from pytest_devperf.record.record import DeviceRecord, Run
from pytest_devperf.store.folder import FolderStore
from pytest_devperf.store.generation import save_run

device = DeviceRecord(fingerprint="0123456789ab", kind="host")
run = Run(label="main", taken_at="2026-11-29T20:15:03Z", devperf_version="0", device=device)
store = FolderStore(sys.argv[1])
print("ready", flush=True)
sys.stdin.read()
save_run(store, run, append=sys.argv[2] == "append")
"""


@pytest.mark.parametrize("below", [True, False], ids=["a store", "no store yet"])
@pytest.mark.parametrize(("word", "count", "generations"), [("anew", 12, 12), ("append", 32, 1)])
def test_sessions_that_save_at_the_same_moment_share_a_generation_only_if_they_append(
    tmp_path, word, count, generations, below
):
    store = FolderStore(tmp_path / "store")
    if below:
        store.save(a_run("other"))
    command = [sys.executable, "-c", SAVER, str(store.path), word]
    savers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)]
    for saver in savers:
        assert saver.stdout.readline() == b"ready\n"
    for saver in savers:
        saver.stdin.close()
    assert [saver.wait() for saver in savers] == [0] * count
    for saver in savers:
        saver.stdout.close()

    found = store.runs(FINGERPRINT, "main")
    assert len(found) == count
    assert len({run.generation for run in found}) == generations
    assert [run.generation for run in found] == sorted((run.generation for run in found), reverse=True)
    assert len(store.runs(FINGERPRINT, "main", newest=True)) == count / generations


@pytest.mark.parametrize(("spec", "place"), [(None, ".devperf"), ("kept/here", "kept/here"), ("file://x", "x")])
def test_a_relative_store_is_below_rootdir(tmp_path, spec, place):
    assert open_store(spec, tmp_path).path == tmp_path / place


def test_an_absolute_store_is_at_its_path(tmp_path):
    assert open_store(str(tmp_path / "s"), "/elsewhere").path == tmp_path / "s"


def test_a_store_in_the_home_of_nobody_is_refused_in_one_line(tmp_path):
    with pytest.raises(UsageError, match=r"store '~nobody-of-this-name/s': there is no such user"):
        open_store("~nobody-of-this-name/s", tmp_path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"there is no file .*nowhere\.json: name a run document"):
        read_file(tmp_path / "nowhere.json")
    with pytest.raises(UsageError, match="is a folder"):
        read_file(tmp_path)
    with pytest.raises(StoreError, match="cannot be read"):
        read_file("a\0b.json")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_stays_and_the_file_behind_it_is_written_with_its_permissions(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "real.json").write_text("old")
    (tmp_path / "kept" / "real.json").chmod(0o640)
    (tmp_path / "link.json").symlink_to("kept/real.json")
    (tmp_path / "dangling.json").symlink_to("kept/new.json")

    for name in ("link.json", "dangling.json"):
        write_file(tmp_path / name, b"new")

        assert (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_bytes() == b"new"
    assert (tmp_path / "kept" / "real.json").stat().st_mode & 0o777 == 0o640
    assert files_below(tmp_path / "kept") == ["new.json", "real.json"]


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="devices are files only on POSIX systems")
def test_a_device_is_written_into_and_stays_one(tmp_path):
    write_file("/dev/null", b"{}")
    assert Path("/dev/null").is_char_device()

    if Path("/dev/full").exists():
        with pytest.raises(StoreError, match=r"/dev/full cannot be written \(no space left on device\)"):
            write_file("/dev/full", b"{}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a FIFO is a POSIX matter")
def test_a_pipe_is_written_into_as_its_reader_reads(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    data = b"x" * 1_000_000  # more than the buffer of a pipe
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        holder = os.open(tmp_path / "pipe", os.O_WRONLY)  # returns once the reader is there
        writer = threading.Thread(target=write_file, args=(tmp_path / "pipe", data))
        writer.start()
        assert reader.stdout.read(len(data)) == data
        writer.join()
        os.close(holder)  # not earlier: without any writer the reader would end
        assert reader.stdout.read() == b""
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a FIFO is a POSIX matter")
def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(StoreError, match=r"pipe cannot be written \(no program reads it\)"):
        write_file(tmp_path / "pipe", b"{}")

    monkeypatch.setattr(writing, "READER_S", 0.01)
    stuck = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(StoreError, match=r"its reader took nothing for 0\.01 s"):
        write_file(tmp_path / "pipe", b"x" * 1_000_000)
    os.close(stuck)


def test_a_file_of_any_name_that_the_system_takes_is_written(tmp_path):
    name = "\N{SNOWMAN}" * 80 + ".json"

    write_file(tmp_path / name, b"{}")

    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_too_large_for_a_document_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("pytest_devperf.store.file.MOST_BYTES", 1 << 20)
    (tmp_path / "x.json").write_bytes(bytes((1 << 20) + 1))

    with pytest.raises(StoreError, match="more than 1 MiB"):
        read_file(tmp_path / "x.json")


def test_a_document_is_written_with_its_folders_or_not_at_all(tmp_path):
    write_file(tmp_path / "a" / "b" / "out.json", b"{}")
    assert files_below(tmp_path) == [str(Path("a", "b", "out.json"))]

    with pytest.raises(StoreError, match=r"out\.json is a file, but a folder is needed"):
        write_file(tmp_path / "a" / "b" / "out.json" / "deeper.json", b"{}")
    with pytest.raises(StoreError, match="is a directory"):
        write_file(tmp_path / "a", b"{}")
    assert files_below(tmp_path) == [str(Path("a", "b", "out.json"))]


@pytest.mark.parametrize(
    ("text", "file"), [("main", False), ("v1.2", False), ("main.json", True), ("./x", True), ("a/b", True)]
)
def test_a_word_is_a_file_if_it_looks_like_one(text, file):
    assert names_a_file(text) is file


def git(folder, *words):
    who = ("-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=trunk")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def test_no_commit_is_known_outside_a_repository(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    assert read_commit(tmp_path) is None
    assert read_commit(tmp_path / "nowhere") is None
    assert capfd.readouterr() == ("", "")


def test_no_commit_is_known_without_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert read_commit(tmp_path) is None


def test_a_commit_is_read_with_its_branch_and_changes(tmp_path):
    git(tmp_path, "init")
    assert read_commit(tmp_path).id is None

    (tmp_path / "a.py").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "x")
    (tmp_path / "untracked").write_text("")
    clean = read_commit(tmp_path)
    (tmp_path / "a.py").write_text("2")
    changed = read_commit(tmp_path)
    git(tmp_path, "checkout", "--detach")

    assert (len(clean.id), clean.branch, clean.dirty) == (40, "trunk", False)
    assert (changed.id, changed.dirty) == (clean.id, True)
    assert read_commit(tmp_path).branch is None


def test_a_git_that_hangs_is_not_waited_for(tmp_path, monkeypatch):
    from pytest_devperf.store import commit

    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(commit, "_PATIENCE_S", 0.1)

    assert read_commit(tmp_path) is None


def test_stored_files_are_documents_that_anybody_can_read(store):
    path = store.save(a_run())

    assert json.loads(Path(path).read_text(encoding="utf-8"))["schema"] == "pytest-devperf/1"


def test_a_small_document_is_read_in_little_memory(tmp_path):
    small = tmp_path / "small.json"
    small.write_bytes(b"{}")

    tracemalloc.start()
    try:
        read_bytes(small)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak_bytes < 8 << 20
