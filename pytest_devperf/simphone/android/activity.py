"""The commands that manage apps: `am`, `pm` and `cmd package`, `monkey`, `pidof`, `logcat`."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_devperf.simphone.android.request import FAILED, Request, Response

ACTIVITY = ".MainActivity"
"""The only activity of every simulated app."""

_EXTRAS = {"--es", "-e", "--ei", "--el", "--ef", "--ez", "--eu"}
"""Options of `am start` followed by a name and a value."""

_WITH_VALUE = {"-a", "-c", "-d", "-f", "-t", "--user", "--display"}
"""Options of `am start` followed by one word."""


def am(request: Request) -> Response:
    """Start or stop an app."""
    verb, words = (request.words[0], request.words[1:]) if request.words else ("", ())
    if verb in {"start", "start-activity"}:
        return _start(request, words)
    if verb == "force-stop" and words:
        return Response(stop=words[-1])
    if verb in {"kill", "kill-all", "broadcast", "wait-for-broadcast-idle"}:
        return Response()
    return Response(err=f"Unknown command: {verb}\n", code=FAILED)


def _start(request: Request, words: tuple[str, ...]) -> Response:
    name, extras, fresh = _parse_intent(words)
    app = name.partition("/")[0]
    out = f"Starting: Intent {{ cmp={app}/{ACTIVITY}{' (has extras)' if extras else ''} }}\n"
    if app not in request.apps:
        # Real phones print this error and return 0 or 1, depending on their age: only the text is reliable.
        error = f"Error type 3\nError: Activity class {{{name}}} does not exist.\n"
        return Response(out=out, err=error, code=1)
    if request.apps[app] and not fresh:
        return Response(out=out, err="Warning: Activity not started, its current task has been brought to the front\n")
    return Response(out=out, launch=app, extras=extras, stop=app if fresh else None)


def _parse_intent(words: tuple[str, ...]) -> tuple[str, Mapping[str, str], bool]:
    """Parse the arguments of `am start`: component or package, extras, and whether to stop a running app first."""
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


def monkey(request: Request) -> Response:
    """Start an app by its package name, as scripts do with `monkey -p PACKAGE 1`."""
    words = request.words
    app = words[words.index("-p") + 1] if "-p" in words[:-1] else ""
    if app not in request.apps:
        return Response(out="** No activities found to run, monkey aborted.\n", code=252)
    return Response(out="Events injected: 1\n", launch=None if request.apps[app] else app)


def package(request: Request) -> Response:
    """List installed packages. An APK is accepted and discarded: `SimPhone.install_app` installs apps."""
    verb, words = (request.words[0], request.words[1:]) if request.words else ("", ())
    named = words[-1] if words else ""
    if verb in {"install", "install-create", "install-commit", "uninstall"}:
        return Response(out="Success\n")
    if verb == "list":
        wanted = named if named != "packages" and not named.startswith("-") else ""
        return Response(out="".join(f"package:{app}\n" for app in sorted(request.apps) if wanted in app))
    if verb == "path":
        return Response(out=f"package:/data/app/{named}/base.apk\n") if named in request.apps else Response(code=1)
    if verb == "resolve-activity":
        return Response(out=f"priority=0\n{named}/{ACTIVITY}\n" if named in request.apps else "No activity found\n")
    return Response(err=f"Unknown command: {verb}\n", code=FAILED)


def pidof(request: Request) -> Response:
    """Print an app's process ids."""
    pids = request.apps.get(request.words[-1] if request.words else "", ())
    return Response(out=" ".join(map(str, pids)) + "\n") if pids else Response(code=1)


def logcat(request: Request) -> Response:
    """Print or clear the log; ends at the end of the log, as with `-d`."""
    if "-c" in request.words:
        return Response(logged=())
    return Response(out="".join(f"{line}\n" for line in ("--------- beginning of main", *request.log)))


def log(request: Request) -> Response:
    """Append a line to the log."""
    words = list(request.words)
    tag, level = "log", "I"
    while words and words[0] in {"-t", "-p"} and len(words) > 1:
        option, value = words.pop(0), words.pop(0)
        tag, level = (value, level) if option == "-t" else (tag, value.upper())
    return Response(logged=(*request.log, f"{level} {tag}: {' '.join(words)}"))
