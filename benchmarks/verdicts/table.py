"""The tables: every rule over all devices, and one rule device by device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.verdicts.trial import EFFECTS, Score

Scores = Mapping[str, Mapping[str, Score]]
"""Rule -> device -> score."""

MAIN_EFFECT = 0.05


def overview(scores: Scores) -> list[list[str]]:
    """Format every rule: means over the devices, and the worst of them."""
    heads = ["rule", "false alarms, mean", "worst device", "runs of 16 with one", "+3 % found", "+5 %", "+10 %"]
    rows = [[*heads, "+5 % on the worst device", "iterations when unchanged", "cases"]]
    for rule, devices in scores.items():
        worst = max(devices, key=lambda name: devices[name].percent_failed(0.0))
        least = min(devices, key=lambda name: devices[name].percent_failed(MAIN_EFFECT))
        rows.append(
            [
                rule,
                f"{_mean(devices, 0.0):.2f} %",
                f"{devices[worst].percent_failed(0.0):.1f} % ({worst})",
                f"{sum(each.alarmed_percent for each in devices.values()) / len(devices):.1f} %",
                *(f"{_mean(devices, effect):.0f}" for effect in EFFECTS),
                f"{devices[least].percent_failed(MAIN_EFFECT):.0f} ({least})",
                f"{sum(each.iterations_each for each in devices.values()) / len(devices):.0f}",
                str(sum(each.cases[0.0] for each in devices.values())),
            ]
        )
    return rows


def by_device(devices: Mapping[str, Score]) -> list[list[str]]:
    """Format one rule, device by device."""
    rows = [
        [
            "device",
            "false alarms",
            "runs of 16 with one",
            "+3 % found",
            "+5 %",
            "+10 %",
            "iterations when unchanged",
            "+5 % missed by",
            "cases",
        ]
    ]
    for name, score in devices.items():
        missed = ", ".join(f"{step} {count}" for step, count in score.stopped.most_common())
        rows.append(
            [
                name,
                f"{score.percent_failed(0.0):.2f} %",
                f"{score.alarmed_percent:.1f} %",
                *(f"{score.percent_failed(effect):.0f}" for effect in EFFECTS),
                f"{score.iterations_each:.0f}",
                missed,
                str(score.cases[0.0]),
            ]
        )
    return rows


def _mean(devices: Mapping[str, Score], truth: float) -> float:
    return sum(each.percent_failed(truth) for each in devices.values()) / len(devices)


def laid_out(rows: Sequence[Sequence[str]], *, markdown: bool) -> str:
    """Write rows as text with aligned columns, or as a Markdown table; the first row is the head."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    if not markdown:
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        )
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(widths))
    return "\n".join(lines)
