import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type MetricsBatch,
  MetricsObject,
} from "../../../src/control-plane/health/metrics-object.ts";
import { getRegionMetrics } from "../../../src/control-plane/health/region-metrics-service.ts";
import { database } from "../../../src/shared/context.ts";
import { AppError } from "../../../src/shared/errors.ts";
import { count, observe, REGION, takeRecorded } from "../../../src/shared/metrics/metrics.ts";
import { seriesKey, toExposition } from "../../../src/shared/metrics/series.ts";
import { runAlarm } from "../../../src/shared/work/alarm.ts";
import { MemoryBudget } from "../../../src/shared/work/memory-budget.ts";
import { eventually } from "../../support/eventually.ts";
import { testThread } from "../../support/threads.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { batch, wireRun } from "../../traces/support/runs.ts";

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

function scrape(token = env.OPERATOR_TOKEN): Promise<Response> {
  return api("/v1/metrics", { headers: { Authorization: `Bearer ${token}` } });
}

/** Returns the value of each sample by its name and labels. */
async function samples(): Promise<(series: string) => number> {
  const text = await (await scrape()).text();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const values = new Map(lines.map((line) => line.split(/ (?=\S+$)/) as [string, string]));
  return (series) => Number(values.get(series) ?? 0);
}

/** Returns by how much each sample grows during the work. */
async function growthDuring(work: () => Promise<unknown>): Promise<(series: string) => number> {
  const before = await samples();
  await work();
  const after = await samples();
  return (series) => after(series) - before(series);
}

describe("the operator's token", () => {
  test("is required: no key of a workspace is one", async () => {
    for (const token of ["", "wrong", ours.admin]) {
      const response = await scrape(token);
      expect(response.status).toBe(401);
      expect(await response.text()).toContain("Bearer <OPERATOR_TOKEN>");
    }
    const byKey = await api("/v1/metrics", { key: ours.admin });
    expect(byKey.status).toBe(401);
  });

  test("missing in the configuration is a 404 with the remedy", async () => {
    const without = { ...env, OPERATOR_TOKEN: "" };
    const refused = getRegionMetrics(without, "Bearer ");
    await expect(refused).rejects.toMatchObject({ status: 404, message: /set the secret/ });
  });

  test("opens the text format", async () => {
    const response = await scrape();
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(await response.text()).toMatch(/^heddle_health_value\{check="database_size"\} \d+$/m);
  });
});

describe("a region counts", () => {
  const requests = "heddle_http_request_duration_seconds";

  test("requests by the pattern of their route, never by an id", async () => {
    const id = crypto.randomUUID();
    const growth = await growthDuring(async () => {
      for (let n = 0; n < 3; n++) await api(`/v2/deployments/${id}`, { key: ours.viewer });
      await api("/v2/deployments", { key: ours.viewer });
      await api(`/nowhere/${id}`);
    });
    const route = "/v2/deployments/:deployment_id";
    const labels = `route="${route}",method="GET",status="4xx"`;
    expect(growth(`${requests}_count{${labels}}`)).toBe(3);
    expect(growth(`${requests}_bucket{${labels},le="+Inf"}`)).toBe(3);
    expect(growth(`${requests}_count{route="/v2/deployments",method="GET",status="2xx"}`)).toBe(1);
    expect(growth(`${requests}_count{route="none",method="GET",status="4xx"}`)).toBe(1);
    expect(await (await scrape()).text()).not.toContain(id);
  });

  test("runs with their wait and duration", async () => {
    const growth = await growthDuring(async () => {
      const { wait, stream } = await testThread();
      await wait("echo", { input: { messages: [] } });
      await stream("fails", { input: { log: [] } });
    });
    expect(growth("heddle_runs_started_total")).toBeGreaterThanOrEqual(2);
    expect(growth("heddle_run_queue_wait_seconds_count")).toBeGreaterThanOrEqual(2);
    for (const status of ["success", "error"]) {
      expect(growth(`heddle_runs_ended_total{status="${status}"}`)).toBeGreaterThanOrEqual(1);
      const series = `heddle_run_duration_seconds_count{status="${status}"}`;
      expect(growth(series)).toBeGreaterThanOrEqual(1);
    }
  });

  test("ingestion, and what it sends to D1", async () => {
    const runs = [wireRun("counted"), wireRun("counted")];
    const growth = await growthDuring(() => batch(ours.editor, runs));
    expect(growth("heddle_ingestion_batches_total")).toBeGreaterThanOrEqual(1);
    expect(growth("heddle_ingestion_spans_total")).toBeGreaterThanOrEqual(2);
    const bytes = JSON.stringify({ post: runs }).length;
    expect(growth("heddle_ingestion_bytes_total")).toBeGreaterThanOrEqual(bytes);
    expect(growth("heddle_d1_statements_total")).toBeGreaterThanOrEqual(1);
  });

  test("ingestion that is refused because of load", async () => {
    const busy = new AppError("unavailable", "full", { retry_after_seconds: 2 });
    const hold = vi.spyOn(MemoryBudget.prototype, "hold").mockRejectedValue(busy);
    onTestFinished(() => hold.mockRestore());
    const growth = await growthDuring(async () => {
      expect((await batch(ours.editor, [wireRun("refused")])).status).toBe(503);
    });
    expect(growth('heddle_ingestion_refused_total{status="503"}')).toBe(1);
  });

  test("calls of D1 that fail, and alarms that fail", async () => {
    const stub = env.METRICS.getByName(crypto.randomUUID());
    const growth = await growthDuring(async () => {
      await expect(database(env).run("SELECT broken")).rejects.toThrow();
      await runInDurableObject(stub, async (_object, { storage }) => {
        await runAlarm(storage, "TestObject", () => Promise.reject(new Error("down")));
        await storage.deleteAlarm();
      });
    });
    expect(growth("heddle_d1_errors_total")).toBe(1);
    expect(growth('heddle_alarms_failed_total{object="TestObject"}')).toBe(1);
  });
});

