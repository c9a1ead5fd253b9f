/** Load of a region. Runs are spread evenly over threads, projects and time. */
export type Load = {
  runs_per_s: number;
  run_seconds: number;
  /** Supersteps of a run, each longer than the delay of trace deliveries. */
  steps: number;
  /** Spans that a run leaves in its project. */
  spans: number;
  /** Share of runs without a thread. */
  threadless: number;
  threads: number;
  /** Projects that receive spans. Each deployment has its own. */
  projects: number;
  /** Spans that SDKs send from elsewhere, in batches of 100. */
  sdk_spans_per_s: number;
  /** Retention of runs and traces. */
  days: number;
  /** Requests that an isolate serves in a second. Each isolate reads D1 for itself. */
  per_isolate: number;
};

export const STANDARD: Load = {
  ...{ runs_per_s: 10, run_seconds: 10, steps: 5, spans: 15, threadless: 0.5 },
  ...{ threads: 100_000, projects: 10, sdk_spans_per_s: 0, days: 30, per_isolate: 2 },
};

/** Loads of docs/scale.md. */
export const SHOWN: Record<string, Load> = {
  "10 runs/s": STANDARD,
  "100 runs/s": { ...STANDARD, runs_per_s: 100, threads: 1e6, projects: 100 },
  "1,000 runs/s": { ...STANDARD, runs_per_s: 1000, threads: 10e6, projects: 1000 },
  "10,000 runs/s": { ...STANDARD, runs_per_s: 10_000, threads: 100e6, projects: 10_000 },
  "10 million threads, 1 deployment": { ...STANDARD, threads: 10e6, projects: 1 },
  "1 billion spans/day": {
    ...STANDARD,
    ...{ runs_per_s: 0, threads: 0, projects: 1, sdk_spans_per_s: 1e9 / 86_400, days: 14 },
  },
};

/** @throws Error when an option is not a number of at least 0, a share is above 1, or a divisor is 0 */
export function toLoad(options: Partial<Record<string, string>>): Load {
  const entries = Object.entries(STANDARD).map(([name, standard]) => {
    const value = Number(options[toOption(name)] ?? standard);
    const isShare = name === "threadless";
    if (!Number.isFinite(value) || value < 0 || (isShare && value > 1))
      throw new Error(`--${toOption(name)}: must be a number from 0${isShare ? " to 1" : ""}`);
    return [name, value] as const;
  });
  const load = Object.fromEntries(entries) as Load;
  for (const name of ["steps", "projects", "per_isolate"] as const)
    if (load[name] === 0) throw new Error(`--${toOption(name)}: must be above 0`);
  return load;
}

export function toOption(name: string): string {
  return name.replaceAll("_", "-");
}
