"""The facts that a target reads from a model before it runs the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_devperf.errors import CaseError, Unsupported

if TYPE_CHECKING:
    from pytest_devperf.model_file.method import ModelMethods


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Methods and inputs of a model, and the software that will run it."""

    methods: tuple[str, ...] = ("forward",)
    """Methods that can be executed."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Methods that cannot, with the reason."""
    wanting: Mapping[str, str] = field(default_factory=dict)
    """Methods that need something, with what a test has to pass."""
    inputs: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Per input: `shape`, `dtype`, `sha256`."""
    model_sha256: str | None = None
    """Hash of the model's bytes, its external data included."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """`ep` and `sdk` that will run the model."""

    def require_method(self) -> None:
        """Refuse a model without a method that can be executed.

        Raises:
            CaseError: The test has to pass something first.
            Unsupported: No method can be executed, whatever the test passes.
        """
        if self.methods:
            return
        if self.wanting:
            raise CaseError(_join_reasons(self.wanting))
        raise Unsupported(_join_reasons(self.skipped) or "the model has no method that can be executed")


def survey_of(methods: ModelMethods, *, model_sha256: str, env: Mapping[str, str | None]) -> Survey:
    """Create the survey of a model from its methods and their inputs."""
    return Survey(
        methods=methods.ready,
        skipped=methods.skipped,
        wanting=methods.wanting,
        inputs=methods.describe_inputs(),
        model_sha256=model_sha256,
        env=env,
    )


def _join_reasons(reasons: Mapping[str, str]) -> str:
    """Join reasons; if there are several, put the name of its method before each."""
    if len(reasons) == 1:
        return next(iter(reasons.values()))
    return "; ".join(f"{method}: {reason}" for method, reason in reasons.items())
