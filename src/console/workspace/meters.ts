import type {
  Meter,
  Quota,
  QuotaPeriod,
  WorkMeter,
} from "../../control-plane/quotas/quota-schema.ts";
import { apiPath } from "../api/path.ts";
import { formatBytes, formatDuration, formatNumber } from "../ui/formats.ts";

type MeterTexts = {
  label: string;
  /** Describes the counted work. */
  counts: string;
  /** The effect of a used-up quota. */
  refused: string;
  /** The unit of a limit. */
  unit: string;
  format: (value: number) => string;
};

const RUNS = "New runs are refused, and crons skip their firings. Runs in progress continue.";
const INGESTION =
  "New traces are refused, those by OpenTelemetry included. Traces of agents are still stored.";
const EXPORTS = "New exports and retries are refused, and schedules wait.";

export function formatSeconds(seconds: number): string {
  return seconds === 0 ? "0 s" : formatDuration(seconds * 1000);
}

export const METER_TEXTS: Record<Meter, MeterTexts> = {
  runs_created: {
    label: "Runs",
    counts: "accepted runs of agents, queued ones included",
    refused: RUNS,
    unit: "runs",
    format: formatNumber,
  },
  run_seconds: {
    label: "Time of runs",
    counts: "from the first attempt of a run to its end",
    refused: RUNS,
    unit: "seconds",
    format: formatSeconds,
  },
  ingested_spans: {
    label: "Spans received",
    counts: "spans of agents and of other programs",
    refused: INGESTION,
    unit: "spans",
    format: formatNumber,
  },
  ingested_bytes: {
    label: "Trace data received",
    counts: "without the traces of agents",
    refused: INGESTION,
    unit: "bytes",
    format: formatBytes,
  },
  export_rows: {
    label: "Rows exported",
    counts: "in written files",
    refused: EXPORTS,
    unit: "rows",
    format: formatNumber,
  },
  export_bytes: {
    label: "Data exported",
    counts: "in written files",
    refused: EXPORTS,
    unit: "bytes",
    format: formatBytes,
  },
  stored_bytes: {
    label: "Stored data",
    counts: "uploads, artifacts, traces, attachments and logs",
    refused:
      "New runs, traces, uploads and builds are refused. Deletion of traces, projects or deployments makes room.",
    unit: "bytes",
    format: formatBytes,
  },
};

export const METERS = Object.keys(METER_TEXTS) as Meter[];
export const WORK_METERS = METERS.filter((meter): meter is WorkMeter => meter !== "stored_bytes");

export const PERIOD_TEXTS: Record<QuotaPeriod, { label: string; per: string }> = {
  day: { label: "Today", per: "a day" },
  month: { label: "This month", per: "a month" },
  total: { label: "Now", per: "in all" },
};

export const QUOTAS = apiPath`/v1/quotas`;

/** Returns the periods that a quota of the meter may have. */
export function periodsOf(meter: Meter): QuotaPeriod[] {
  return meter === "stored_bytes" ? ["total"] : ["day", "month"];
}

export function isUsedUp({ used, limit }: Quota): boolean {
  return used >= limit;
}
