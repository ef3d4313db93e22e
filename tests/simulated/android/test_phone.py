"""Who a phone is and how it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple

import pytest

from pytest_devperf.case.workload import App, Call
from pytest_devperf.errors import TargetError, Unsupported, UsageError
from pytest_devperf.sensor.context import CpuSet
from pytest_devperf.simphone import PERSONALITIES, AdbServer, SimPhone, simulated_phone
from pytest_devperf.targets.android.open import NoUsablePhone, open_target
from pytest_devperf.targets.android.phone import identity
from pytest_devperf.targets.android.target import AndroidTarget
from pytest_devperf.targets.protocol import Surveying, Target


@pytest.fixture(autouse=True)
def no_phone_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANDROID_SERIAL", raising=False)


Reach = Callable[..., AndroidTarget]
SwitchOn = Callable[..., SimPhone]


def test_the_serial_number_is_nowhere_in_the_device(target: AndroidTarget, phone: SimPhone) -> None:
    facts = repr(astuple(target.device))

    assert target.device.unit is not None
    assert phone.own_serial.lower() not in facts.lower()
    assert phone.serial not in facts


def test_two_units_of_one_model_are_two_devices_unless_the_model_is_meant(switch_on: SwitchOn, reach: Reach) -> None:
    one, other = switch_on(unit=1), switch_on(unit=2)

    assert reach(one).device.fingerprint != reach(other).device.fingerprint
    assert reach(one, identity="model").device.fingerprint == reach(other, identity="model").device.fingerprint


def test_a_phone_is_a_surveying_target(target: AndroidTarget) -> None:
    as_target: Target = target

    assert as_target.device.kind == "sim"
    assert isinstance(target, Surveying)


def test_a_look_is_right_within_a_tenth_of_a_degree(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on(speed=1e-6)  # its time stands still but for jumps, so that the truth waits for the look
    target = reach(phone)
    target.open()
    phone.advance(120, load_cores=2)

    context = target.look()

    assert context.temp_c == pytest.approx(phone.state.skin_c, abs=0.1)
    # The thermal service knows the battery's temperature at once; `dumpsys battery` shows one up to a minute old.
    assert context.temps_c["battery"] == pytest.approx(phone.state.battery_c, abs=0.1)


def test_a_look_shows_which_cpus_a_workload_may_use(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()

    free = reach(phone)
    given = free.look().cpu_set
    free.close()
    bound = reach(phone, affinity="4-7").look().cpu_set

    assert given is not None
    assert given.usable >= 1
    assert bound == CpuSet(cpus="4-7", usable=4.0)


@pytest.mark.parametrize("personality", sorted(PERSONALITIES))
def test_every_family_can_be_looked_at(switch_on: SwitchOn, reach: Reach, personality: str) -> None:
    target = reach(switch_on(personality))

    context = target.look()

    assert target.device.model
    assert context.battery_pct is not None
    assert context.temp_c is not None


def test_a_missing_reading_of_a_phone_is_not_known(switch_on: SwitchOn, reach: Reach) -> None:
    context = reach(switch_on("hal-not-ready")).look()

    assert context.throttled is not True
    assert any("thermalservice" in note for note in context.notes)


def test_heat_shows_as_throttling_and_ends_with_it(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    target = reach(phone)
    cool = target.look()
    phone.advance(1800, load_cores=phone.personality.body.cores)
    hot = target.look()
    phone.advance(3600)
    again = target.look()

    assert (cool.throttled, hot.throttled, again.throttled) == (False, True, False)


@pytest.mark.parametrize("mishap", ["thermal-override", "battery-faked"])
def test_an_overridden_sensor_is_reported_as_faked(switch_on: SwitchOn, reach: Reach, mishap: str) -> None:
    assert reach(switch_on(mishap=mishap)).look().faked


def test_cpu_load_and_the_batterys_refresh_need_a_look_before(target: AndroidTarget) -> None:
    target.look()

    assert target.look().settled is not None


@pytest.mark.parametrize("workload", [Call(function=len), App(id="com.example.bench")])
def test_what_a_phone_cannot_run_is_unsupported_in_words(target: AndroidTarget, workload: Call | App) -> None:
    with pytest.raises(Unsupported, match="Pixel 8"):
        target.start(workload, 0)


def test_auto_finds_a_phone_and_never_an_emulator(switch_on: SwitchOn, phone: SimPhone) -> None:
    emulator = switch_on("emulator")

    found = open_target("auto", server_port=emulator.server_port)

    assert found is not None
    assert found.device.model == phone.personality.model


def test_a_serial_that_is_not_attached_is_a_usage_error_with_a_list(phone: SimPhone) -> None:
    with pytest.raises(UsageError, match=r"no phone android:nobody is attached.*Pixel 8|those attached"):
        open_target("android:nobody", server_port=phone.server_port)


def test_two_phones_are_listed_to_choose_from(switch_on: SwitchOn) -> None:
    one, other = switch_on("pixel-tensor", unit=5), switch_on("motorola", unit=6)

    with pytest.raises(UsageError, match=r"phones are attached.*android:127.0.0.1:.*--devperf-target=android:SERIAL"):
        open_target("android", server_port=one.server_port)
    chosen = open_target(f"android:{other.serial}", server_port=other.server_port)
    assert chosen is not None
    assert chosen.device.model == other.personality.model


def test_an_unauthorised_phone_shows_what_to_do(switch_on: SwitchOn) -> None:
    phone = switch_on(mishap="unauthorized")

    with pytest.raises(UsageError, match=r"not authorised this computer|is being authorised"):
        open_target(f"android:{phone.serial}", server_port=phone.server_port)


def test_adbs_own_variable_names_the_phone(switch_on: SwitchOn, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = switch_on("pixel-tensor", unit=7), switch_on("motorola", unit=8)
    monkeypatch.setenv("ANDROID_SERIAL", other.serial)

    for spec in ("android", "auto"):
        chosen = open_target(spec, server_port=one.server_port)
        assert chosen is not None
        assert chosen.device.model == other.personality.model
    beats = open_target(f"android:{one.serial}", server_port=one.server_port)
    assert beats is not None
    assert beats.device.model == one.personality.model


def test_adbs_own_variable_without_a_phone_is_reported(switch_on: SwitchOn, monkeypatch: pytest.MonkeyPatch) -> None:
    phone = switch_on()
    monkeypatch.setenv("ANDROID_SERIAL", "R5GONE")

    with pytest.raises(UsageError, match=r"no phone android:R5GONE is attached \(ANDROID_SERIAL names it\)"):
        open_target("android", server_port=phone.server_port)
    with pytest.raises(NoUsablePhone, match="ANDROID_SERIAL names it"):
        open_target("auto", server_port=phone.server_port)


def test_specs_of_others_are_left_to_them() -> None:
    assert open_target("ios") is None
    assert open_target("host") is None


def test_a_phone_that_comes_back_is_used_on(switch_on: SwitchOn, reach: Reach) -> None:
    phone = switch_on()
    target = reach(phone)
    target.look()
    phone.leave(0.5)

    assert target.look().battery_pct is not None


def test_a_phone_that_stays_away_gives_one_clear_error(
    switch_on: SwitchOn, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_devperf.targets.android.adb.link.BACK_S", 0.5)
    phone = switch_on()
    target = reach(phone)
    target.look()
    phone.leave()

    with pytest.raises(TargetError, match=r"Google Pixel 8 stopped answering while reading its sensors") as caught:
        target.look()
    assert phone.serial not in str(caught.value)


def test_an_answer_that_is_cut_off_is_never_taken_for_a_whole_one(
    switch_on: SwitchOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_devperf.targets.android.adb.link.BACK_S", 0.5)
    phone = switch_on(mishap="cut-output")

    with pytest.raises(TargetError, match="cut"):
        AndroidTarget(serial=phone.serial, server_port=phone.server_port, clock=phone.clock)


def test_a_server_that_is_gone_is_reported_and_no_other_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> None:
        pytest.fail("another server was started")

    with AdbServer() as server, simulated_phone(server=server) as phone:
        target = AndroidTarget(serial=phone.serial, server_port=server.port, clock=phone.clock)
    monkeypatch.setattr("adbutils._adb.subprocess.run", start)
    monkeypatch.setattr("pytest_devperf.targets.android.adb.link.BACK_S", 0.5)

    with pytest.raises(TargetError, match=r"stopped answering while reading its sensors \(.*no adb server answers"):
        target.read_sensors()


def test_a_simulated_phone_is_set_up_by_itself(target: AndroidTarget, setup: object) -> None:
    assert target.toolchain.runs_models()


def test_a_phone_without_properties_is_refused(
    switch_on: SwitchOn, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    probes = {**identity.PROBES, "properties": "echo getprop: inaccessible or not found; false"}
    monkeypatch.setattr(identity, "PROBES", probes)

    with pytest.raises(TargetError, match="does not show its identity: `getprop` prints getprop: inaccessible"):
        reach(switch_on())
