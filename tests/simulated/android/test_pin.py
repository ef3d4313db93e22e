"""Holding clocks, and letting go of them in every way a session may end."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import running

from pytest_devperf.case.workload import Command
from pytest_devperf.errors import TargetError, UsageError
from pytest_devperf.simphone import SimPhone
from pytest_devperf.targets.android.phone.file_store import ROOT, STORE
from pytest_devperf.targets.android.phone.undo_journal import ON_PHONE
from pytest_devperf.targets.android.phone.work_folder import WorkFolder
from pytest_devperf.targets.android.setup_folder import FOLDER_VARIABLE
from pytest_devperf.targets.android.target import AndroidTarget

SwitchOn = Callable[..., SimPhone]
Reach = Callable[..., AndroidTarget]

STAY_ON = "global/stay_on_while_plugged_in"


pytestmark = pytest.mark.usefixtures("own_setups")
"""The next test switches the same unit on: it must not find this one's journal."""


def test_clocks_are_pinned_and_released(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    target = reach(phone, pin_clocks="on")
    before = target.read_sensors().clocks.max_khz

    pinned = target.look()
    target.close()

    assert pinned.pinned is True
    assert pinned.throttled is False
    assert any(khz < before[policy] for policy, khz in pinned.max_khz.items())
    assert not phone.state.pinned
    assert target.read_sensors().clocks.max_khz == before


def test_clocks_released_by_somebody_do_not_count_as_pinned(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    target = reach(phone, pin_clocks="on")
    target.open()

    phone.change(pinned=False)

    assert target.look().pinned is False


def test_off_leaves_the_clocks_alone(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    target = reach(phone)

    assert target.look().pinned is False
    assert not phone.state.pinned


@pytest.mark.parametrize("mishap", ["ignores-pinning", "refuses-pinning"])
def test_a_phone_that_cannot_hold_its_clocks_is_measured_unpinned_or_not_at_all(
    switch_on: SwitchOn, reach: Reach, mishap: str
) -> None:
    phone = switch_on(mishap=mishap)
    willing = reach(phone, pin_clocks="auto")

    assert willing.look().pinned is False
    assert len(willing.notices) == 1
    assert willing.notices[0] in willing.look().notes
    willing.close()
    with pytest.raises(UsageError, match=r"does nothing|refuses fixed-performance mode"):
        reach(phone, pin_clocks="on").look()
    assert STAY_ON not in phone.state.settings


def test_a_cap_that_heat_explains_is_no_pin(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    phone.advance(1800, load_cores=phone.personality.body.cores)

    target = reach(phone, pin_clocks="auto")

    assert target.look().pinned is False
    assert "throttles" in target.notices[0]
    assert not phone.state.pinned


def test_the_screen_setting_goes_back_to_what_it_was(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    phone.change(settings={STAY_ON: "7"})
    target = reach(phone)

    target.open()
    during = phone.state.settings[STAY_ON]
    target.close()

    assert during == "15"  # with whatever powers it: a charger, too
    assert phone.state.settings[STAY_ON] == "7"


IDENTITY = "pytest_devperf.targets.android.phone.identity"


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a simulated phone pass for a real one, of which this machine keeps a copy of the journal."""
    monkeypatch.setattr(f"{IDENTITY}.SIMULATED", "")


PROGRAM = """
import sys, time
from pytest_devperf.targets.android.options import PhoneOptions
from pytest_devperf.targets.android.target import AndroidTarget

class Clock:
    now_ns = staticmethod(time.perf_counter_ns)
    sleep = staticmethod(lambda seconds: time.sleep(min(seconds, 0.3)))

serial, port, options = sys.argv[1], int(sys.argv[2]), PhoneOptions(pin_clocks="on")
target = AndroidTarget(serial=serial, server_port=port, clock=Clock(), options=options)
target.open()
print("pinned", flush=True)
if sys.argv[3] == "end":
    raise SystemExit
if sys.argv[3] == "raise":
    raise RuntimeError("the test broke")
while True:
    time.sleep(0.1)
"""


def die(phone: SimPhone, how: str, *, real: bool = False) -> int:
    """Pin in a separate process, and let that end in some way."""
    program = f"import {IDENTITY}\n{IDENTITY}.SIMULATED = ''\n{PROGRAM}" if real else PROGRAM
    with running(
        [sys.executable, "-c", program, phone.serial, str(phone.server_port), how],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "pinned\n"
        assert how in {"end", "raise"} or phone.state.pinned
        if how not in {"end", "raise"}:
            os.kill(child.pid, getattr(signal, how))
        return child.wait()


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize("how", ["end", "raise", "SIGINT", "SIGTERM", "SIGHUP"])
def test_every_way_to_end_releases_the_clocks(switch_on: SwitchOn, reach: Reach, how: str) -> None:
    phone = switch_on()

    code = die(phone, how)

    assert not phone.state.pinned
    assert STAY_ON not in phone.state.settings
    assert (code == 0) == (how == "end")
    assert "no" in reach(phone).link.script(f"[ -f {ON_PHONE} ] || echo no", doing="looking").output


@pytest.mark.usefixtures("usual_signals")
def test_a_hangup_that_nohup_ignores_leaves_the_clocks_held(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    target = reach(phone, pin_clocks="on")
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    target.open()

    signal.raise_signal(signal.SIGHUP)
    pinned = phone.state.pinned
    target.close()

    assert pinned
    assert not phone.state.pinned
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_what_a_killed_session_left_is_undone_at_the_next_start(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    die(phone, "SIGKILL")
    assert phone.state.pinned

    target = reach(phone)
    target.open()

    assert target.swept == ("fixed-performance mode", "stay-awake")
    assert not phone.state.pinned


def test_a_leftover_is_found_even_when_the_phones_journal_is_gone(
    switch_on: SwitchOn, reach: Reach, real: None
) -> None:
    phone = switch_on()
    die(phone, "SIGKILL", real=True)
    target = reach(phone)
    target.link.script("rm -rf /data/local/tmp/*", doing="losing the journal")

    target.open()

    assert target.swept == ("fixed-performance mode", "stay-awake")


def test_a_phone_in_use_by_another_session_is_left_alone(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    with running(
        [sys.executable, "-c", PROGRAM, phone.serial, str(phone.server_port), "SIGKILL"],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(UsageError, match=f"another session \\(process {child.pid}\\)"):
            reach(phone).open()
        pinned = phone.state.pinned
        child.kill()

    assert pinned


def test_two_simulated_phones_of_one_family_are_two_phones(switch_on: SwitchOn, reach: Reach) -> None:
    one, other = switch_on(), switch_on()
    with running(
        [sys.executable, "-c", PROGRAM, one.serial, str(one.server_port), "SIGKILL"],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        target = reach(other, pin_clocks="on")
        target.open()
        child.kill()

    assert one.own_serial == other.own_serial
    assert target.swept == ()
    assert other.state.pinned


def test_what_another_computer_left_is_undone_and_reported(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on(mishap="left-by-another")
    target = reach(phone, pin_clocks="off")

    context = target.look()

    assert target.swept == ("fixed-performance mode", "stay-awake")
    assert "an earlier session had left fixed-performance mode and stay-awake; undone" in target.notices[0]
    assert not phone.state.pinned
    assert context.pinned is False
    target.close()
    assert phone.state.settings[STAY_ON] == "0"


def test_a_session_of_another_computer_that_measures_now_is_left_alone(
    switch_on: SwitchOn, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    phone = switch_on()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("pytest_devperf.targets.android.phone.undo_journal.this_host", lambda: "0123456789ab")
        other = reach(phone, pin_clocks="on")
        other.open()

    with pytest.raises(UsageError, match="is being measured by another computer's session"):
        reach(phone).open()
    with pytest.raises(UsageError, match="is being measured by another computer's session"):
        reach(phone).restore()

    assert phone.state.pinned
    assert other.look().pinned is True


def test_clocks_pinned_by_nobody_known_are_released_and_reported(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    phone.change(pinned=True)  # by a session whose journal is gone

    target = reach(phone, pin_clocks="on")

    assert target.look().pinned is True
    assert target.swept == ("fixed-performance mode",)
    target.close()
    assert not phone.state.pinned


@pytest.mark.parametrize("mishap", ["cap-lifts", "pinning-slips"])
def test_a_cap_that_lifts_or_slips_by_itself_is_no_pin(switch_on: SwitchOn, reach: Reach, mishap: str) -> None:
    phone = switch_on(mishap=mishap)
    target = reach(phone, pin_clocks="auto")

    assert target.look().pinned is False
    assert re.search("does nothing|releases its clocks by itself", target.notices[0])
    assert not phone.state.pinned


@pytest.mark.parametrize("mishap", ["refuses-restoring", "ignores-restoring"])
def test_what_the_phone_does_not_undo_stays_noted_and_is_never_measured_over(
    switch_on: SwitchOn, reach: Reach, mishap: str
) -> None:
    phone = switch_on(mishap=mishap)
    first = reach(phone, pin_clocks="on")
    first.open()

    with pytest.raises(TargetError, match=r"still has fixed-performance mode .* and stay-awake \(the setting"):
        first.close()
    with pytest.raises(UsageError, match=r"still has fixed-performance mode .*an earlier session left it so"):
        reach(phone, pin_clocks="off").open()

    assert phone.state.pinned
    phone.end_mishap()
    again = reach(phone, pin_clocks="off")
    again.open()
    assert again.swept == ("fixed-performance mode", "stay-awake")
    assert not phone.state.pinned


def test_a_phone_whose_link_dropped_is_claimed_anew(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    target = reach(phone, pin_clocks="on")
    target.open()
    phone.leave(0.5)
    with target.start(Command(argv=("true",)), 0):
        pass

    with pytest.raises(UsageError, match="is being measured by this session"):
        reach(phone).open()

    assert phone.state.pinned


def test_a_phone_that_was_taken_over_meanwhile_is_not_measured_on(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    target = reach(phone, pin_clocks="on")
    target.open()
    phone.leave(0.5)
    other = reach(phone)
    other.open()

    with pytest.raises(TargetError, match="was taken over by"):
        target.start(Command(argv=("true",)), 0)

    target.close()
    assert other.look().pinned is False


@pytest.mark.parametrize("answer", ["no such table", "\u0663", "12345"])
def test_a_screen_setting_that_cannot_be_read_is_left_alone(
    switch_on: SwitchOn, reach: Reach, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr("pytest_devperf.targets.android.phone.restore.STAY_ON", f"x >&2; echo {answer}")
    monkeypatch.setattr("pytest_devperf.targets.android.phone.hold.STAY_ON", f"x >&2; echo {answer}")
    phone = switch_on()
    target = reach(phone)
    target.open()

    assert "does not show whether its screen stays on" in target.notices[0]
    assert STAY_ON not in phone.state.settings


def test_an_unwritable_data_folder_is_reported_before_any_change(
    switch_on: SwitchOn, reach: Reach, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real: None
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file"))
    phone = switch_on()

    with pytest.raises(UsageError, match=rf"cannot write .*set another folder in {FOLDER_VARIABLE}"):
        reach(phone, pin_clocks="on").open()

    assert not phone.state.pinned
    assert STAY_ON not in phone.state.settings


def test_folders_of_killed_sessions_are_removed_at_the_next_start(switch_on: SwitchOn, reach: Reach) -> None:
    target = reach(switch_on())
    partial = f"{STORE}/{'a' * 64}.0123abcd.part"
    target.link.script(
        f"mkdir -p {ROOT}/0123abcd/deep {ROOT}/theirs {STORE}; touch {ROOT}/0123abcd/deep/file {partial}",
        doing="preparing",
    )

    target.open()

    assert target.swept == ("2 working folders",)
    left = target.link.script(f"ls {ROOT} {STORE}", doing="looking").output.split()
    assert "0123abcd" not in left
    assert "theirs" in left
    assert not any(name.endswith(".part") for name in left)


def test_the_store_on_the_phone_is_limited_and_its_size_is_reported(
    switch_on: SwitchOn, reach: Reach, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = reach(switch_on())
    target.open()
    for name in ("old", "new"):
        (tmp_path / name).write_text(name)
        place = WorkFolder(target.link)
        place.open()
        place.put({name: tmp_path / name})
        place.close()
    digest = hashlib.sha256(b"old").hexdigest()
    target.link.script(f"touch -t 202001010000 {STORE}/{digest}", doing="ageing")

    target.close()

    assert target.link.script(f"ls {STORE}", doing="looking").output.split() == [hashlib.sha256(b"new").hexdigest()]
    assert "keeps 1 pushed file (0.0 MiB) for 7 days" in (target.farewell or "")


def test_unpin_undoes_whatever_was_left(switch_on: SwitchOn, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    from pytest_devperf.cli.devices import unpin

    phone = switch_on()
    die(phone, "SIGKILL")
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(phone.server_port))

    import argparse

    code = unpin.run(argparse.Namespace(target=f"android:{phone.serial}"))

    assert code == 0
    assert not phone.state.pinned
    assert "fixed-performance mode" in capsys.readouterr().out


def test_a_hold_is_given_back_only_once(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    target = reach(phone, pin_clocks="auto")
    target.open()
    target.close()
    phone.change(pinned=True)  # somebody else's doing

    target.close()

    assert phone.state.pinned


def test_signal_handlers_are_taken_back(switch_on: SwitchOn, reach: Reach) -> None:
    before = signal.getsignal(signal.SIGTERM)
    target = reach(switch_on())
    target.open()
    during = signal.getsignal(signal.SIGTERM)
    target.close()

    assert during != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_journal_that_cannot_be_read_is_not_taken_for_none(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    target = reach(phone, pin_clocks="on")
    target.link.script(f"mkdir -p {ON_PHONE}", doing="preparing")

    with pytest.raises(TargetError, match="has a journal of changes that cannot be read"):
        target.open()

    assert not phone.state.pinned