describe("totals of the region", () => {
  const key = seriesKey("heddle_runs_started_total", []);
  const first: MetricsBatch = { isolate_id: "one", sequence: 1, recorded: [[key, [2]]] };

  test("have each batch once, whatever the order, and survive the object's eviction", async () => {
    const stub = env.METRICS.getByName(crypto.randomUUID());
    const add = (more: Partial<MetricsBatch>) =>
      runInDurableObject(stub, (object: MetricsObject) => object.add({ ...first, ...more }));
    await add({});
    await add({});
    await add({ sequence: 2, recorded: [[key, [3]]] });
    await add({});
    await add({ isolate_id: "two" });
    await runInDurableObject(stub, (_object, ctx) => ctx.abort("evicted")).catch(() => {});
    const again = env.METRICS.get(stub.id);
    const totals = await runInDurableObject(again, (object: MetricsObject) => object.list());
    expect(totals).toEqual([[key, [7]]]);
  });

  test("have a batch once when its answer is lost", async () => {
    const { add } = MetricsObject.prototype;
    const lost = vi.spyOn(MetricsObject.prototype, "add");
    onTestFinished(() => lost.mockRestore());
    const growth = await growthDuring(async () => {
      count("heddle_jobs_failed_total", { job: "testJob" }, 5);
      lost.mockImplementationOnce(async function (this: MetricsObject, pushed) {
        await add.call(this, pushed);
        throw new Error("The answer was lost");
      });
      expect((await scrape()).status).toBe(200);
    });
    expect(growth('heddle_jobs_failed_total{job="testJob"}')).toBe(5);
  });

  test("have cumulative buckets and escaped labels", () => {
    takeRecorded(REGION, Number.POSITIVE_INFINITY);
    for (const s of [0.05, 0.2, 0.3, 9999]) {
      observe("heddle_build_duration_seconds", { outcome: 'a"\\\n' }, s);
    }
    const lines = toExposition(new Map(takeRecorded(REGION, 1))).split("\n");
    const labels = 'outcome="a\\"\\\\\\n"';
    expect(lines).toContain(`heddle_build_duration_seconds_bucket{${labels},le="0.1"} 1`);
    expect(lines).toContain(`heddle_build_duration_seconds_bucket{${labels},le="0.5"} 3`);
    expect(lines).toContain(`heddle_build_duration_seconds_bucket{${labels},le="3600"} 3`);
    expect(lines).toContain(`heddle_build_duration_seconds_bucket{${labels},le="+Inf"} 4`);
    expect(lines).toContain(`heddle_build_duration_seconds_sum{${labels}} 9999.55`);
    expect(lines).toContain(`heddle_build_duration_seconds_count{${labels}} 4`);
  });
});

test("an isolate pushes what many requests recorded at once, without a scrape", async () => {
  await scrape();
  const add = vi.spyOn(MetricsObject.prototype, "add");
  onTestFinished(() => add.mockRestore());
  for (let n = 0; n < 50; n++) await api("/ok");
  const key = seriesKey("heddle_http_request_duration_seconds", ["/ok", "GET", "2xx"]);
  const pushed = () => {
    const recorded = add.mock.calls.flatMap(([each]) => each.recorded);
    const counts = recorded.flatMap(([each, values]) => (each === key ? values.slice(1) : []));
    return counts.reduce((sum, n) => sum + n, 0);
  };
  await eventually(() => expect(pushed()).toBe(50), { interval: 100 });
  // On a busy machine some intervals of ten seconds may end between two of the requests.
  expect(add.mock.calls.length).toBeLessThan(10);
});
