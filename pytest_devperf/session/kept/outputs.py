"""The files that a session writes at its end: the run document, and reports for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.english import counted
from pytest_devperf.errors import DevperfError, StoreError, UsageError
from pytest_devperf.record.codec import encode
from pytest_devperf.record.record import Document
from pytest_devperf.report.formats import FORMATS, Baselines, Histories
from pytest_devperf.report.report import Report
from pytest_devperf.session.kept.document_output import NAME, DocumentOutput, words_for
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.session.options.table import OUTPUTS
from pytest_devperf.store.open import expand_home
from pytest_devperf.store.writing import check_file, is_special, write_file


@dataclass(frozen=True, slots=True)
class Content:
    """What the files of a session are made of."""

    report: Report
    baselines: Baselines
    histories: Callable[[], Histories] = dict
    """Reads earlier runs; called only for a format that shows them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One file to be written."""

    flag: str
    """The option that names it."""
    name: str
    """How the user wrote it; `-`: standard output."""
    encode: Callable[[Content], bytes]

    @property
    def option(self) -> str:
        """The option as the user wrote it."""
        return f"{self.flag}={self.name}"


def _encode_document(content: Content) -> bytes:
    return encode(Document(runs=content.report.runs))


def _encoder(name: str) -> Callable[[Content], bytes]:
    """Return what encodes the output of an option."""
    if name not in FORMATS:
        return _encode_document
    form = FORMATS[name]

    def encode_report(content: Content) -> bytes:
        histories = content.histories() if form.shows_histories else {}
        return form.write(content.report, content.baselines, histories).encode()

    return encode_report


class Outputs:
    """Writes the files of a session."""

    def __init__(self, settings: Settings, folder: Path, reserved: DocumentOutput | None = None) -> None:
        """Write nothing yet.

        Args:
            settings: The session's.
            folder: What names are relative to.
            reserved: Standard output, if it was taken for one of them before anything was written to it.
        """
        self._folder = folder
        self._reserved = reserved
        named = ((row, getattr(settings, row.name)) for row in OUTPUTS)
        self._outputs = [
            Output(flag=row.flag, name=name, encode=_encoder(row.name)) for row, name in named if name is not None
        ]
        self._written: list[str] = []

    def check(self) -> None:
        """Refuse, before anything is measured, what could not be written afterwards.

        Raises:
            UsageError: A file cannot be written, or two of them are the same.
        """
        taken: dict[Path | None, Output] = {}
        for output in self._outputs:
            path = self._path(output)
            if path is None:
                self._standard_output(output)
            else:
                _check_file(path, output)
            other = taken.setdefault(path, output)
            if other is not output and (path is None or not is_special(path)):
                raise UsageError(
                    f"{other.option} and {output.option} would both write {words_for(output.name)}: name another file"
                )

    def write(self, content: Content) -> list[str]:
        """Write every file, and return a sentence for each that cannot be written."""
        problems = [self._problem_of_writing(output, content) for output in self._outputs]
        return [problem for problem in problems if problem]

    @property
    def unwritten(self) -> Sequence[str]:
        """Names of the files that were not written."""
        return [words_for(output.name) for output in self._outputs if output.name not in self._written]

    def partial_sentence(self, report: Report) -> str | None:
        """Report that the files contain only a part of the cases; None if they contain all, or there is no file."""
        finished, unfinished = sum(len(run.cases) for run in report.runs), report.pending
        if not unfinished or not self._written:
            return None
        names = " and ".join(map(words_for, self._written))
        return (
            f"{names} got {finished} of {counted(finished + unfinished, 'case')}: "
            "the session was ended before the others"
        )

    def _problem_of_writing(self, output: Output, content: Content) -> str | None:
        path, data = self._path(output), output.encode(content)
        try:
            if path is None:
                self._standard_output(output).write(data)
            else:
                write_file(path, data)
        except DevperfError as error:
            return f"NOT SAVED: {error}"
        self._written.append(output.name)
        return None

    def _path(self, output: Output) -> Path | None:
        """Return the path of a file; None for standard output."""
        return None if output.name == NAME else self._folder / expand_home(output.name, what=output.flag)

    def _standard_output(self, output: Output) -> DocumentOutput:
        """Return standard output.

        Raises:
            UsageError: It was not taken in time: the plugin was loaded after pytest had begun to capture.
        """
        if self._reserved is None:
            raise UsageError(
                f"{output.option} needs pytest-devperf to be loaded before conftest files are: "
                "install it, or load it with -p pytest_devperf.plugin"
            )
        return self._reserved


def _check_file(path: Path, output: Output) -> None:
    try:
        check_file(path)
    except StoreError as error:
        raise UsageError(f"{output.option}: {error}") from error
