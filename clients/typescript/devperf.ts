/**
 * Measures cases inside an app and reports them to devperf's collector (docs/wire.md).
 *
 * A single file without dependencies, for Node 18+, React Native, Deno and Electron. Copy it, or install this folder.
 *
 *     const run = await connect();             // null: the app was not started by devperf
 *     if (run) {
 *       await run.bench("sort", () => items.slice().sort());
 *       await run.bench("detect", (model) => model.detect(image), { load: () => Detector.create() });
 *       await run.end();
 *     }
 */

/** The parameters of this run, which devperf passes when it starts the app. */
export interface RunParameters {
  collector: string;
  token: string;
  run: string;
}

/** What to run, and which cases are done already. */
export interface Task {
  schema: string;
  run: string;
  rounds: number;
  iterations: number;
  warmup: number;
  only: string | null;
  done: string[];
  begun: string[];
}

export interface Value {
  value: number;
  unit: string;
  better?: "lower" | "higher";
}

/** Sizes in bytes. */
export interface Memory {
  baseline: number;
  peak: number;
  loaded?: number | null;
  disposed?: number | null;
}

export interface CaseReport {
  run: string;
  case: string;
  outcome: "passed" | "failed" | "skipped";
  reason?: string | null;
  load_ns?: number | null;
  rounds_ns?: Record<string, number[][]>;
  inner_loops?: number;
  values?: Record<string, Value>;
  memory?: Memory | null;
  facts?: Record<string, string | number | boolean | null>;
}

export interface Options<T> {
  /** Creates the workload; its time is the metric `load`, and its result is passed to the workload. */
  load?: () => T | Promise<T>;
  /** Disposes of the workload. */
  dispose?: (loaded: T) => void | Promise<void>;
  /** Called untimed before every iteration. */
  setup?: (loaded: T) => void | Promise<void>;
  /** Facts about the work: a different value next time makes the case incomparable. */
  facts?: CaseReport["facts"];
  /** Returns this app's memory in bytes. */
  residentBytes?: () => number;
}

/** A monotonic clock in ns with the highest resolution available. */
export type Clock = () => number;

const SCHEMA = "pytest-devperf-wire/1";

/** Steps of the clock in the shortest sample: one step is then 1 % of it. */
const LEAST_TICKS = 100;

/** Most calls timed together: a workload that the engine has optimised away never takes long enough. */
const MOST_LOOPS = 1 << 20;

/** Attempts to connect: the tunnel to the workstation may be restored in the meantime. */
const TRIES = 5;

/** Longest reason that is sent; the collector accepts 4000 characters. */
const LONGEST_REASON = 2000;

/** The collector refused a request; its message contains the reason and the next step. Retrying would not help. */
export class Refused extends Error {}

/** Read the parameters from the environment; null if devperf did not start the app. */
export function runParameters(
  environment: Record<string, string | undefined> = processEnvironment(),
): RunParameters | null {
  const { DEVPERF_COLLECTOR: collector, DEVPERF_TOKEN: token, DEVPERF_RUN: run } = environment;
  return collector && token && run ? { collector, token, run } : null;
}

/** Ask the collector for the task; null if devperf did not start the app. */
export async function connect(
  parameters: RunParameters | null = runParameters(),
  clock: Clock = finestClock(),
): Promise<Run | null> {
  if (parameters === null) return null;
  const task = (await request(parameters, "GET", "/v1/run")) as Task;
  if (task.schema !== SCHEMA) throw new Refused(`the collector speaks ${task.schema}, this client ${SCHEMA}: copy a newer devperf.ts`);
  return new Run(parameters, task, clock);
}

/** One run of the app under devperf. */
export class Run {
  private readonly reports: CaseReport[] = [];
  private readonly tickNs: number;
  readonly parameters: RunParameters;
  readonly task: Task;
  private readonly clock: Clock;

  constructor(parameters: RunParameters, task: Task, clock: Clock) {
    this.parameters = parameters;
    this.task = task;
    this.clock = clock;
    this.tickNs = tick(clock);
  }

  /** Measure a case and report it; skip a case that is done or not requested. */
  async bench<T = undefined>(name: string, work: (loaded: T) => unknown, options: Options<T> = {}): Promise<void> {
    if (!this.wanted(name)) return;
    const head = { run: this.parameters.run, case: name };
    if (this.task.begun.includes(name)) {
      return this.report({ ...head, outcome: "failed", reason: "the app died in this case when it ran before" });
    }
    await request(this.parameters, "POST", "/v1/begin", head);
    let report: CaseReport;
    try {
      report = { ...head, outcome: "passed", ...(await this.measure(work, options)) };
    } catch (error) {
      report = { ...head, outcome: "failed", reason: String(error).slice(0, LONGEST_REASON) };
    }
    await this.report(report);
  }

