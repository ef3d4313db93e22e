"""Real git repositories for tests."""

from __future__ import annotations

import os
import subprocess
import textwrap
from collections.abc import Mapping
from pathlib import Path

NOBODY = {
    "GIT_AUTHOR_NAME": "Somebody",
    "GIT_AUTHOR_EMAIL": "somebody@example.org",
    "GIT_COMMITTER_NAME": "Somebody",
    "GIT_COMMITTER_EMAIL": "somebody@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Repository:
    """A git repository in a folder, with nothing in it yet."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.path, env=os.environ | NOBODY, capture_output=True, text=True, check=True
        )
        return done.stdout

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))

    def commit(self, name: str, files: Mapping[str, str]) -> None:
        """Commit these files, and give the commit a name."""
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", name)
        self.git("tag", name)
