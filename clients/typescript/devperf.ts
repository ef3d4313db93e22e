/**
 * Measures cases inside an app and reports them to devperf's collector (docs/wire.md).
 *
 * One file without dependencies, for Node 18+, React Native, Deno, Electron. Copy it, or install this folder.
 *
 *     const run = await connect();             // null: the app was not started by devperf
 *     if (run) {
 *       await run.bench("sort", () => items.slice().sort());
 *       await run.bench("detect", (model) => model.detect(image), { load: () => Detector.create() });
 *       await run.end();
 *     }
 */

/** What the app was told when it was started. */
export interface Told {
  collector: string;
  token: string;
  run: string;
}

/** What the app is asked to do, and what of it is done already. */
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
  /** Brings the workload up; its time is the metric `load`, its result is given to the workload. */
  load?: () => T | Promise<T>;
  /** Takes the workload down. */
  dispose?: (loaded: T) => void | Promise<void>;
  /** Runs untimed before every iteration. */
  setup?: (loaded: T) => void | Promise<void>;
  /** Facts of the work done: another value next time makes the case incomparable. */
  facts?: CaseReport["facts"];
  /** Reads this app's memory in bytes. */
  residentBytes?: () => number;
}

/** A monotonic clock in ns: the finest there is. */
export type Clock = () => number;

const SCHEMA = "pytest-devperf-wire/1";

/** A sample lasts at least so many steps of the clock, so that a step is 1 % of it. */
const LEAST_TICKS = 100;

/** Calls timed together at most: a workload that the engine has optimised away takes no time however often it runs. */
const MOST_LOOPS = 1 << 20;

/** Tries of a connection that fails: the tunnel to the workstation may be set up anew meanwhile. */
const TRIES = 5;

/** Longest reason that is sent; the collector takes 4000 characters. */
const LONGEST_REASON = 2000;

/** The collector refused: its sentence says why and what to do; trying again would not help. */
export class Refused extends Error {}

/** Read what the app was told from the environment; null where devperf did not start it. */
export function told(environment: Record<string, string | undefined> = processEnvironment()): Told | null {
  const { DEVPERF_COLLECTOR: collector, DEVPERF_TOKEN: token, DEVPERF_RUN: run } = environment;
  return collector && token && run ? { collector, token, run } : null;
}

/** Ask the collector for the task; null where devperf did not start the app. */
export async function connect(by: Told | null = told(), clock: Clock = finestClock()): Promise<Run | null> {
  if (by === null) return null;
  const task = (await request(by, "GET", "/v1/run")) as Task;
  if (task.schema !== SCHEMA) throw new Refused(`the collector speaks ${task.schema}, this client ${SCHEMA}: copy a newer devperf.ts`);
  return new Run(by, task, clock);
}

/** One run of the app under devperf. */
export class Run {
  private readonly reports: CaseReport[] = [];
  private readonly tickNs: number;
  readonly told: Told;
  readonly task: Task;
  private readonly clock: Clock;

  constructor(by: Told, task: Task, clock: Clock) {
    this.told = by;
    this.task = task;
    this.clock = clock;
    this.tickNs = tick(clock);
  }

  /** Measure a case and report it; a case that is done, or not asked for, is left out. */
  async bench<T = undefined>(name: string, work: (loaded: T) => unknown, options: Options<T> = {}): Promise<void> {
    if (!this.wanted(name)) return;
    const head = { run: this.told.run, case: name };
    if (this.task.begun.includes(name)) {
      return this.report({ ...head, outcome: "failed", reason: "the app died in this case when it ran before" });
    }
    await request(this.told, "POST", "/v1/begin", head);
    let report: CaseReport;
    try {
      report = { ...head, outcome: "passed", ...(await this.measure(work, options)) };
    } catch (error) {
      report = { ...head, outcome: "failed", reason: String(error).slice(0, LONGEST_REASON) };
    }
    await this.report(report);
  }

  /** Report a case that cannot run here. */
  async skip(name: string, reason: string): Promise<void> {
    if (this.wanted(name)) await this.report({ run: this.told.run, case: name, outcome: "skipped", reason });
  }

  /** Whether a case is asked for and not done yet. */
  wanted(name: string): boolean {
    const { only, done } = this.task;
    return !done.includes(name) && (only === null || only === name);
  }

  /** Report a case that was measured otherwise. */
  async report(report: CaseReport): Promise<void> {
    this.reports.push(report);
    await request(this.told, "POST", "/v1/cases", report);
  }

  /** Tell everything once more and end the run. */
  async end(reason: string | null = null): Promise<void> {
    await request(this.told, "POST", "/v1/end", { run: this.told.run, cases: this.reports, reason });
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

  /** Time one iteration in ns. A synchronous call is not awaited: that alone would cost a turn of the event loop. */
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

  /** Choose how many calls are timed together; with a setup before every iteration it is always one. */
  private async loopsFor<T>(work: (loaded: T) => unknown, loaded: T, options: Options<T>): Promise<number> {
    if (options.setup) return 1;
    const enoughNs = LEAST_TICKS * this.tickNs;
    let loops = 1;
    while (loops < MOST_LOOPS && (await this.once(work, loaded, options, loops)) * loops < enoughNs) loops *= 2;
    return loops;
  }
}

async function request(by: Told, method: "GET" | "POST", path: string, body?: unknown): Promise<unknown> {
  for (let tries = 1; ; tries++) {
    let answer: Response;
    try {
      answer = await fetch(by.collector + path, {
        method,
        headers: { Authorization: `Bearer ${by.token}`, "Content-Type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      // The collector drops what it has already, so that sending again does no harm.
      if (tries === TRIES) throw error;
      await new Promise((resume) => setTimeout(resume, 200 * tries));
      continue;
    }
    const read = (await answer.json()) as { error?: string };
    if (!answer.ok) throw new Refused(`devperf's collector refused ${method} ${path}: ${read.error ?? answer.status}`);
    return read;
  }
}

/** Find the smallest step of a clock in ns. */
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

/** Take Node's clock in ns where there is one, else the browser's in fractions of a ms. */
export function finestClock(): Clock {
  const bigint = host.process?.hrtime?.bigint;
  if (bigint) {
    const zero = bigint();
    return () => Number(bigint() - zero);
  }
  return () => host.performance.now() * 1e6;
}
