/** Milliseconds of each call, one after the other. */
export async function sample(count: number, call: (index: number) => Promise<void>) {
  const times: number[] = [];
  for (let index = 0; index < count; index++) times.push(await time(() => call(index)));
  return times;
}

export async function time(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

export function percentile(times: number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}

export function summary(times: number[]) {
  return { p50_ms: percentile(times, 0.5), p95_ms: percentile(times, 0.95) };
}

export function round(value: number): number {
  return Math.round(value * 100) / 100;
}
