// Prints one JSON object: sizes of the console's pages, when lists and lines of a log are shown in Chromium, and how
// it shows large traces and payloads. Exit 1 when one is over its limit.
// Usage: npm run bench:console -- [--spans 10000] [--payload 5000000]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type StackInfo, startStack } from "../local/stack.ts";
import { readConsoleSizes, sizeProblems } from "../scripts/build/console-sizes.ts";
import { readOptions } from "../scripts/options.ts";
import { startBrowser } from "../test/support/node/browser.ts";
import { manySpans, sendSpans, toWireSpans } from "../test/support/node/trace-spans.ts";
import { apiOf } from "./client.ts";
import { measureLists, measureLog, measureServerLog } from "./console-pages.ts";
import { createDeployment, pushAgent } from "./deployments.ts";
import { round } from "./measure.ts";

const { values } = readOptions({
  spans: { type: "string", default: "10000" },
  payload: { type: "string", default: "5000000" },
});
const SPANS = Number(values.spans);
const PAYLOAD_BYTES = Number(values.payload);
const PROJECT = "bench-console";

/** Runs in the page: notes when an element is painted for the first time. */
const WATCHER = `
  window.paintOf = (selector) => new Promise((resolve) => {
    const check = () => {
      if (!document.querySelector(selector)) return requestAnimationFrame(check);
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    };
    check();
  });
  window.lastByteOf = (part) => Math.max(...performance.getEntriesByType("resource")
    .filter(({ name }) => name.includes(part)).map(({ responseEnd }) => responseEnd));
  performance.setResourceTimingBufferSize(2000);`;

/** Runs in the page: scrolls for two seconds. Returns the longest time between two frames. */
const SCROLL = `new Promise((resolve) => {
  const box = document.querySelector(".span-rows");
  const start = performance.now();
  let last = start;
  let longest = 0;
  const frame = (now) => {
    longest = Math.max(longest, now - last);
    last = now;
    box.scrollTop += 400;
    if (now - start < 2000) requestAnimationFrame(frame);
    else resolve(longest);
  };
  requestAnimationFrame(frame);
})`;

async function main() {
  const dir = await mkdtemp(join(tmpdir(), "heddle-bench-stack-"));
  const stack = await startStack({ dir, quiet: true });
  try {
    const sizes = await readConsoleSizes();
    const report = { node: process.version, gzipped_bytes: sizes, ...(await measure(stack.info)) };
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    const problems = [...sizeProblems(sizes), ...overLimits(report)];
    for (const problem of problems) console.error(problem);
    process.exitCode = problems.length === 0 ? 0 : 1;
  } finally {
    await stack.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

const MAX_LIST_MS = 1000;
const MAX_LINE_MS = 500;
const MAX_PAINT_MS = 300;
const MAX_FRAME_MS = 50;
const MAX_NODES = 2500;
const MAX_PAYLOAD_MS = 200;

/** A sentence for each measurement that is over its limit. */
function overLimits(report: Awaited<ReturnType<typeof measure>>): string[] {
  const { build_log_line_shown: build, server_log_line_shown: server, trace, payload } = report;
  const measured: [what: string, value: number, max: number][] = [
    ...Object.entries(report.list_interactive_ms).map(([name, ms]): [string, number, number] => {
      return [`ms until ${name} is interactive`, ms, MAX_LIST_MS];
    }),
    ["ms until a line of a build is shown", build.longest_ms, MAX_LINE_MS],
    ["ms until a line of a server is shown", server.longest_ms, MAX_LINE_MS],
    ["ms until a trace is painted", trace.painted_after_last_byte_ms, MAX_PAINT_MS],
    ["ms of the longest frame of a trace", trace.longest_frame_ms, MAX_FRAME_MS],
    ["nodes of a trace", trace.dom_nodes, MAX_NODES],
    ["ms until a payload is open", payload.opened_after_last_byte_ms, MAX_PAYLOAD_MS],
    ["nodes of a payload", payload.dom_nodes, MAX_NODES],
  ];
  return measured
    .filter(([, value, max]) => !(value <= max))
    .map(([what, value, max]) => `${value} ${what}: at most ${max}`);
}

async function measure(info: StackInfo) {
  const { trace_id, span_id } = await seed(info);
  const repository = await pushAgent(info.git, "console");
  const deployment_id = await createDeployment(apiOf(info), "bench-console", repository);
  const browser = await startBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.addInitScript(WATCHER);
    await signIn(page, info);
    const root = `${info.base_url}/console/w/${info.tenant_id}`;
    return {
      list_interactive_ms: await measureLists(page, root),
      build_log_line_shown: await measureLog(page, `${root}/deployments/${deployment_id}`),
      server_log_line_shown: await measureServerLog(
        page,
        `${root}/deployments/${deployment_id}`,
        (count) =>
          apiOf(info).call("POST", `/agents/${deployment_id}/runs/wait`, {
            assistant_id: "echo",
            input: { messages: [{ role: "user", content: `print ${count}` }] },
          }),
      ),
      trace: await measureTrace(page, `${root}/traces/${trace_id}?span=none`),
      payload: await measurePayload(page, `${root}/traces/${trace_id}?span=${span_id}`),
    };
  } finally {
    await browser.close();
  }
}

async function seed(info: StackInfo) {
  const api = apiOf(info);
  const seeds = manySpans(SPANS);
  const [last] = seeds.slice(-1);
  const list = Array.from({ length: Math.floor(PAYLOAD_BYTES / 40) }, (_, n) =>
    `entry ${n}`.padEnd(36, "."),
  );
  if (last) last.more = { outputs: { list } };
  const spans = toWireSpans(PROJECT, new Date(Date.now() - 600_000), seeds);
  await sendSpans(async (path, body) => {
    const { status } = await api.call("POST", path, body);
    return { status, body: null };
  }, spans);
  return { trace_id: spans[0]?.id ?? "", span_id: spans.at(-1)?.id ?? "" };
}

async function signIn(page: Page, { base_url, api_key }: StackInfo) {
  await page.goto(`${base_url}/console/login`);
  await page.getByLabel("API key").fill(api_key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Breadcrumb" }).waitFor();
}

async function measureTrace(page: Page, url: string) {
  await page.goto(url, { waitUntil: "commit" });
  const painted = (await page.evaluate('paintOf(".span-rows .tree-row")')) as number;
  const received = (await page.evaluate('lastByteOf("/api/v2/traces/")')) as number;
  return {
    spans: SPANS,
    painted_after_last_byte_ms: round(painted - received),
    longest_frame_ms: round((await page.evaluate(SCROLL)) as number),
    dom_nodes: await countNodes(page),
  };
}

async function countNodes(page: Page): Promise<number> {
  return (await page.evaluate("document.querySelectorAll('*').length")) as number;
}

async function measurePayload(page: Page, url: string) {
  await page.goto(url, { waitUntil: "commit" });
  const painted = (await page.evaluate('paintOf(".span-body .json .j")')) as number;
  const received = (await page.evaluate('lastByteOf("/api/v1/runs/")')) as number;
  return {
    bytes: PAYLOAD_BYTES,
    opened_after_last_byte_ms: round(painted - received),
    dom_nodes: await countNodes(page),
  };
}

await main();
