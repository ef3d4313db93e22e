"""Read NVIDIA GPUs through NVML, if its Python binding is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """Readings of all GPUs at one moment."""

    util_pct: float | None = None
    """Share of the last sample period in which a kernel ran, on the busiest GPU."""
    used_mb: float | None = None
    """Memory in use on all GPUs."""
    temps_c: Mapping[str, float] = field(default_factory=dict)


class Gpu:
    """The GPUs of this machine; opened once because that takes tens of milliseconds.

    Args:
        nvml: The `pynvml` module, initialised.
    """

    def __init__(self, nvml: Any) -> None:  # noqa: ANN401 - a module without type information
        self._nvml = nvml
        self._handles: Sequence[Any] = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
        version = nvml.nvmlSystemGetDriverVersion()
        # Bindings before 11.5 return bytes.
        self.driver: str | None = f"NVIDIA {version.decode() if isinstance(version, bytes) else version}"

    def look(self) -> GpuReading:
        """Read use, memory and temperature; readings that a GPU does not support are left out."""
        nvml = self._nvml
        utils = [self._ask(lambda h: nvml.nvmlDeviceGetUtilizationRates(h).gpu, handle) for handle in self._handles]
        used = [self._ask(lambda h: nvml.nvmlDeviceGetMemoryInfo(h).used, handle) for handle in self._handles]
        temps = [
            self._ask(lambda h: nvml.nvmlDeviceGetTemperature(h, nvml.NVML_TEMPERATURE_GPU), handle)
            for handle in self._handles
        ]
        known = [value for value in used if value is not None]
        return GpuReading(
            util_pct=max((value for value in utils if value is not None), default=None),
            used_mb=sum(known) / 1e6 if known else None,
            temps_c={f"nvidia{i}": value for i, value in enumerate(temps) if value is not None},
        )

    def _ask(self, question: Any, handle: Any) -> float | None:  # noqa: ANN401 - a module without type information
        try:
            return float(question(handle))
        except self._nvml.NVMLError:
            return None


def open_gpu(nvml: Any) -> Gpu | None:  # noqa: ANN401 - a module without type information
    """Open the GPUs; return None without the driver or a GPU.

    Args:
        nvml: The `pynvml` module.
    """
    try:
        nvml.nvmlInit()
        gpu = Gpu(nvml)
    except nvml.NVMLError:
        return None
    return gpu if gpu._handles else None  # noqa: SLF001 - its own module
