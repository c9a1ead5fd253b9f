import { afterEach, describe, expect, test, vi } from "vitest";
import { log } from "../../src/shared/log.ts";
import { toNdjson } from "../../src/tail/lines.ts";

const AT = Date.UTC(2026, 10, 23, 19, 0, 0, 5);
const TIME = "2026-11-23T19:00:00.005Z";

afterEach(() => {
  vi.restoreAllMocks();
});

/** An invocation by a request with credentials in each place that a request has. */
function invocation(fields: Partial<TraceItem> = {}): TraceItem {
  const request = {
    method: "POST",
    url: "https://eu.example.com/feedback/path-token?key=query-token",
    headers: { "x-api-key": "header-token", cookie: "cookie-token" },
    cf: { city: "Austin" },
  };
  return {
    event: { request: { ...request, getUnredacted: () => ({ ...request }) as never } },
    eventTimestamp: AT,
    logs: [],
    exceptions: [],
    diagnosticsChannelEvents: [],
    scriptName: "heddle-eu",
    outcome: "ok",
    executionModel: "stateless",
    truncated: false,
    cpuTime: 12,
    wallTime: 345,
    ...fields,
  };
}

function printed(...message: unknown[]): TraceLog {
  return { timestamp: AT, level: "error", message };
}

function linesOf(...events: TraceItem[]): Record<string, unknown>[] {
  const lines = toNdjson(events).split("\n");
  expect(lines.pop()).toBe("");
  return lines.map((line) => JSON.parse(line));
}

/** The line that `log` prints. */
function logged(...args: Parameters<typeof log.error>): TraceLog {
  const print = vi.spyOn(console, "error").mockReturnValue();
  log.error(...args);
  return printed(...(print.mock.calls.at(-1) ?? []));
}

describe("lines of the operator's log", () => {
  test("a line keeps its fields, with its time, script and trigger, and nothing of the request", () => {
    const line = logged("request_failed", new Error("broken"), { request_id: "r-1" });
    const text = toNdjson([invocation({ logs: [line] })]);
    expect(JSON.parse(text)).toEqual({
      ...{ time: TIME, level: "error", event: "request_failed", request_id: "r-1" },
      ...{ script: "heddle-eu", trigger: "fetch", method: "POST" },
      error: expect.stringContaining("Error: broken\n"),
    });
    expect(text).not.toMatch(/token|Austin|example/);
  });

  test.each<[string, unknown[]]>([
    ["text", ["An RPC stub was not disposed properly."]],
    ["several arguments", ['{"level":"info","event":"a_b"}', "more"]],
    ["an object", [{ level: "info", event: "a_b" }]],
    ["broken JSON", ['{"level":"info","event":']],
    ["JSON without an event", ['{"level":"info"}']],
    ["JSON with another level", ['{"level":"debug","event":"a_b"}']],
    ["nothing", []],
  ])("%s is dropped", (_, message) => {
    expect(toNdjson([invocation({ logs: [printed(...message)] })])).toBe("");
  });

  test("an invocation that succeeds, or whose client closes the stream, has no line", () => {
    const closed = invocation({ outcome: "responseStreamDisconnected" });
    expect(toNdjson([invocation(), closed])).toBe("");
  });

  test("credentials in texts of errors are removed", () => {
    const url = "https://user:password@bucket.example.com/a/b.parquet?X-Amz-Signature=signed#part";
    const error = new Error(`GET "${url}" with Bearer abc.def and lsv2_sk_aB3dEf failed`);
    const [line] = linesOf(invocation({ logs: [logged("export_failed", error)] }));
    expect(line?.error).toContain(
      'GET "https://bucket.example.com/a/b.parquet" with Bearer ... and lsv2_... failed',
    );
    expect(JSON.stringify(line)).not.toMatch(/password|signed|abc|aB3d/);
  });
});

describe("lines that the Worker cannot write", () => {
  test("an exception is a line with its stack, without the parameters of a query", () => {
    const thrown = {
      timestamp: AT,
      name: "TypeError",
      message: "x is null",
      stack: "    at f (a.js:1)",
    };
    const query = { ...thrown, message: "Failed query: insert into a values (?)\nparams: hunter2" };
    const item = invocation({ outcome: "exception", exceptions: [thrown, query] });
    expect(linesOf(item)).toMatchObject([
      {
        level: "error",
        event: "uncaught_exception",
        error: "TypeError: x is null\n    at f (a.js:1)",
      },
      { event: "uncaught_exception", error: "Failed query: insert into a values (?)" },
    ]);
  });

  test.each([
    ["exceededCpu", "error"],
    ["exceededMemory", "error"],
    ["exception", "error"],
    ["canceled", "info"],
  ])("the outcome %s is a line of the level %s with its times", (outcome, level) => {
    const item = invocation({
      ...{ outcome, entrypoint: "ThreadObject", durableObjectId: "0a1b" },
      event: { rpcMethod: "startRun" },
    });
    expect(linesOf(item)).toEqual([
      {
        ...{ time: TIME, level, event: "invocation_failed", outcome, cpu_ms: 12, wall_ms: 345 },
        ...{ script: "heddle-eu", entrypoint: "ThreadObject", object_id: "0a1b" },
        ...{ trigger: "rpc", rpc_method: "startRun" },
      },
    ]);
  });

  test.each<[string, TraceItem["event"], object]>([
    ["a message", { queue: "heddle-builds-eu", batchSize: 1 }, { queue: "heddle-builds-eu" }],
    ["the cron", { cron: "* * * * *", scheduledTime: AT }, { trigger: "cron" }],
    ["an alarm", { scheduledTime: new Date(AT) }, { trigger: "alarm" }],
    ["an event without a description", null, {}],
  ])("%s is named as the trigger", (_, event, expected) => {
    const [line] = linesOf(invocation({ event, outcome: "exceededCpu" }));
    expect(line).toMatchObject({ outcome: "exceededCpu", ...expected });
  });

  test("an invocation whose lines the platform cut has a line", () => {
    const item = invocation({ logs: [logged("job_failed", "x")], truncated: true });
    expect(linesOf(item).map(({ event }) => event)).toEqual(["job_failed", "log_truncated"]);
  });

  test("lines beyond the size of an object are dropped and counted", () => {
    const item = invocation({ logs: [logged("audit_failed", "x".repeat(250_000))] });
    const lines = linesOf(...Array.from({ length: 20 }, () => item));
    expect(lines).toHaveLength(16);
    expect(lines.at(-1)).toMatchObject({ event: "log_lines_dropped", lines: 5 });
  });
});
