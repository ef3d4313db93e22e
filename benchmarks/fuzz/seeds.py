"""What each parser reads in real life: the beginnings that are damaged."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from pytest_devperf.record.codec import encode
from pytest_devperf.record.derived import derive
from pytest_devperf.record.record import (
    Change,
    Comparison,
    Confirmation,
    DeviceRecord,
    Document,
    Measurement,
    Record,
    Run,
    WorkloadRecord,
)
from pytest_devperf.sensor.run_context import ClockState, RunContext
from pytest_devperf.session.launch.handover import HANDOVER_VERSION
from pytest_devperf.simphone import PERSONALITIES
from pytest_devperf.simphone.adb.wire import Packet
from pytest_devperf.simphone.android import dumps
from pytest_devperf.simphone.state.physics import State

IMPORTS = (
    json.dumps(
        {
            "machine_info": {"machine": "x86_64", "system": "Linux", "python_version": "3.11.7",
                             "cpu": {"brand_raw": "AMD EPYC", "count": 2}},
            "commit_info": {"id": "1f2e", "dirty": False, "branch": "main"},
            "benchmarks": [
                {"group": "sort", "name": "test_sort", "fullname": "test_it.py::test_sort", "extra_info": {"rows": 3},
                 "stats": {"data": [1.25e-06, 1.5e-06, 1.75e-06], "iterations": 10}},
                {"group": None, "name": "test_sum", "fullname": "test_it.py::test_sum", "extra_info": {},
                 "stats": {"data": [0.25], "iterations": 1}},
            ],
            "datetime": "2026-11-29T20:15:03.123456+00:00",
            "version": "5.3.1",
        }
    ),
)  # fmt: skip
"""Files that can be imported and that no reader reads."""

TOOLS: Mapping[str, tuple[str, ...]] = {
    "lines": ("1200\n1180\n", "1\n\n2\r\n"),
    "json-lines": (
        'log\n{"ns": 1200}\n{"ns": 300, "metric": "decode"}\n{"load_ns": 5000}\n{"peak_bytes": 4096}\n'
        '{"metric": "boxes", "value": 12, "unit": "1", "better": "higher"}\n',
    ),
    "benchmark_model": (
        "INFO: Inference timings in us: Init: 912, First inference: 1404, Warmup (avg): 1.02e+03, "
        "Inference (avg): 801.25\nINFO: Memory footprint delta from the start of the tool (MB): init=1.25 overall=3.5\n"
        "INFO: Overall peak memory footprint (MB) via periodic monitoring: 12.25\n",
    ),
    "onnxruntime_perf_test": (
        "Session creation time cost: 0.0125 s\nFirst inference time cost: 3 ms\n"
        "Average inference time cost: 1.0333 ms\nPeak working set size: 20971520 bytes\n"
        "mini,0.001,20971520,98,0\nmini,0.0011,20971520,98,1\n\nMin Latency: 0.001 s\n",
    ),
    "google-benchmark": (
        json.dumps(
            {
                "context": {"num_cpus": 4},
                "benchmarks": [
                    {"name": "BM_A", "run_name": "BM_A", "run_type": "iteration", "family_index": 0,
                     "per_family_instance_index": 0, "repetition_index": 0, "real_time": 5.5, "time_unit": "us",
                     "items_per_second": 5e5},
                    {"name": "BM_A_mean", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 5.5},
                    {"name": "BM_B", "skipped": True, "skip_message": "no GPU"},
                ],
            },
            indent=1,
        ),
    ),
    "llama-bench": (
        json.dumps(
            [
                {"n_prompt": 512, "n_gen": 0, "avg_ns": 5, "samples_ns": [4, 6], "avg_ts": 100.0},
                {"n_prompt": 0, "n_gen": 128, "n_depth": 256, "avg_ns": 50},
            ]
        ),
        '{"n_prompt": 512, "avg_ns": 5}\n{"n_gen": 128, "samples_ns": [4]}\n',
    ),
    "benchncnn": (
        "loop_count = 4\n          squeezenet  min =    3.60  max =    3.70  avg =    3.64\n"
        "  FastestDet plus one min =   11.00  max =   13.00  avg =   12.50\n",
    ),
    "mnn": (
        "--------> Benchmarking... loop = 10, warmup = 5\n"
        "[ - ] squeezenet.mnn              max =   43.952 ms  min =   40.742 ms  avg =   41.500 ms\n"
        "[ - ] nasnet.mnn                  max =   43.952ms  min =   40.742ms  avg =   14.250ms\n",
    ),
    "executor_runner": (
        "I 00:00:00.1 executorch:executor_runner.cpp:1] Model loaded in 3.5 ms\nIteration 1 of 2: 1.25 ms\n"
        "Iteration 2 of 2: 1.5 ms\nModel executed successfully 2 time(s) in 2.75 ms.\n",
    ),
    "androidx": (
        json.dumps(
            {
                "context": {"build": {"model": "x"}},
                "benchmarks": [
                    {"name": "sort", "className": "a.B", "metrics": {"timeNs": {"runs": [5.0, 6.0]},
                     "allocationCount": {"runs": [1.0]}},
                     "sampledMetrics": {"frameDurationCpuMs": {"runs": [[1.0, 2.0], [3.0]]}}},
                ],
            }
        ),
    ),
    "trtexec": (json.dumps([{"latencyMs": 2.5, "computeMs": 2.0, "h2dMs": 0.5, "d2hMs": 0.0}] * 2),),
    "hyperfine": (
        json.dumps(
            {
                "results": [
                    {"command": "a", "mean": 1.0, "times": [1.0, 1.1], "exit_codes": [0, 0],
                     "memory_usage_byte": [100, 200], "parameters": {"size": "1"}},
                    {"command": "a", "mean": 2.0, "parameters": {"size": "9"}},
                ]
            }
        ),
    ),
}  # fmt: skip

CAPTURED = Path(__file__).parents[2] / "tests" / "captured" / "data"
"""Outputs of real phones and tools."""


def captured(pattern: str) -> tuple[str, ...]:
    """Read outputs of real phones and tools."""
    return tuple(path.read_text(encoding="utf-8") for path in sorted(CAPTURED.glob(pattern)))


OPERATORS = (
    "Operator-wise Profiling Info for Regular Benchmark Runs:\n"
    "============================== Run Order ==============================\n"
    "\t  [node type]\t [start]\t [first]\t [avg ms]\t [%]\t [cdf%]\t [mem KB]\t[times called]\t[Name]\n"
    "\t  CUSTOM OP\t 0.610\t 0.300\t 0.250\t 20.000%\t 68.000%\t 0.000\t 0\t[net/a, net/b]:1\n"
    "\n============================== Top by Computation Time ==============================\n",
    "INFO: Operator-wise Profiling Info for Regular Benchmark Runs:\n"
    "============================== Run Order ==============================\n"
    "    [node type]    [first]   [avg ms]      [%]   [cdf%]   [mem KB]   [times called]  [Name]\n"
    " Softmax (NC, F32)      0.420      0.050   4.300%   5.600%      0.000   13  Delegate/Softmax (NC, F32):1\n",
)
"""Tables of benchmark_model, with and without the start of each operator."""

CAPTURED_TOOLS: Mapping[str, str] = {
    "google-benchmark": "tools/google_benchmark.json",
    "llama-bench": "tools/llama_bench.json",
    "benchncnn": "tools/ncnn_*.txt",
    "executor_runner": "tools/executorch_*.txt",
    "androidx": "androidx/*.json",
}

HELP = "Flags:\n\t--graph=\tstring\n    -num_executions (Number of times) type: int32\nWARNING: --num_runs=50 \tint32\n"

CPU_STAT = "cpu  10132153 290696 3084719 46828483 16683 0 25195 0 175628 0\ncpu0 1393280 32966 572056 13343292\n"
MEMINFO = "MemTotal:        7640000 kB\nMemFree:          123456 kB\nMemAvailable:    3456789 kB\n"
STATUS = "Name:\tpython\nVmHWM:\t   12345 kB\nVmRSS:\t   12000 kB\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3,6\n"
PRESSURE = "some avg10=1.25 avg60=0.50 avg300=0.10 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
CGROUP = "0::/user.slice/app.scope\n4:cpu,cpuacct:/docker/0123\n1:name=systemd:/\n"
CPUINFO = "processor\t: 0\nmodel name\t: Example CPU @ 2.00GHz\n\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
THERM = "  CPU_Scheduler_Limit = 100\n  CPU_Available_CPUs = 8\n  CPU_Speed_Limit = 64\n"
BATT = "Now drawing from 'AC Power'\n -InternalBattery-0 (id=1234)\t81%; charging; 0:40 remaining present: true\n"
POWERCFG = "Power Scheme GUID: 381b4222-f694-41f0-9685-ff5bb260df2e  (Balanced)\r\n"
GIT_STATUS = "# branch.oid 1f2e3d\n# branch.head main\n1 .M N... 100644 100644 100644 a b x.py\n"
DF = "Filesystem       1K-blocks     Used Available Use% Mounted on\n/dev/block/dm-44 100 60 40 60% /data\n"
END = (
    "@@times\n0m0.00s 0m0.01s\n0m1.50s 0m0.25s\n@@caps\npolicy0 1800000 policy4 2400000\n@@peak 12345\n@@pid 4711\n"
    '@@anchors\n{"anchor_ns": [5000, 5012]}\n\n@@rc 0\n'
)
JOURNAL = (
    "pinned=true\nstay_on=7\nheld=policy0:300000-1800000 policy4:500000-2400000\nholder=4711 1234567 0f1c-22\n"
    "host=0123456789ab\npid=12\n"
)
LISTING = "now 1700000000\n1699990000 123456 " + "0f" * 32 + "\n1600000000 99 " + "ab" * 32 + "\n"
STAMPS = "1700000000.250000 1700000001.000000"
LINK_PACKET = Packet(b"WRTE", 1, 2, b"hello").encode() + Packet(b"OKAY", 1, 2).encode()
ANSWER = (
    '{"ns": [120, 118.5], "anchor_ns": [5000], "cpu_ns": 9, "wall_ns": 12, "waited_ns": null, "slept_ns": 0, '
    '"watched": [{"name": "policy0", "least": 1800000}]}',
    '{"runner": 3, "anchor": "a", "tick_ns": 1, "pid": 7, "version": "1.20", "load_ns": 5000000}',
    '{"error": {"stage": "load", "text": "no such file"}}',
    '{"baseline": 1000, "loaded": 2000, "peak": 3000, "disposed": null}',
    '{"outputs": [{"name": "y", "kind": "tensor", "dtype": "float32", "shape": [1, 2], "file": "./output0.raw"}]}',
)
DEVICES_L = (
    b"OKAY00a5emulator-5554          device product:sdk model:sdk_gphone64 device:emu64a transport_id:1\n"
    b"0123456789ABCDEF       unauthorized usb:1-1 transport_id:2\n",
)
XCODE = json.dumps(
    {
        "info": {"outcome": "success"},
        "result": {
            "devices": [
                {
                    "identifier": "ID-1",
                    "hardwareProperties": {
                        "platform": "iOS",
                        "marketingName": "iPhone 15",
                        "productType": "iPhone15,4",
                    },
                    "deviceProperties": {"osVersionNumber": "17.4", "osBuildUpdate": "21E219"},
                    "connectionProperties": {"tunnelState": "connected"},
                }
            ]
        },
    }
)
REPORT = {
    "run": "r1",
    "case": "sort",
    "outcome": "passed",
    "load_ns": 5000,
    "rounds_ns": {"latency": [[1.5, 2], [3]]},
    "inner_loops": 1,
    "values": {"boxes": {"value": 12, "unit": "1"}},
    "memory": {"baseline": 1, "loaded": 2, "peak": 3},
    "facts": {"size": 3, "name": "x"},
}
REQUESTS = tuple(
    f"{verb} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    for verb, body in (
        ("GET /v1/run", ""),
        ("POST /v1/begin", json.dumps({"run": "r1", "case": "sort"})),
        ("POST /v1/cases", json.dumps(REPORT)),
        ("POST /v1/end", json.dumps({"run": "r1", "cases": [REPORT]})),
    )
)
HELLO = '{"secret": "ssss", "side": "old"}\n'
PROBED = 'a warning\n{"python": "3.12.1", "pytest": "8.2.0", "devperf": "0.1.0", "handover": 2}\n'
HANDOVER = json.dumps(
    {
        "version": HANDOVER_VERSION,
        "parent_pid": 1,
        "args": ["-q"],
        "sys_path": None,
        "output": "/tmp/x",
        "basetemp": "/tmp/y",
        "process": 1,
        "role": "rounds",
        "shuffle_seed": 7,
        "surroundings": {"identity": None, "providers": ["CPUExecutionProvider"], "affinity": None, "use_anchor": True},
        "turns": None,
        "wanted": [
            {
                "index": 0,
                "path": "/x.py",
                "nodeid": "x.py::t",
                "nth": 0,
                "case": {"id": "x.py::t", "memory": False, "plan": {"rounds": 12}},
                "start_plans": {},
            }
        ],
    }
)
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@lru_cache(maxsize=1)
def phone_dumps() -> Mapping[str, tuple[str, ...]]:
    """What phones of every family print, by the probe that asks for it."""
    state = State()
    people = tuple(PERSONALITIES.values())
    return {
        "thermal": tuple(dumps.format_thermalservice(person, state) for person in people)
        + captured("thermalservice/*.txt"),
        "battery": tuple(dumps.format_battery(person, state) for person in people) + captured("battery/*.txt"),
        "power": (dumps.format_power(state),),
        "properties": tuple(
            dumps.format_getprop(dumps.properties(person, state, "SERIAL")) for person in people[:2]
        ),
        "clocks": ("policy0 scaling_cur_freq 1804800\npolicy0 scaling_max_freq 1980000\npolicy0 related_cpus 0 1 2 3\n"
                   "policy0 scaling_governor schedutil\npolicy4 cpuinfo_max_freq 2400000\n",),
        "zones": ("cpu-0-0-usr\t45300\nbattery\t310\nsoc\t82\nskin-therm\t38.5\n",),
    }  # fmt: skip


def look() -> str:
    """One whole look at a phone: every probe's answer between its marks."""
    probes = {**{name: texts[0] for name, texts in phone_dumps().items()}, "memory": MEMINFO, "load": CPU_STAT}
    probes.pop("properties")
    return "".join(f"@@{name}\n{text}\n@@rc 0\n" for name, text in probes.items()) + "@@END\n"