  /** Report a case that cannot run on this device. */
  async skip(name: string, reason: string): Promise<void> {
    if (this.wanted(name)) await this.report({ run: this.parameters.run, case: name, outcome: "skipped", reason });
  }

  /** Whether a case is requested and not done yet. */
  wanted(name: string): boolean {
    const { only, done } = this.task;
    return !done.includes(name) && (only === null || only === name);
  }

  /** Report a case that was measured in another way. */
  async report(report: CaseReport): Promise<void> {
    this.reports.push(report);
    await request(this.parameters, "POST", "/v1/cases", report);
  }

  /** Send all reports once more and end the run. */
  async end(reason: string | null = null): Promise<void> {
    await request(this.parameters, "POST", "/v1/end", { run: this.parameters.run, cases: this.reports, reason });
  }

  private async measure<T>(work: (loaded: T) => unknown, options: Options<T>): Promise<Partial<CaseReport>> {
    const { residentBytes } = options;
    const baseline = residentBytes?.();
    const begun = this.clock();
    const loaded = (await options.load?.()) as T;
    const loadNs = options.load ? Math.max(this.tickNs, this.clock() - begun) : null;
    const loadedBytes = residentBytes?.();
    let peak = Math.max(baseline ?? 0, loadedBytes ?? 0);
    for (let count = 0; count < this.task.warmup; count++) await this.once(work, loaded, options, 1);
    const loops = await this.loopsFor(work, loaded, options);
    const rounds: number[][] = [];
    for (let round = 0; round < this.task.rounds; round++) {
      const samples: number[] = [];
      for (let count = 0; count < this.task.iterations; count++) samples.push(await this.once(work, loaded, options, loops));
      rounds.push(samples);
      peak = Math.max(peak, residentBytes?.() ?? 0);
    }
    await options.dispose?.(loaded);
    const memory = baseline === undefined ? null : { baseline, loaded: loadedBytes ?? null, peak, disposed: residentBytes?.() ?? null };
    return { load_ns: loadNs, rounds_ns: { latency: rounds }, inner_loops: loops, memory, facts: options.facts ?? {} };
  }

  /** Time one iteration in ns. A synchronous call is not awaited: that would add a turn of the event loop. */
  private async once<T>(work: (loaded: T) => unknown, loaded: T, options: Options<T>, loops: number): Promise<number> {
    await options.setup?.(loaded);
    const clock = this.clock;
    const begun = clock();
    for (let count = 0; count < loops; count++) {
      const result = work(loaded);
      if (result instanceof Promise) await result;
    }
    return Math.max(this.tickNs, clock() - begun) / loops;
  }

  /** Choose how many calls are timed together; always one if there is a setup before every iteration. */
  private async loopsFor<T>(work: (loaded: T) => unknown, loaded: T, options: Options<T>): Promise<number> {
    if (options.setup) return 1;
    const enoughNs = LEAST_TICKS * this.tickNs;
    let loops = 1;
    while (loops < MOST_LOOPS && (await this.once(work, loaded, options, loops)) * loops < enoughNs) loops *= 2;
    return loops;
  }
}

async function request(
  parameters: RunParameters,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
): Promise<unknown> {
  for (let tries = 1; ; tries++) {
    let answer: Response;
    try {
      answer = await fetch(parameters.collector + path, {
        method,
        headers: { Authorization: `Bearer ${parameters.token}`, "Content-Type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      // The collector ignores reports that it has already, so sending again is safe.
      if (tries === TRIES) throw error;
      await new Promise((resume) => setTimeout(resume, 200 * tries));
      continue;
    }
    const read = (await answer.json()) as { error?: string };
    if (!answer.ok) throw new Refused(`devperf's collector refused ${method} ${path}: ${read.error ?? answer.status}`);
    return read;
  }
}

/** Measure the smallest step of a clock in ns. */
export function tick(clock: Clock): number {
  let least = Infinity;
  for (let count = 0; count < 50; count++) {
    const begun = clock();
    let now = begun;
    while (now === begun) now = clock();
    least = Math.min(least, now - begun);
  }
  return least;
}

interface Host {
  process?: { env?: Record<string, string | undefined>; hrtime?: { bigint?: () => bigint } };
  performance: { now(): number };
}

const host = globalThis as unknown as Host;

function processEnvironment(): Record<string, string | undefined> {
  return host.process?.env ?? {};
}

/** Return Node's clock in ns if there is one, else the browser's in fractions of a ms. */
export function finestClock(): Clock {
  const bigint = host.process?.hrtime?.bigint;
  if (bigint) {
    const zero = bigint();
    return () => Number(bigint() - zero);
  }
  return () => host.performance.now() * 1e6;
}
