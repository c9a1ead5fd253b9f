import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject } from "vitest";
import type { BulkExport } from "../../src/exports/schema.ts";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { startFaultProxy } from "../support/node/fault-proxy.ts";
import { type ConsolePage, consoleUrl, openConsole, violationsOf } from "./support/console.ts";
import { createDestination, createExport, ended } from "./support/exports.ts";
import { request } from "./support/http.ts";
import { stack, until } from "./support/stack.ts";
import { seedRuns } from "./support/trace-runs.ts";
import { createWorkspace } from "./support/workspaces.ts";

const s3 = inject("s3");
const HOSTILE = `<img src=x onerror="document.title=1"> \u202E${crypto.randomUUID()}`;
const HOUR_MS = 3_600_000;
const DAY = "2026-11-10T00:00:00Z";
const NEXT_DAY = "2026-11-11T00:00:00Z";
const OVERFLOW = "document.documentElement.scrollWidth - innerWidth";

let browser: Browser;
let opened: ConsolePage;
let page: Page;
let project: string;
beforeAll(async () => {
  browser = await startBrowser();
  project = await seedRuns({ from: DAY, to: NEXT_DAY, count: 30, project: HOSTILE });
  opened = await openConsole(browser);
  page = opened.page;
});
afterAll(() => browser?.close());

async function fillBucket(secret: string) {
  await page.getByLabel("Bucket", { exact: true }).fill(s3.bucket);
  await page.getByLabel("Prefix").fill("console");
  await page.getByLabel("Region").fill(s3.region);
  await page.getByLabel("Endpoint").fill(s3.endpoint);
  await page.getByLabel("Access key id").fill(s3.access_key_id);
  await page.getByLabel("Secret access key").fill(secret);
}

test("an export is started from a form that probes the bucket, and its rows are read in the page", async () => {
  await page.goto(consoleUrl(`/exports/new?project=${project}`));
  await page.getByLabel("Destination").selectOption("New bucket");
  await page.getByLabel("From, UTC").fill(DAY.slice(0, 16));
  await page.getByLabel("Until, UTC").fill(NEXT_DAY.slice(0, 16));
  await page.getByLabel("Filter").fill("eq(latency_s, 1)");
  await page
    .getByText(/latency_s.* is not a field/)
    .first()
    .waitFor();
  await page.getByLabel("Filter").fill("");
  await page.locator("dd", { hasText: /^30$/ }).waitFor();

  await fillBucket("wrong");
  await page.getByText("May not write").waitFor();
  await page.getByText(/SignatureDoesNotMatch/).waitFor();
  await page.getByLabel("Secret access key").fill(s3.secret_access_key);
  await page.getByText("May write", { exact: true }).waitFor();
  const rights = page.getByRole("list", { name: "Rights" });
  await expect.poll(() => rights.getByText("s3:PutObject", { exact: true }).count()).toBe(1);
  await page.getByRole("button", { name: "Start export" }).click();

  await page.waitForURL(/exports\/[0-9a-f-]{36}/);
  await page.getByText("Completed", { exact: true }).waitFor();
  await expect.poll(() => page.title()).toMatch(/^Export of <img.*, 10 Nov to 11 Nov - Heddle$/);
  await page.getByText("20 of 30 rows of").waitFor();
  const rows = page.getByRole("region", { name: "First rows" });
  const columns = async () => (await rows.getByRole("columnheader").allInnerTexts()).slice(0, 3);
  await expect.poll(columns).toEqual(["name", "run_type", "status"]);
  await page.getByRole("cell", { name: "run 0", exact: true }).waitFor();
  await page.getByText("1 day: 1 completed").waitFor();
  await page.getByRole("region", { name: "SQL for DuckDB" }).getByText("read_parquet").waitFor();
  await page.getByRole("link", { name: "Athena" }).click();
  await page.waitForURL(/sql=athena/);
  await page.reload();
  await page.getByText("MSCK REPAIR TABLE").waitFor();
  expect(await page.locator("main img").count()).toBe(0);
  expect(await page.content()).not.toContain(s3.secret_access_key);
  expect(await violationsOf(page)).toEqual([]);
  expect([opened.problems, opened.strangers]).toEqual([[], []]);
});

test("a schedule shows its windows in order, and is cancelled by its own dialog", async () => {
  const start = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 3 * HOUR_MS).toISOString();
  const order = await createExport({
    bulk_export_destination_id: await createDestination("console-schedule"),
    session_id: project,
    start_time: start,
    interval_hours: 1,
    table_format: "iceberg",
  });
  const path = `/api/v1/bulk-exports?source_bulk_export_id=${order.id}`;
  const { body: windows } = await until(
    "the export of the windows of the past",
    () => request<BulkExport[]>("GET", path),
    ({ body }) => body.length >= 2 && body.every(({ status }) => status === "COMPLETED"),
  );
  await page.goto(consoleUrl("/exports"));
  const kinds = page.getByRole("navigation", { name: "Kind of the exports" });
  const isWindow = page
    .getByRole("table", { name: "Exports" })
    .getByText("window", { exact: true });
  await page.getByRole("table", { name: "Schedules" }).waitFor();
  expect(await isWindow.count()).toBe(0);
  await kinds.getByRole("link", { name: "Windows of schedules" }).click();
  await isWindow.nth(1).waitFor();
  expect(await kinds.locator("[aria-current=page]").allInnerTexts()).toEqual([
    "Windows of schedules",
  ]);
  await page.getByRole("table", { name: "Schedules" }).getByRole("link").first().click();
  const cells = page.getByRole("list", { name: "Windows" }).getByRole("link");
  await cells.first().waitFor();
  expect(await cells.count()).toBeGreaterThanOrEqual(windows.length);
  await page.getByText(/^next in /).waitFor();
  await page.getByRole("region", { name: "Table for DuckDB" }).getByText("iceberg_scan").waitFor();
  await page.getByRole("link", { name: "Snowflake" }).click();
  await page.getByText(/METADATA_FILE_PATH/).waitFor();
  await page.getByRole("button", { name: "Cancel schedule" }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.getByRole("button", { name: "Let it run" }).evaluate(isFocused)).toBe(true);
  await dialog.getByRole("button", { name: "Cancel schedule" }).click();
  await page.getByText("ended: cancelled").waitFor();
  await cells.first().click();
  await page.getByRole("heading", { name: "Schedule it belongs to" }).waitFor();
});