@lru_cache(maxsize=1)
def document() -> bytes:
    """Write a run document in which every kind of metric and comparison stands."""
    rows = tuple(tuple(float(1000 + 7 * r + i) for i in range(5)) for r in range(6))
    timed = derive(
        Measurement(
            name="latency", unit="ms", main=True, process=(0, 0, 1, 1, 2, 2), inner_loops=1, samples_ns=rows,
            anchor_ns=(50.0,) * 6, confirmation=Confirmation(process=(3, 3), samples_ns=rows[:2]),
        )
    )  # fmt: skip
    sized = derive(
        Measurement(
            name="peak_memory", unit="MiB", kind="memory", process=(1, 2, 3), samples=((10.0,), (11.0,), (10.5,))
        )
    )
    change = Change(metric="latency", verdict="regressed", baseline=1.0, candidate=1.2, delta=0.2, delta_pct=20.0)
    record = Record(
        id="test_a.py::test_a",
        workload=WorkloadRecord(fingerprint="w", kind="call", facts={"n": 1}),
        cautions=("low-battery",),
        metrics=(timed, sized),
        comparison=Comparison(verdict="regressed", baseline_runs=("r1",), changes=(change,)),
        processes=3,
    )
    run = Run(
        id="r1",
        label="main",
        generation="2026-11-29T20:15:03Z",
        taken_at="2026-11-29T20:15:03Z",
        devperf_version="0.1.0",
        device=DeviceRecord(fingerprint="0123456789ab", kind="host", model="Board", cores=8),
        settings={"rounds": 12},
        run_context=RunContext(temp_start_c=31.0, clock_state=ClockState(max_khz={"policy0": 1_980_000})),
        cases=(record,),
    )
    return encode(Document(runs=(run,)))


