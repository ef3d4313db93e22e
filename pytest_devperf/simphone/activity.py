"""The commands around apps: `am`, `pm` and `cmd package`, `monkey`, `pidof`, `logcat`."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_devperf.simphone.asked import FAILED, Answer, Asked

ACTIVITY = ".MainActivity"
"""The one activity that every simulated app has."""

_EXTRAS = {"--es", "-e", "--ei", "--el", "--ef", "--ez", "--eu"}
"""Options of `am start` that take a name and a value."""

_WITH_VALUE = {"-a", "-c", "-d", "-f", "-t", "--user", "--display"}
"""Options of `am start` that take one word."""


def am(asked: Asked) -> Answer:
    """Start or end an app."""
    verb, words = (asked.words[0], asked.words[1:]) if asked.words else ("", ())
    if verb in {"start", "start-activity"}:
        return _start(asked, words)
    if verb == "force-stop" and words:
        return Answer(stop=words[-1])
    if verb in {"kill", "kill-all", "broadcast", "wait-for-broadcast-idle"}:
        return Answer()
    return Answer(err=f"Unknown command: {verb}\n", code=FAILED)


def _start(asked: Asked, words: tuple[str, ...]) -> Answer:
    name, extras, fresh = _parse_intent(words)
    app = name.partition("/")[0]
    out = f"Starting: Intent {{ cmp={app}/{ACTIVITY}{' (has extras)' if extras else ''} }}\n"
    if app not in asked.apps:
        # Real ones print this error and return 0 or 1, depending on their age: the text tells.
        error = f"Error type 3\nError: Activity class {{{name}}} does not exist.\n"
        return Answer(out=out, err=error, code=1)
    if asked.apps[app] and not fresh:
        return Answer(out=out, err="Warning: Activity not started, its current task has been brought to the front\n")
    return Answer(out=out, launch=app, extras=extras, stop=app if fresh else None)


def _parse_intent(words: tuple[str, ...]) -> tuple[str, Mapping[str, str], bool]:
    """Read `am start`'s words: component or package, extras, and whether a running one ends first."""
    left = list(words)
    name, extras, fresh = "", {}, False
    while left:
        word = left.pop(0)
        if word in _EXTRAS and len(left) > 1:
            key = left.pop(0)
            extras[key] = left.pop(0)
        elif word in _WITH_VALUE and left:
            left.pop(0)
        elif word in {"-n", "-p"} and left:
            name = left.pop(0)
        elif word == "-S":
            fresh = True
        elif not word.startswith("-"):
            name = word
    return name, extras, fresh


def monkey(asked: Asked) -> Answer:
    """Start an app by its package alone, as scripts use `monkey -p PACKAGE 1`."""
    words = asked.words
    app = words[words.index("-p") + 1] if "-p" in words[:-1] else ""
    if app not in asked.apps:
        return Answer(out="** No activities found to run, monkey aborted.\n", code=252)
    return Answer(out="Events injected: 1\n", launch=None if asked.apps[app] else app)


def package(asked: Asked) -> Answer:
    """Tell what is installed. An APK is taken and thrown away: apps are installed by `SimPhone.install_app`."""
    verb, words = (asked.words[0], asked.words[1:]) if asked.words else ("", ())
    named = words[-1] if words else ""
    if verb in {"install", "install-create", "install-commit", "uninstall"}:
        return Answer(out="Success\n")
    if verb == "list":
        wanted = named if named != "packages" and not named.startswith("-") else ""
        return Answer(out="".join(f"package:{app}\n" for app in sorted(asked.apps) if wanted in app))
    if verb == "path":
        return Answer(out=f"package:/data/app/{named}/base.apk\n") if named in asked.apps else Answer(code=1)
    if verb == "resolve-activity":
        return Answer(out=f"priority=0\n{named}/{ACTIVITY}\n" if named in asked.apps else "No activity found\n")
    return Answer(err=f"Unknown command: {verb}\n", code=FAILED)


def pidof(asked: Asked) -> Answer:
    """Tell an app's process ids."""
    pids = asked.apps.get(asked.words[-1] if asked.words else "", ())
    return Answer(out=" ".join(map(str, pids)) + "\n") if pids else Answer(code=1)


def logcat(asked: Asked) -> Answer:
    """Show or clear the log; it ends after what there is, as with `-d`."""
    if "-c" in asked.words:
        return Answer(logged=())
    return Answer(out="".join(f"{line}\n" for line in ("--------- beginning of main", *asked.log)))


def log(asked: Asked) -> Answer:
    """Write a line into the log."""
    words = list(asked.words)
    tag, level = "log", "I"
    while words and words[0] in {"-t", "-p"} and len(words) > 1:
        option, value = words.pop(0), words.pop(0)
        tag, level = (value, level) if option == "-t" else (tag, value.upper())
    return Answer(logged=(*asked.log, f"{level} {tag}: {' '.join(words)}"))