const isFocused = (element: unknown) =>
  element === (globalThis as { document?: { activeElement: unknown } }).document?.activeElement;

test("a file or an export that cannot be read is explained with the next step", async () => {
  const destination = await createDestination("console-gone", { bucket: s3.bucket });
  const order = await createExport({
    bulk_export_destination_id: destination,
    session_id: project,
    start_time: DAY,
    end_time: NEXT_DAY,
  });
  await ended(order.id);
  await page.goto(consoleUrl(`/exports/${order.id}?file=no/such/file.parquet`));
  await page.getByText(/must be the key of a written file/).waitFor();
  await page.goto(consoleUrl(`/exports/${crypto.randomUUID()}`));
  await page.getByText("The export could not be read.").waitFor();
  await page.getByText("It was deleted, or is in another workspace.").waitFor();
  await page.goto(consoleUrl("/exports"));
  const row = page.getByRole("table", { name: "Exports" }).getByRole("row").nth(1);
  await row.getByText("1 of 1 file").waitFor();
  expect(await page.getByRole("columnheader", { name: "Took" }).count()).toBe(1);
  await page.goto(consoleUrl("/exports?status=TIMEDOUT"));
  await page.getByRole("heading", { name: "No exports match" }).waitFor();
});

test("an export that failed shows the reason, and is retried from its page", async () => {
  const proxy = await startFaultProxy(s3.endpoint);
  const destination = await createDestination("console-denied", { endpoint: proxy.url });
  const body = "<Error><Code>AccessDenied</Code><Message>policy changed</Message></Error>";
  const isWrite = ({ method }: { method: string }) => method !== "GET" && method !== "HEAD";
  proxy.fail({ answer: { status: 403, body }, times: 1000, when: isWrite });
  const order = await createExport({
    bulk_export_destination_id: destination,
    session_id: project,
    start_time: DAY,
    end_time: NEXT_DAY,
  });
  await page.goto(consoleUrl(`/exports/${order.id}`));
  await page.getByText("Failed", { exact: true }).first().waitFor();
  await page
    .getByText(/AccessDenied: policy changed/)
    .first()
    .waitFor();
  proxy.heal();
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByText("Completed", { exact: true }).waitFor();
  await page.getByText("20 of 30 rows of").waitFor();
  expect(await page.getByRole("button", { name: "Retry" }).count()).toBe(0);
  await proxy.close();
});

test("a new workspace explains exports, and a viewer sees them without a control", async () => {
  const headers = await createWorkspace();
  const other = await openConsole(browser, "", { key: headers["x-api-key"] ?? "" });
  await other.page.goto(`${stack.base_url}/console/w/${headers["x-tenant-id"]}/exports`);
  await other.page.getByRole("heading", { name: "No exports yet" }).waitFor();
  await other.context.close();

  const { body } = await request<{ key: string }>("POST", "/api/v1/api-key", { role: "viewer" });
  const viewer = await openConsole(browser, "/exports", { key: body.key, width: 390 });
  await viewer.page.getByText("Admins of the workspace create exports.").waitFor();
  await viewer.page.getByRole("table", { name: "Exports" }).getByRole("link").first().click();
  await viewer.page.getByRole("region", { name: "Progress" }).waitFor();
  for (const name of [/^Cancel/, "Retry", "Probe", "Replace credentials", "Start export"]) {
    expect(await viewer.page.getByRole("button", { name }).count()).toBe(0);
  }
  await viewer.page.goto(consoleUrl("/exports/new"));
  await viewer.page.getByText("Admins of the workspace create exports.").waitFor();
  expect(await viewer.page.evaluate(OVERFLOW)).toBe(0);
  await viewer.context.close();
});

test("exports are opened, paused and filtered by keyboard alone", async () => {
  await page.goto(consoleUrl(""));
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("e");
  await page.getByRole("table", { name: "Exports" }).waitFor();
  await page.keyboard.press("f");
  await page.getByText(/^Paused/).waitFor();
  await page.keyboard.press("f");
  await page.getByText(/^Live/).waitFor();
  const links = page.getByRole("table", { name: "Exports" }).locator("td:first-child a");
  await links.first().focus();
  await page.keyboard.press("j");
  expect(await links.nth(1).evaluate(isFocused)).toBe(true);
  await page.keyboard.press("Enter");
  await page.waitForURL(/exports\/[0-9a-f-]{36}/);
  await page.goBack();
  await page.getByRole("table", { name: "Exports" }).waitFor();
});