def archive() -> bytes:
    """Write an archive as onnxruntime-android is one."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("AndroidManifest.xml", b"<manifest/>")
        packed.writestr("jni/arm64-v8a/libonnxruntime.so", b"\x7fELF\x02\x01" + bytes(12) + b"\xb7\x00" + bytes(300))
    return data.getvalue()


def _program() -> bytes:
    """Lay out an ELF file of 64 bits that names its loader, one library and where to look for it."""
    strings = b"\0libc.so.6\0$ORIGIN/lib\0"
    loader = b"/lib64/ld-linux.so\0"
    at = 64 + 3 * 56
    texts_at = at + 4 * 16
    headers = (
        (1, 0, 0, 0, 0, 4096, 4096, 0),
        (3, 0, texts_at + len(strings), 0, 0, len(loader), len(loader), 0),
        (2, 0, at, at, 0, 64, 64, 0),
    )
    entries = ((1, 1), (29, 11), (5, texts_at), (0, 0))
    head = b"\x7fELF\x02\x01\x01" + bytes(25) + struct.pack("<Q", 64) + bytes(14) + struct.pack("<HH", 56, 3)
    rows = b"".join(struct.pack("<IIQQQQQQ", *each) for each in headers)
    return head.ljust(64, b"\0") + rows + b"".join(struct.pack("<QQ", *each) for each in entries) + strings + loader


PROGRAM = _program()

ELF = b"\x7fELF\x02\x01\x01" + bytes(11) + b"\xb7\x00" + bytes(20)

PACKETS = (
    b"\x01\x05\x00\x00\x00line\n\x02\x03\x00\x00\x00err\x01\x04\x00\x00\x00rest\x03\x01\x00\x00\x00\x00",
    b"\x01\x06\x00\x00\x00a\nb\r\nc\x03\x01\x00\x00\x00\x07",
)
SYNC = (b"DATA\x04\x00\x00\x00abcdDATA\x02\x00\x00\x00efDONE\x00\x00\x00\x00", b"FAIL\x05\x00\x00\x00nope!")


def as_json(value: object) -> str:
    """Spell a value as JSON."""
    return json.dumps(value)


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b85decode(text))


LITERT = _unpacked(
    "c-oCoF%E)25FCV%3lKs<VL`zYOtkU=R+jXd2#J-p&|6yi3?JgJ&bhlixflzVOqSi9S(e=fK)2hkYb;TtLcv(USi%?<H{wn_BOs=yBhy%B6^h)9"
    "Q6c;dkrKn@bnOSncYPgKNsmPQgqdTMhLZ;MG2lP6){%S%C_hshO)2??I1)W^{xOT!*7iRN<bjr!SMr|N$7u`}m@NtbsdX~ri!=INv{GYA$97|W"
    "mcz7Nxti$_TYe=wP}0@i;E!J8cdzh9{+^lS-_ZRfL;"
)
"""A .tflite file of one signature, 500 bytes."""

EXECUTORCH = _unpacked(
    "c-noEFHZwO5XE2juG?*?Sgx1mL`4Mx3#qC?KvIc7VlFw5lr$w+Boe`AK=VNmNInc<dApsK36x&)ZfF1f-rUSp0M0Isjy+07p6bIPPf^r?(kO(G"
    "b8KPz6W2#68sd;Q#++5;dSMQQGZ9@<Z`3>WL46WX8o(&#!!LgHpL~VjQl>yg&F_}za;%qEH`8g|G;-FbTfL2cPwt#jGsS!2cX_dJaB0=aUR!w^"
    "@yleM;V0MDKWn*s<1KYA{*LcG@o=l7?H9?R+SCv>*84<x$H1sOp1B`+FqXs|R`uqUdsQMA?7%?!ij+|ywb5RWJU`yy<ygJ0<h<q<*#E;VHP_ly"
    "ce|6j>dm?q{Vo4hhq|6G?(0Q^ZytUzD*"
)
"""A .pte file of one method, 688 bytes."""

ONNX = _unpacked("c-rIOuuA7r(^4@~(o*1H7GQK@E!RuR%*ztw;>gKQPAtjH&l7?O6);8#b1_y3@p18RFbZ*SF>x>gF*8W85?wF}n;-!0L=MC")
"""An .onnx file with a graph in a graph and external data, 107 bytes."""
