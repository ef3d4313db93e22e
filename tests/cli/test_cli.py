"""The command prints the plugin's words, returns its exit codes, and does not import pytest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from waiting import running

from pytest_devperf import __version__, cli
from pytest_devperf.cli import main
from pytest_devperf.cli.command import VERBS
from pytest_devperf.record.codec import encode
from pytest_devperf.record.record import Confirmation, DeviceRecord, Document

OTHER = DeviceRecord(fingerprint="ba9876543210", kind="host", soc="Another CPU", cores=4)


def devperf(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "pytest_devperf.cli", *words],
        capture_output=True,
        check=False,
        **options,
    )


def test_every_verb_lists_its_arguments(capsys):
    for verb in VERBS:
        with pytest.raises(SystemExit) as ended:
            main([verb, "--help"])
        assert ended.value.code == 0
        assert f"usage: devperf {verb}" in capsys.readouterr().out


def test_help_names_every_verb_and_the_exit_codes(capsys):
    assert main(["--help"]) == 0

    output = capsys.readouterr().out
    assert all(f"\n  {verb} " in output for verb in VERBS)
    assert "4 a usage error" in output


def test_no_verb_is_forgotten_in_the_help():
    room = Path(cli.__file__).parent
    modules = {".".join(each.relative_to(room).with_suffix("").parts): each for each in room.rglob("*.py")}
    verbs = {name for name, each in modules.items() if "\ndef add_arguments(" in each.read_text("utf-8")}

    assert verbs == {each.module for each in VERBS.values()}


@pytest.mark.parametrize(
    "words", [["list", "--store="], ["show", ""], ["history", "case", "--label", " "], ["setup-android", "--library="]]
)
def test_an_empty_value_is_refused(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 4
    assert "needs a value that is not empty" in capsys.readouterr().err


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pytest-devperf {__version__}\n"


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["list"]])
def test_little_is_imported(words, tmp_path):
    found = devperf(*words, cwd=tmp_path, env={"PYTHONPROFILEIMPORTTIME": "1", "PATH": ""})

    loaded = {line.rpartition("|")[2].strip() for line in found.stderr.decode().splitlines()}
    assert "pytest_devperf.cli" in loaded
    assert not {"pytest", "_pytest", "pluggy", "numpy", "psutil", "onnxruntime", "adbutils"} & loaded
    if words != ["list"]:
        assert not {"argparse", "msgspec", "importlib.metadata"} & loaded


def test_a_comparison_imports_no_pytest(store, make_run):
    store.save(make_run(fast=1.0))

    found = devperf("compare", "main", "--to", "main", env={"PYTHONPROFILEIMPORTTIME": "1", "PATH": ""})

    loaded = {line.rpartition("|")[2].strip() for line in found.stderr.decode().splitlines()}
    assert "pytest_devperf.compare.compare" in loaded
    assert not {"pytest", "_pytest", "pluggy", "numpy"} & loaded


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ([], "usage: devperf VERB"),
        (["lits"], "unknown verb 'lits': did you mean 'list'?"),
        (["unknown"], "unknown verb 'unknown': use one of list, show,"),
        (["zzz"], "use one of list, show, compare"),
        (["show"], "devperf show: the following arguments are required: RUN"),
        (["compare", "main"], "--to"),
        (["compare", "main", "--to", "x", "--tolerance", "5"], "write X% or METRIC=X%, with the % sign"),
        (["compare", "main", "--to", "x", "--accept", "nonsense"], "no caution named 'nonsense' refuses comparison"),
        (["show", "nowhere"], "no label or run named 'nowhere' in"),
        (["show", "nowhere.json"], "there is no file nowhere.json"),
        (["list", "--store", "gs://bucket"], "the store gs://bucket"),
    ],
)
def test_a_usage_error_exits_4_and_names_the_remedy(store, capsys, words, output):
    try:
        code = main(words)
    except SystemExit as ended:
        code = ended.code

    assert code == 4
    captured = capsys.readouterr()
    assert output in captured.err
    assert captured.out == ""


def test_a_label_that_is_not_there_lists_those_that_are(store, make_run, capsys):
    store.save(make_run("main", fast=1.0))

    assert main(["show", "mian"]) == 4
    assert "there is 'main' of host 0123456789ab" in capsys.readouterr().err


def test_for_an_empty_store_the_message_names_the_option_that_saves(store, capsys):
    assert main(["list"]) == 0
    assert "is empty: save a run with pytest --devperf-save LABEL" in capsys.readouterr().out


def test_list_shows_devices_and_labels(store, make_run, capsys):
    store.save(make_run("main", 1, fast=1.0))
    store.save(make_run("main", 2, fast=1.0))
    store.save(make_run("other", 3, OTHER, fast=1.0))

    assert main(["list"]) == 0
    output = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["host", "Example", "CPU", "(4", "cores,", "0123456789ab)"] in output
    assert ["main", "2", "2026-11-02T08:00:00Z"] in output
    assert ["other", "1", "2026-11-03T08:00:00Z"] in output


def test_a_verbose_list_shows_every_run(store, make_run, capsys):
    for day in (1, 2):
        store.save(make_run("main", day, fast=1.0, slow=2.0))

    assert main(["list", "-v"]) == 0
    output = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["main", "main0002", "2026-11-02T08:00:00Z", "2", "2026-11-02T08:00:00Z"] in output
    assert ["main0001", "2026-11-01T08:00:00Z", "2", "2026-11-01T08:00:00Z"] in output


def test_the_store_of_a_parent_folder_is_found(store, make_run, tmp_path, monkeypatch, capsys):
    store.save(make_run(fast=1.0))
    (tmp_path / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "er")

    assert main(["list"]) == 0
    assert "main" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["main", "main0002", "main0002"[:7] + "2", "./run.json"])
def test_show_takes_a_label_an_id_or_a_file(store, make_run, capsys, word, tmp_path):
    store.save(make_run("main", 1, fast=1.0))
    newest = make_run("main", 2, fast=1.0)
    store.save(newest)
    (tmp_path / "run.json").write_bytes(encode(Document(runs=(newest,))))

    assert main(["show", word, "-v"]) == 0
    output = capsys.readouterr().out
    assert "run main, 2026-11-02T08:00:00Z, main0002" in output
    assert "devperf settings: suite quick, 3 process starts, 12 rounds, 30 iterations" in output
    assert "round medians" in output


@pytest.mark.parametrize("label", ["feature/x", "../x", "main.json"])
def test_a_label_that_looks_like_a_file_is_found(store, make_run, label):
    store.save(make_run(label, fast=1.0))

    assert main(["show", label]) == 0
    assert main(["compare", label, "--to", label]) == 0


def test_the_beginning_of_two_ids_is_not_an_id(store, make_run, capsys):
    store.save(make_run("main", 1, fast=1.0))
    store.save(make_run("main", 2, fast=1.0))

    assert main(["show", "main000"]) == 4
    assert "main0002, main0001" in capsys.readouterr().err


def compare(store, base, candidate, *words):
    store.save(base)
    store.save(candidate)
    return main(["compare", base.label, "--to", candidate.label, *words])


def test_unchanged_code_is_within_noise(store, make_run, capsys):
    assert compare(store, make_run("old", 1, a=1.0, b=2.0), make_run("new", 2, a=1.0, b=2.0), "--fail") == 0
    assert capsys.readouterr().out.endswith("devperf: 2 within noise; compared with old\n")


def test_a_regression_is_reported_and_fails_only_on_request(store, make_run, capsys):
    base, slow = make_run("old", 1, a=1.0, b=2.0), make_run("new", 2, a=1.2, b=2.0)

    assert compare(store, base, slow) == 0
    output = capsys.readouterr().out
    assert "REGRESSED test_a.py::test_a: latency regressed: 1.00 -> 1.20 ms (+20.0 %), beyond" in output
    assert output.endswith("devperf: 1 REGRESSED, 1 within noise; compared with old\n")
    assert main(["compare", "old", "--to", "new", "--fail"]) == 1


def test_an_improvement_is_not_a_failure(store, make_run, capsys):
    assert compare(store, make_run("old", 1, a=1.2), make_run("new", 2, a=1.0), "--fail") == 0
    assert "1 improved" in capsys.readouterr().out


def test_every_tolerance_counts(store, make_run):
    base, slow = make_run("old", 1, a=1.0), make_run("new", 2, a=1.2)

    assert compare(store, base, slow, "--fail", "--tolerance", "latency=30%", "--tolerance", "load=1%") == 0


def test_the_literal_rule_can_be_asked_for(store, make_run, capsys):
    compare(store, make_run("old", 1, a=1.0), make_run("new", 2, a=1.01), "--rule", "iqr")
    assert "1 REGRESSED" in capsys.readouterr().out

    main(["compare", "old", "--to", "new"])
    assert "1 within noise" in capsys.readouterr().out


def test_a_suspect_whose_confirmation_did_not_find_it_passes(store, make_run, capsys):
    slow = make_run("new", 2, a=1.2)
    again = make_run("new", 3, a=1.0).cases[0].metrics[0]
    looked = replace(
        slow.cases[0].metrics[0], confirmation=Confirmation(process=again.process, samples_ns=again.samples_ns)
    )
    slow = replace(slow, cases=(replace(slow.cases[0], metrics=(looked,)),))

    assert compare(store, make_run("old", 1, a=1.0), slow, "--fail") == 0
    assert "1 SUSPECT" in capsys.readouterr().out


def test_a_missing_case_is_named_and_fails_only_on_request(store, make_run, capsys):
    base, less = make_run("old", 1, a=1.0, renamed=2.0), make_run("new", 2, a=1.0)

    assert compare(store, base, less) == 0
    assert "MISSING test_a.py::test_renamed: in the baseline, but not measured" in capsys.readouterr().out
    assert main(["compare", "old", "--to", "new", "--fail"]) == 1
    assert main(["compare", "old", "--to", "new", "--fail", "--no-fail-on-missing"]) == 0


def test_a_full_case_is_not_missed_in_a_quick_run(store, make_run, capsys):
    base = make_run("old", 1, a=1.0, long=9.0)
    base = replace(base, cases=(base.cases[0], replace(base.cases[1], suite="full")))

    assert compare(store, base, make_run("new", 2, a=1.0), "--fail") == 0
    assert "MISSING" not in capsys.readouterr().out


def test_another_device_is_never_compared_and_never_a_pass(store, make_run, tmp_path, capsys):
    (tmp_path / "old.json").write_bytes(encode(Document(runs=(make_run("old", 1, OTHER, a=1.0),))))
    store.save(make_run("new", 2, a=1.0))

    assert main(["compare", "./old.json", "--to", "new"]) == 1
    output = capsys.readouterr().out
    assert "INCOMPARABLE test_a.py::test_a: the baseline is from another device" in output
    assert "NOTHING was compared with ./old.json" in output


def test_a_label_of_another_device_alone_is_a_usage_error(store, make_run, capsys):
    store.save(make_run("old", 1, OTHER, a=1.0))
    store.save(make_run("new", 2, a=1.0))

    assert main(["compare", "old", "--to", "new"]) == 4
    assert "old has no case of host 0123456789ab" in capsys.readouterr().err


def test_of_two_devices_the_one_without_a_baseline_is_new(store, make_run, capsys):
    store.save(make_run("old", 1, a=1.0))
    store.save(make_run("new", 2, a=1.0))
    store.save(make_run("new", 3, OTHER, a=1.0))

    assert main(["compare", "old", "--to", "new", "--fail"]) == 0
    assert "1 NEW, 1 within noise; compared with old" in capsys.readouterr().out


def test_an_older_run_can_be_the_baseline_by_its_id(store, make_run, capsys):
    store.save(make_run("main", 1, a=1.0))
    store.save(make_run("main", 2, a=1.3))

    assert main(["compare", "main0001", "--to", "main", "--fail"]) == 1
    assert "1 REGRESSED" in capsys.readouterr().out


def test_an_empty_document_is_not_a_baseline(store, make_run, tmp_path, capsys):
    (tmp_path / "empty.json").write_bytes(encode(Document()))
    store.save(make_run("main", 1, a=1.0))

    assert main(["compare", "empty.json", "--to", "main"]) == 4
    assert "empty.json has no run" in capsys.readouterr().err


def test_a_plugin_can_add_a_store(store, make_run, tmp_path, monkeypatch, capsys):
    store.save(make_run("elsewhere", 1, a=1.0))
    plugin = tmp_path / "site"
    (plugin / "vault-1.dist-info").mkdir(parents=True)
    (plugin / "vault-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: vault\nVersion: 1\n")
    (plugin / "vault-1.dist-info" / "entry_points.txt").write_text("[pytest_devperf.stores]\nvault = vault:make\n")
    (plugin / "vault.py").write_text(
        "from pytest_devperf.store.folder import FolderStore\n"
        f"def make(spec): return FolderStore({str(store.path)!r}) if spec == 'vault:x' else None\n"
    )
    monkeypatch.syspath_prepend(plugin)

    assert main(["list", "--store", "vault:x"]) == 0
    assert "elsewhere" in capsys.readouterr().out
    assert main(["list", "--store", "other"]) == 0
    assert "is empty" in capsys.readouterr().out


def test_an_incomparable_case_fails_only_on_request(store, make_run):
    base, now = make_run("old", 1, a=1.0, b=1.0), make_run("new", 2, a=1.0, b=1.0)
    other = replace(now.cases[0], workload=replace(now.cases[0].workload, fingerprint="other"))
    now = replace(now, cases=(other, now.cases[1]))

    assert compare(store, base, now, "--fail") == 0
    assert main(["compare", "old", "--to", "new", "--fail-on-incomparable"]) == 1


def test_several_bases_are_one_baseline(store, make_run, capsys):
    for day in (1, 2, 3):
        store.save(make_run(f"old{day}", day, a=1.0))
    store.save(make_run("new", 4, a=1.0))

    assert main(["compare", "old1", "old2", "old3", "--to", "new"]) == 0
    assert "1 within noise; compared with old1 old2 old3" in capsys.readouterr().out


def test_several_candidates_are_compared_each(store, make_run, capsys):
    store.save(make_run("old", 1, a=1.0))
    store.save(make_run("one", 2, a=1.0))
    store.save(make_run("two", 3, a=1.3))

    assert main(["compare", "old", "--to", "one", "two", "--fail"]) == 1
    output = capsys.readouterr().out
    assert "run one, 2026-11-02T08:00:00Z, one0002" in output
    assert "1 REGRESSED, 1 within noise" in output


def test_a_damaged_newest_run_stops_the_comparison_with_its_name(store, make_run, capsys):
    store.save(make_run("old", 1, a=1.0))
    path = store.save(make_run("old", 2, a=1.0))
    store.save(make_run("new", 3, a=1.0))
    with open(path, "r+b") as file:  # noqa: PTH123 - cut in place
        file.truncate(500)

    assert main(["compare", "old", "--to", "new"]) == 4
    output = capsys.readouterr().err
    assert path in output
    assert "is damaged" in output


def test_a_bad_sample_in_a_file_makes_its_case_incomparable(store, make_run, tmp_path, capsys):
    written = json.loads(encode(Document(runs=(make_run("old", 1, a=1.0, b=1.0),))))
    written["runs"][0]["cases"][0]["metrics"][0]["samples_ns"][3][7] = 0
    (tmp_path / "old.json").write_text(json.dumps(written))
    store.save(make_run("new", 2, a=1.0, b=1.0))

    assert main(["compare", "old.json", "--to", "new"]) == 0
    output = capsys.readouterr().out
    assert "1 INCOMPARABLE, 1 within noise" in output
    assert "NaN, infinite, zero, negative or implausible" in output


def test_failed_cases_are_neither_candidates_nor_baselines(store, make_run, capsys):
    base, now = make_run("old", 1, a=1.0, b=1.0), make_run("new", 2, a=1.0, b=1.0)
    base = replace(base, cases=(replace(base.cases[0], outcome="failed"), base.cases[1]))
    now = replace(now, cases=(now.cases[0], replace(now.cases[1], outcome="error", reason="boom")))

    assert compare(store, base, now) == 1
    assert "1 ERROR, 1 NEW; NOTHING was compared with old" in capsys.readouterr().out


def test_a_closed_pipe_is_not_an_error(store, make_run):
    run = make_run("main", 1, **{f"case{n}": 1.0 for n in range(40)})
    store.save(run)
    command = [sys.executable, "-m", "pytest_devperf.cli", "show", "main", "-vv"]

    with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        output = process.stderr.read()

    assert output == b""
    assert process.returncode == 0


def test_an_encoding_without_our_characters_is_not_an_error(store, make_run):
    store.save(make_run("main", 1, a=0.02))

    found = devperf("show", "main", env={"PYTHONIOENCODING": "ascii", "PATH": ""})

    assert found.returncode == 0
    assert b"20.0" in found.stdout
    assert b" us " in found.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_help_needs_no_characters_beyond_ascii(verb):
    found = devperf(verb, "--help", env={"PYTHONIOENCODING": "ascii", "PATH": ""})

    assert (found.returncode, found.stderr) == (0, b"")


def test_a_colouring_label_does_not_reach_the_terminal(store, make_run, capsys):
    store.save(make_run("red\x1b[31m", 1, a=1.0))

    main(["list"])
    assert "\x1b" not in capsys.readouterr().out
