"""Which process start comes next, and how often cases are asked for it."""

from __future__ import annotations

from types import SimpleNamespace

from pytest_devperf.session.modes.mode import StartRequest
from pytest_devperf.session.schedule import Schedule

DEVICE, OTHER = object(), object()


def case(index, *requests, target=DEVICE):
    return SimpleNamespace(index=index, target=target, pending=True, left=list(requests))


def rounds(place, *, phase=0, process=None, role="rounds"):
    return StartRequest(
        phase=phase,
        place=place,
        of=3,
        what="start",
        process=place if process is None else process,
        role=role,
        start_plans={},
    )


def alone(place):
    return StartRequest(
        phase=1, place=place, of=3, what="solo", process=10 + place, role="solo", start_plans={}, alone=True
    )


class Mode:
    def __init__(self):
        self.asked = 0

    def next_start(self, state):
        self.asked += 1
        return state.left[0] if state.left else None


def run(cases):
    mode, found = Mode(), []
    schedule = Schedule(mode, cases)
    while (batch := schedule.next_batch()) is not None:
        states = [member.state for member in batch.members]
        found.append((batch.words, [state.index for state in states]))
        for state in states:
            del state.left[0]
        schedule.add(states)
    return found, mode.asked


def test_cases_share_a_start_and_an_earlier_phase_comes_first():
    again = rounds(0, phase=2, process=20)
    found, _ = run([case(0, rounds(1), rounds(2)), case(1, again), case(2, rounds(1), alone(0)), case(3, rounds(2))])

    assert found == [
        ("start 2 of 3", [0, 2]),
        ("start 3 of 3", [0, 3]),
        ("solo 1 of 3", [2]),
        ("start 1 of 3", [1]),
    ]


def test_only_the_same_start_on_the_same_device_is_shared():
    found, _ = run([case(0, rounds(1)), case(1, rounds(1), target=OTHER), case(2, rounds(1, role="all"))])

    assert found == [("start 2 of 3", [0]), ("start 2 of 3", [1]), ("start 2 of 3", [2])]


def test_a_case_is_asked_once_for_each_of_its_starts_however_many_cases_there_are():
    for count in (10, 40):
        found, asked = run([case(index, rounds(1), alone(0), alone(1), alone(2)) for index in range(count)])

        assert len(found) == 1 + 3 * count
        assert asked == 5 * count


def test_what_has_its_verdict_needs_no_start():
    done = case(0, rounds(1))
    done.pending = False

    assert run([done]) == ([], 0)
