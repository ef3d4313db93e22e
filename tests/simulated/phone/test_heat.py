"""Warming, throttling, cooling, pinning: first the arithmetic, then the phone's output."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from waiting import until

from pytest_devperf.simphone import PERSONALITIES, SimClock, SimPhone
from pytest_devperf.simphone.state.mishap import NONE
from pytest_devperf.simphone.state.physics import State, advance, caps_khz, clocks_khz, slowdown
from pytest_devperf.simphone.state.simulation import Simulation

BODY = PERSONALITIES["pixel-tensor"].body
CAPS = "cat /sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq"
WORK_UNTIL_STOPPED = "while [ ! -e /data/local/tmp/stop ]; do :; done"


def test_work_warms_and_rest_cools():
    hot = advance(State(), BODY, 600, 9)
    cooled = advance(hot, BODY, 600, 0)

    assert hot.die_c > hot.skin_c > State().skin_c
    assert cooled.skin_c < hot.skin_c
    assert cooled.battery_c < hot.battery_c


def test_the_die_cools_at_once_and_skin_and_battery_lag():
    hot = advance(State(), BODY, 600, 9)
    soon = advance(hot, BODY, 90, 0)

    assert hot.die_c - soon.die_c > 15
    assert abs(hot.battery_c - soon.battery_c) < 3


def test_time_in_one_piece_or_in_many_has_the_same_result():
    whole = advance(State(), BODY, 120, 4)
    pieces = State()
    for _ in range(120):
        pieces = advance(pieces, BODY, 1, 4)

    assert pieces.skin_c == pytest.approx(whole.skin_c, abs=1e-6)


def test_heat_throttles_and_a_throttled_phone_is_slower():
    hot = advance(State(), BODY, 900, 9)

    assert hot.status >= 1
    assert caps_khz(hot, BODY) < caps_khz(State(), BODY)
    assert slowdown(hot, BODY) > slowdown(State(), BODY) == 1.0


def test_a_status_falls_only_clearly_below_its_threshold():
    limit_c = BODY.skin_limits_c[0]
    body = replace(BODY, ambient_c=limit_c)

    just_below = advance(State(status=1, skin_c=limit_c - 0.5, die_c=limit_c, battery_c=limit_c), body, 0.5, 0)
    clearly_below = advance(State(status=1, skin_c=limit_c - 1.5, die_c=limit_c, battery_c=limit_c), body, 0.5, 0)

    assert (just_below.status, clearly_below.status) == (1, 0)


def test_the_battery_is_read_only_now_and_then():
    states = [State()]
    for _ in range(60):
        states.append(advance(states[-1], BODY, 1, 9))

    assert len({state.shown_battery_c for state in states}) == 1 + 60 // BODY.battery_refresh_s


def test_little_cores_are_slower_than_big_ones():
    assert slowdown(State(), BODY, frozenset({0})) > slowdown(State(), BODY, frozenset({8})) == 1.0


def test_an_idle_phone_runs_at_its_lowest_clocks_and_a_pinned_one_does_not():
    assert clocks_khz(State(), BODY) == tuple(cluster.steps_khz[0] for cluster in BODY.clusters)
    assert clocks_khz(State(pinned=True), BODY)[-1] > BODY.clusters[-1].steps_khz[0]


def test_a_phone_lives_at_its_own_speed():
    life = Simulation(PERSONALITIES["pixel-tensor"], NONE, speed=10_000.0)

    before = life.look()
    time.sleep(0.02)

    assert life.look().at_s - before.at_s > 100


def test_waiting_by_its_clock_takes_no_real_time_and_cools_it(monkeypatch):
    phone = SimPhone()
    with phone:
        hot = phone.advance(600, load_cores=9)
        clock = SimClock(phone.simulation)
        before_ns = clock.now_ns()
        monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail(f"waited {seconds} s in real time"))

        clock.sleep(900)

        assert clock.now_ns() - before_ns >= 900 * 10**9
        assert phone.state.skin_c < hot.skin_c - 5


def test_pinning_shows_as_a_cap_that_goes_again(switch_on, open_device):
    device = open_device(switch_on())

    free = device.shell(CAPS).split()
    done = device.shell2("cmd power set-fixed-performance-mode-enabled true", v2=True)
    pinned = device.shell(CAPS).split()
    device.shell("cmd power set-fixed-performance-mode-enabled false")

    assert (done.returncode, done.output) == (0, "")
    assert all(int(now) < int(before) for now, before in zip(pinned, free, strict=True))
    assert device.shell(CAPS).split() == free


def test_the_clocks_are_not_to_be_written(switch_on, open_device):
    device = open_device(switch_on())
    path = "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"

    before = device.shell(f"cat {path}")
    device.shell(f"echo 1 > {path}")

    assert device.shell(f"cat {path}") == before


def test_a_heated_phone_shows_it_and_cools_down_again(switch_on, open_device):
    phone = switch_on()
    device = open_device(phone)

    phone.advance(900, load_cores=9)
    hot = device.shell("dumpsys thermalservice | grep 'Thermal Status'")
    phone.advance(900)
    cool = device.shell("dumpsys thermalservice | grep 'Thermal Status'")

    assert (hot, cool) == ("Thermal Status: 1", "Thermal Status: 0")


def test_real_work_on_the_phone_warms_it(switch_on, open_device):
    phone = switch_on()
    device = open_device(phone)
    before = phone.state

    with device.shell(WORK_UNTIL_STOPPED, stream=True):
        until(lambda: phone.state.busy_s >= before.busy_s + 1)
        after = phone.state
        device.shell("touch /data/local/tmp/stop")

    idle = advance(before, BODY, after.at_s - before.at_s, 0)
    assert after.die_c > before.die_c
    assert after.die_c > idle.die_c


def test_a_program_can_read_how_much_slower_the_phone_is(switch_on, open_device):
    phone = switch_on()
    device = open_device(phone)
    ask = 'cat "$DEVPERF_SIM_SLOWDOWN"'

    full = float(device.shell(ask))
    phone.slow_down(1.25)
    slowed = float(device.shell(ask))
    little = float(device.shell(f"taskset f sh -c '{ask}'"))

    assert (full, slowed) == (1.0, 1.25)
    assert little > slowed


def test_a_loop_on_the_phone_sees_its_clocks_change(switch_on, open_device):
    phone = switch_on()
    device = open_device(phone)
    until = "while [ ! -e /data/local/tmp/stop ]; do sleep 0.05; done; sleep 0.3"
    loop = f"{CAPS} | tail -1; {until}; {CAPS} | tail -1"

    with device.shell(loop, stream=True) as stream:
        first = stream.conn.recv(100)
        phone.advance(900, load_cores=9)
        device.shell("touch /data/local/tmp/stop")
        last = stream.read_until_close(encoding=None)

    assert int(last) < int(first)
