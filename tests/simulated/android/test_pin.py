"""Holding clocks, and letting go of them in every way a session may end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from waiting import running

from pytest_devperf.errors import UsageError
from pytest_devperf.simphone import SimPhone
from pytest_devperf.target.android.note import ON_PHONE
from pytest_devperf.target.android.phone import AndroidTarget
from pytest_devperf.target.android.place import ROOT

SwitchOn = Callable[..., SimPhone]
Reach = Callable[..., AndroidTarget]

STAY_ON = "global/stay_on_while_plugged_in"


def test_clocks_are_held_and_let_go(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    target = reach(phone, pin_clocks="on")
    before = target.see().clocks.max_khz

    pinned = target.look()
    target.close()

    assert pinned.pinned is True
    assert pinned.throttled is False
    assert any(khz < before[policy] for policy, khz in pinned.max_khz.items())
    assert not phone.state.pinned
    assert target.see().clocks.max_khz == before


def test_clocks_that_somebody_lets_go_do_not_count_as_held(switch_on: SwitchOn, reach: Reach) -> None:
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
    assert willing.pin_words is not None
    assert willing.pin_words in willing.look().notes
    willing.close()
    with pytest.raises(UsageError, match=r"does nothing|refuses fixed-performance mode"):
        reach(phone, pin_clocks="on").look()
    assert STAY_ON not in phone.state.settings


def test_a_cap_that_heat_explains_is_no_pin(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    phone.advance(1800, load_cores=phone.personality.body.cores)

    target = reach(phone, pin_clocks="auto")

    assert target.look().pinned is False
    assert "throttles" in (target.pin_words or "")
    assert not phone.state.pinned


def test_the_screen_setting_goes_back_to_what_it_was(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    phone.change(settings={STAY_ON: "7"})
    target = reach(phone)

    target.open()
    during = phone.state.settings[STAY_ON]
    target.close()

    assert during == "2"
    assert phone.state.settings[STAY_ON] == "7"


PROGRAM = """
import sys, time
from pytest_devperf.target.android.phone import AndroidTarget
from pytest_devperf.target.android.place import ROOT

class Clock:
    now_ns = staticmethod(time.perf_counter_ns)
    sleep = staticmethod(lambda seconds: time.sleep(min(seconds, 0.3)))

target = AndroidTarget(serial=sys.argv[1], server_port=int(sys.argv[2]), clock=Clock(), pin_clocks="on")
target.open()
print("pinned", flush=True)
if sys.argv[3] == "end":
    raise SystemExit
if sys.argv[3] == "raise":
    raise RuntimeError("the test broke")
while True:
    time.sleep(0.1)
"""


def die(phone: SimPhone, how: str) -> int:
    """Pin in a process of its own, and let that end in some way."""
    with running(
        [sys.executable, "-c", PROGRAM, phone.serial, str(phone.server_port), how],
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
def test_every_way_to_end_lets_go(switch_on: SwitchOn, reach: Reach, how: str) -> None:
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

    assert target.swept == "fixed-performance mode and stay-awake"
    assert not phone.state.pinned


def test_a_leftover_is_found_even_when_the_phones_note_is_gone(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    die(phone, "SIGKILL")
    target = reach(phone)
    target.link.script("rm -rf /data/local/tmp/*", doing="losing the note")

    target.open()

    assert target.swept == "fixed-performance mode and stay-awake"


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
    assert target.swept is None
    assert other.state.pinned


def test_another_computers_changes_are_told_and_left(switch_on: SwitchOn, reach: Reach) -> None:
    target = reach(switch_on())
    foreign = "pinned=true\nhost=0123456789ab\npid=1\n"
    target.link.script(f"mkdir -p {ROOT}; printf %s '{foreign}' > {ON_PHONE}", doing="preparing")

    target.open()

    assert target.swept is None
    assert "devperf unpin" in (target.pin_words or "")


def test_unpin_undoes_whatever_was_left(switch_on: SwitchOn, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    from pytest_devperf.cli import unpin

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
