import type { Counts } from "./counts.ts";
import type { Load } from "./load.ts";
import { workOf } from "./model.ts";
import { LIMITS } from "./platform.ts";
import type { Processor } from "./processor.ts";

export type Wall = { name: string; used: number; limit: number; utilization: number };

/** Returns the use of each published limit, the most used first. */
export function wallsOf(load: Load, counts: Counts, processor: Processor): Wall[] {
  const work = workOf(load, counts, processor);
  const { projects } = load;
  const uses: [name: string, used: number, limit: keyof typeof LIMITS][] = [
    ["D1: statements a second", work.d1_writes + work.d1_reads, "d1_statements_per_s"],
    ["one object of a directory: calls a second", work.directory_calls, "object_requests_per_s"],
    ["one object of a directory: bytes", work.directory_bytes, "object_bytes"],
    ["one search of a deployment's threads: calls", work.directory_objects, "subrequests"],
    [
      "one project's partition: calls a second",
      work.deliveries / projects,
      "object_requests_per_s",
    ],
    [
      "one project's partition: CPU seconds a second",
      (work.spans / projects) * processor.span_in_object_us * 1e-6,
      "object_cpu_s_per_s",
    ],
    ["one thread: bytes", work.thread_bytes, "object_bytes"],
    ["one delivery in the evening: calls", work.calls_in_the_evening, "subrequests"],
  ];
  return uses
    .map(([name, used, limit]) => {
      const { value } = LIMITS[limit];
      return { name, used, limit: value, utilization: used / value };
    })
    .sort((one, other) => other.utilization - one.utilization);
}

export type FirstWall = { name: string; factor: number };

/** Returns the limit that is met first when runs and spans grow, and the factor by which they may grow until then. */
export function firstWall(load: Load, counts: Counts, processor: Processor): FirstWall {
  const highest = (factor: number) => {
    const { runs_per_s, sdk_spans_per_s } = load;
    const grown = {
      ...load,
      runs_per_s: runs_per_s * factor,
      sdk_spans_per_s: sdk_spans_per_s * factor,
    };
    const [wall] = wallsOf(grown, counts, processor);
    if (!wall) throw new Error("No walls");
    return wall;
  };
  // The limit of a full directory is met without any run.
  if (highest(0).utilization >= 1) return { name: highest(0).name, factor: 0 };
  let [below, above] = [0, 1];
  while (highest(above).utilization < 1) above *= 2;
  for (let n = 0; n < 50; n++) {
    const middle = (below + above) / 2;
    if (highest(middle).utilization < 1) below = middle;
    else above = middle;
  }
  return { name: highest(above).name, factor: above };
}
