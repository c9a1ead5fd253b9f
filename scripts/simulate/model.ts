import { MAX_PARTITION_ROWS } from "../../src/traces/limits.ts";
import { firstSlot, flushPauseMs, slotsIn } from "../../src/traces/locations/generations.ts";
import type { Counts } from "./counts.ts";
import { DirectoryOfDeployment } from "./directory.ts";
import type { Load } from "./load.ts";
import { OBJECT_GB, type Resource } from "./platform.ts";
import type { Processor } from "./processor.ts";
import { callsOf, SlotsOfDay } from "./slots.ts";

const DAY_S = 86_400;
const COUNTED_STEPS = 3;
const SPANS_PER_BATCH = 100;

export type Work = {
  d1_writes: number;
  d1_reads: number;
  /** Spans that SDKs and runs send. */
  spans: number;
  /** Calls of `ingest` for all projects: one for each batch of an SDK, and for each delivery of a run. */
  deliveries: number;
  /** Calls of objects that one delivery makes at the end of the day. */
  calls_in_the_evening: number;
  /** Objects of the directory of each deployment. */
  directory_objects: number;
  /** Calls of the busiest of them: threads publish their entries. */
  directory_calls: number;
  /** Bytes of the fullest of them. */
  directory_bytes: number;
  thread_bytes: number;
  /** Billed units of a second; of `object_gb` the gigabytes that are stored. */
  billed: Record<Resource, number>;
};

/** Work of a second, averaged over a day. */
export function workOf(load: Load, counts: Counts, processor: Processor): Work {
  const temporary = load.runs_per_s * load.threadless;
  const lasting = load.runs_per_s - temporary;
  const { run_of_three_steps_on_a_thread: onThread, threadless_run_of_three_steps: threadless } =
    counts;
  const ofRuns = (name: keyof typeof onThread & keyof typeof threadless) =>
    lasting * onThread[name] + temporary * threadless[name];
  const ofSteps = (name: keyof Counts["step"]) =>
    load.runs_per_s * (load.steps - COUNTED_STEPS) * counts.step[name];

  const batches = load.sdk_spans_per_s / SPANS_PER_BATCH;
  const spans = load.runs_per_s * load.spans + load.sdk_spans_per_s;
  const deliveries = ofRuns("trace_requests") + ofSteps("trace_requests") + batches;
  const day = new SlotsOfDay(Math.max(1, (spans * DAY_S) / load.projects / MAX_PARTITION_ROWS));
  // Traces in a batch of an SDK. A delivery of a run has one trace.
  const traces = Math.max(1, SPANS_PER_BATCH / Math.max(1, load.spans));
  const ofRunsAndBatches = (generation: number, name: "all" | "writes") =>
    (deliveries - batches) * callsOf(generation, 1)[name] +
    batches * callsOf(generation, traces)[name];
  const segments = batches * day.average((generation) => callsOf(generation, traces).writes);
  const trace_rows =
    ofRuns("trace_rows") + ofSteps("trace_rows") + segments * counts.batch_of_100_spans.trace_rows;
  const perProject = deliveries / load.projects;
  const { flush_of_a_partition: flush, second_of_an_isolate: isolate } = counts;
  // An alarm follows the first change of an object after a pause, and flushes all changes of the pause.
  const flushes = day.average((generation) => {
    const objects = load.projects * slotsIn(generation);
    const perObject = ofRunsAndBatches(generation, "writes") / objects;
    const pause_s = flushPauseMs(firstSlot(generation)) / 1000;
    return (objects * perObject) / (1 + pause_s * perObject);
  });

  const kept_s = load.days * DAY_S;
  const created = (name: keyof Counts["new_thread"]) =>
    (load.threads / kept_s) * counts.new_thread[name];
  const publications = ofRuns("directory_requests");
  const directory = new DirectoryOfDeployment(load.threads / load.projects);
  const calls = directory.callsOfObjects(
    (lasting * onThread.directory_requests) / load.projects,
    (temporary * threadless.directory_requests + created("directory_requests")) / load.projects,
  );
  const { bytes: entry_bytes } = counts.thread_in_the_directory;
  const thread_bytes = lasting * kept_s * counts.run_kept_in_a_thread.bytes;
  const span_bytes = spans * kept_s * counts.span_of_2_kb.bytes;
  // An object that has the next run soon is awake until then.
  const gap_s = lasting === 0 ? 0 : Math.max(0, load.threads / lasting - load.run_seconds);
  const awakeAfter = (ms: number) => Math.min(ms / 1000, gap_s);
  const awake_s =
    lasting * (load.run_seconds + awakeAfter(onThread.awake_ms_after)) +
    temporary * (load.run_seconds + threadless.awake_ms_after / 1000) +
    load.projects * sum([perProject, ...calls].map((each) => Math.min(1, each)));
  return {
    d1_writes: flushes * flush.catalogue_writes,
    d1_reads:
      (load.runs_per_s * isolate.reads_of_runs + batches * isolate.reads_of_batches) /
      load.per_isolate,
    ...{ spans, deliveries },
    directory_objects: directory.objects,
    directory_calls: Math.max(...calls),
    directory_bytes: directory.most_threads * entry_bytes,
    calls_in_the_evening: day.last(batches === 0 ? 1 : traces).all,
    thread_bytes: load.threads === 0 ? 0 : thread_bytes / load.threads,
    billed: {
      requests: load.runs_per_s + batches,
      dynamic_requests: load.runs_per_s,
      dynamic_workers: (load.runs_per_s === 0 ? 0 : load.projects) / DAY_S,
      cpu_ms:
        load.runs_per_s * processor.run_ms + (load.sdk_spans_per_s * processor.span_us) / 1000,
      object_requests:
        ofRuns("thread_requests") +
        created("thread_requests") +
        created("directory_requests") +
        publications +
        day.average((generation) => ofRunsAndBatches(generation, "all")) +
        flushes,
      object_gb_s: awake_s * OBJECT_GB,
      object_rows_written:
        ofRuns("thread_rows") +
        ofSteps("thread_rows") +
        ofRuns("directory_rows") +
        created("thread_rows") +
        created("directory_rows") +
        trace_rows +
        flushes * flush.rows,
      object_gb: (thread_bytes + load.threads * entry_bytes + span_bytes) / 1e9,
      d1_rows_written: flushes * flush.catalogue_rows,
    },
  };
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
