"""Translation of the phone's paths to the sandbox, and back."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf.simphone.isolation.translate import OutputTranslator, root_folders, sed_script, to_sandbox

ROOT = Path("/tmp/devperf-sim-x/phone")

TRANSLATED = {
    "cat /data/local/tmp/x": f"cat {ROOT}/data/local/tmp/x",
    "ls /data": f"ls {ROOT}/data",
    "ls /data /data /sys": f"ls {ROOT}/data {ROOT}/data {ROOT}/sys",
    "--graph=/data/m.tflite": f"--graph={ROOT}/data/m.tflite",
    "P=/data/a:/sdcard/b": f"P={ROOT}/data/a:{ROOT}/sdcard/b",
    "'/sys/class'/x": f"'{ROOT}/sys/class'/x",
    "<(cat</proc/meminfo)": f"<(cat<{ROOT}/proc/meminfo)",
    "{ read v </sys/a; }": f"{{ read v <{ROOT}/sys/a; }}",
    "cat /etc/hosts": f"cat {ROOT}/etc/hosts",
}

KEPT = [
    "cat /proc/self/status /proc/123/stat",
    "echo /database /system.img /sysfoo",
    "./data/x ../data/y a/data/b $D/data/c",
    "file:///data/x",
    "/dev/null /usr/data /bin/sh",
]


@pytest.mark.parametrize("text", TRANSLATED)
def test_a_path_of_the_phone_leads_into_the_sandbox(text: str):
    assert to_sandbox(text, ROOT) == TRANSLATED[text]


@pytest.mark.parametrize("text", [text for text in KEPT if "$D" not in text])
def test_other_paths_stay(text: str):
    assert to_sandbox(text, ROOT) == text


@pytest.mark.parametrize("root", [ROOT, Path("/data/tmp/sim/phone")])
def test_script_files_are_translated_alike(tmp_path: Path, root: Path):
    text = "\n".join([*TRANSLATED, *KEPT]) + "\n"
    (tmp_path / "paths.sed").write_text(sed_script(root))

    done = subprocess.run(
        ["sed", "-E", "-f", tmp_path / "paths.sed"], input=text, capture_output=True, text=True, check=True
    )

    assert done.stdout == to_sandbox(text, root)


@given(st.lists(st.sampled_from([b"a", b"/", b"\n", bytes(ROOT), bytes(ROOT)[:7], b"/tmp"])), st.data())
def test_output_is_translated_alike_however_it_is_cut(parts: list[bytes], data: st.DataObject):
    text = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    back = OutputTranslator(ROOT)

    pieces = [back.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert b"".join(pieces) + back.end() == re.sub(re.escape(bytes(ROOT)) + b"/?", b"/", text)


def test_a_folder_that_only_this_machine_has_is_missing_on_the_phone(tmp_path: Path):
    text = f"cat {tmp_path}/file"

    assert tmp_path.parts[1] in root_folders()
    assert to_sandbox(text, ROOT) == f"cat {ROOT}{tmp_path}/file"
