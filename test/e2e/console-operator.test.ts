import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { type Access, accessOf } from "../support/node/console/access.ts";
import { type ConsolePage, openConsole, violationsOf } from "./support/console.ts";
import { stack } from "./support/stack.ts";
import { createWorkspace } from "./support/workspaces.ts";

type Project = {
  id: string;
  name: string;
  trace_tier: string | null;
  sampling_rate: number | null;
};

const PHONE_PX = 390;

let browser: Browser;
let access: Access;
let opened: ConsolePage;
let page: Page;
let viewer: Page;
beforeAll(async () => {
  const headers = await createWorkspace();
  const [api_key = "", tenant_id = ""] = [headers["x-api-key"], headers["x-tenant-id"]];
  access = accessOf({ ...stack, api_key, tenant_id });
  browser = await startBrowser();
  opened = await openConsole(browser, "", { key: api_key });
  page = opened.page;
  const { key = "" } = await access.call("POST", "/api/v1/api-key", { role: "viewer" });
  viewer = (await openConsole(browser, "", { key })).page;
});
afterAll(() => browser?.close());

const urlOf = (path: string) => `${stack.base_url}/console/w/${access.tenant_id}${path}`;
const quotasOf = () =>
  access
    .call<{ quotas: Record<string, unknown>[] }>("GET", "/v1/quotas")
    .then(({ quotas }) => quotas);

test("a quota is set, refused at its field, reached and removed, and a viewer reads it", async () => {
  await viewer.goto(urlOf("/settings/usage"));
  await viewer.getByText("Nothing limits the work of this workspace.").waitFor();
  await page.goto(urlOf("/settings/usage"));
  await page.getByRole("button", { name: "Edit quota: Runs" }).click();
  // The page has not read this quota yet, and must not remove it.
  const other = { meter: "export_rows", period: "month", limit: 7 };
  await access.call("PUT", "/v1/quotas", { quotas: [other] });
  const dialog = page.getByRole("dialog");
  const day = dialog.getByLabel(/^Limit in runs a day/);
  const month = dialog.getByLabel(/^Limit in runs a month/);
  await day.fill("5");
  await month.fill("-5");
  await page.keyboard.press("Enter");
  await dialog.getByText("must be at least 0").waitFor();
  expect(await dialog.locator(":focus").inputValue()).toBe("-5");
  expect([
    await day.getAttribute("aria-invalid"),
    await month.getAttribute("aria-invalid"),
  ]).toEqual([null, "true"]);
  expect(await violationsOf(page)).toEqual([]);
  await month.fill("0");
  await dialog.getByText("Refuses all new work.").waitFor();
  await dialog.getByRole("button", { name: "Save quota" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await quotasOf()).toMatchObject([
    other,
    { meter: "runs_created", period: "day", limit: 5, set_by: "admin" },
    { meter: "runs_created", period: "month", limit: 0 },
  ]);

  for (const each of [page, viewer]) {
    await each.reload();
    const reached = each.getByRole("region", { name: "Quota reached: Runs" });
    await reached.getByText(/^New runs are refused/).waitFor();
    await each.getByRole("progressbar", { name: "Runs, today, of 5" }).waitFor();
  }
  expect(await viewer.getByRole("button", { name: /^Edit/ }).count()).toBe(0);
  await page.getByRole("button", { name: "Edit quota: Runs" }).click();
  await month.fill("");
  await dialog.getByRole("button", { name: "Save quota" }).click();
  await page.getByRole("region", { name: "Quota reached: Runs" }).waitFor({ state: "detached" });
  expect((await quotasOf()).map(({ limit }) => limit)).toEqual([7, 5]);
  await page.getByRole("link", { name: "Earlier month" }).click();
  await page.waitForURL(/month=20\d\d-\d\d/);
  await page.getByRole("link", { name: "Later month" }).waitFor();
});

test("stored data is shown by kind, and has a quota in all", async () => {
  await page.goto(urlOf("/settings/usage"));
  const kinds = page.getByRole("table", { name: "Stored data by kind" });
  await kinds.getByText("Artifacts").waitFor();
  await page.getByRole("button", { name: "Edit quota: Stored data" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/^Limit in bytes in all/).fill("5000000000");
  await dialog.getByRole("button", { name: "Save quota" }).click();
  await page.getByRole("progressbar", { name: "Stored data, now, of 5.0 GB" }).waitFor();
  await viewer.goto(urlOf("/settings/usage"));
  await viewer.getByRole("progressbar", { name: "Stored data, now, of 5.0 GB" }).waitFor();
  expect(await quotasOf()).toContainEqual(
    expect.objectContaining({ meter: "stored_bytes", period: "total", resets_at: null }),
  );
  expect(await violationsOf(page)).toEqual([]);
});

test("an alert is created, fires, leads to its runs, is paused, edited and deleted", async () => {
  const project = await access.call("POST", "/api/v1/sessions", { name: "watched" });
  const now = new Date().toISOString();
  await access.call("POST", "/api/v1/runs", {
    ...{ id: crypto.randomUUID(), session_name: "watched", name: "parcel", run_type: "chain" },
    ...{ start_time: now, end_time: now, inputs: {}, error: "lost" },
  });
  await page.goto(urlOf("/monitor"));
  await page.getByRole("link", { name: "Alerts" }).click();
  await page.getByRole("button", { name: "New alert" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Parcels");
  await dialog.getByLabel("Metric").selectOption({ label: "Number of runs" });
  await dialog.getByLabel("Project").selectOption({ label: "watched" });
  await dialog.getByLabel(/^Filter/).fill('eq(nam, "parcel")');
  await dialog.getByText("nam is not a field").waitFor();
  await dialog.getByLabel(/^Filter/).fill('eq(name, "parcel")');
  await dialog.getByText("nam is not a field").waitFor({ state: "detached" });
  await dialog.getByLabel(/^Window/).fill("5000");
  await dialog.getByLabel(/^Threshold/).fill("0");
  await dialog.getByLabel("Webhook URL").fill("ftp://example.com");
  await dialog.getByRole("button", { name: "Create alert" }).click();
  await dialog.getByText(/^must be an http:\/\/ or https:\/\/ URL/).waitFor();
  await dialog.getByText("must be at most 1440").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByLabel(/^Window/).fill("60");
  await dialog.getByLabel("Webhook URL").fill("https://alerts.invalid/hook");
  await dialog.getByRole("button", { name: "Create alert" }).click();
  await page.waitForURL(/alert=/);
  const row = page.getByRole("row", { name: /^Parcels/ });
  await row.getByText("Firing").waitFor();
  await row.getByText(/^since/).waitFor();
  const webhooks = page.getByRole("list", { name: "Webhooks" });
  await webhooks.getByText("https://alerts.invalid/hook").waitFor();
  await viewer.goto(page.url());
  await viewer.getByText("Firing").first().waitFor();
  expect(await viewer.getByRole("button", { name: /^(New|Pause|Edit|Delete)/ }).count()).toBe(1);

  await page.getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Metric").selectOption({ label: "Error rate" });
  await dialog.getByLabel(/^Threshold/).fill("7");
  await dialog.getByRole("button", { name: "Save alert" }).click();
  await page.getByText("Error rate ≥ 7% in 1 h").first().waitFor();
  const [alert] = (await access.call<{ alerts: object[] }>("GET", "/v1/alerts")).alerts;
  expect(alert).toMatchObject({
    ...{ metric: "error_rate", threshold: 0.07, window_minutes: 60, session_id: project.id },
    filter: 'eq(name, "parcel")',
  });
  await page.getByRole("link", { name: /^Open the runs/ }).click();
  await page
    .getByRole("link", { name: /parcel/ })
    .first()
    .waitFor();
  expect(new URL(page.url()).searchParams.get("q")).toBe(
    'and(eq(name, "parcel"), eq(error, true))',
  );
  await page.goBack();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  await row.getByText("Paused").waitFor();
  await page.getByRole("button", { name: "Delete alert" }).click();
  await dialog.getByRole("button", { name: "Delete alert" }).click();
  await page.getByText("No alerts", { exact: true }).waitFor();
  expect([opened.problems, opened.strangers]).toEqual([[], []]);
});

test("the retention of new traces is set for the workspace, for all projects and for one", async () => {
  await access.call("POST", "/api/v1/sessions", { name: "kept", trace_tier: "longlived" });
  const tierOf = async (name: string) => {
    const [found] = await access.call<Project[]>("GET", `/api/v1/sessions?name=${name}`);
    return found?.trace_tier;
  };
  await page.goto(urlOf("/settings/retention"));
  const row = page.getByRole("row", { name: /^kept/ });
  const tier = row.getByRole("combobox", { name: "Tier of kept" });
  const save = page.getByRole("button", { name: "Save retention" });
  await tier.waitFor();
  expect([await save.isDisabled(), await tier.inputValue()]).toEqual([true, "longlived"]);
  await page.getByLabel(/^Short-lived/).check();
  await save.click();
  await page.getByText(/by an admin of the workspace/).waitFor();
  expect(await tierOf("kept")).toBe("longlived");
  await page.getByLabel(/^Also set it for all projects/).check();
  await save.click();
  await expect.poll(() => tier.inputValue()).toBe("shortlived");
  const apply = row.getByRole("button", { name: "Apply" });
  await tier.selectOption({ label: "As the workspace" });
  await apply.click();
  await page.getByText("New traces of the project have the tier of the workspace").waitFor();
  await expect.poll(() => tierOf("kept")).toBe(null);
  await tier.selectOption({ label: "Long-lived" });
  expect(await tierOf("kept")).toBe(null);
  await apply.click();
  await page.getByText("New traces of the project are long-lived").waitFor();
  await expect.poll(() => tierOf("kept")).toBe("longlived");
  await row.getByRole("combobox", { name: "Stored traces of kept" }).selectOption("0.1");
  await apply.click();
  await page.getByText("New traces: 10% stored").waitFor();
  const [sampled] = await access.call<Project[]>("GET", "/api/v1/sessions?name=kept");
  expect(sampled?.sampling_rate).toBe(0.1);
  await row.getByRole("button", { name: /^Redaction of kept/ }).click();
  await page.getByLabel("E-mail addresses").check();
  const expressions = page.getByLabel(/^Own expressions/);
  await expressions.click();
  await expressions.pressSequentially("jk");
  expect(await expressions.inputValue()).toBe("jk");
  await expressions.fill("a(b");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("alert").getByText(/RE2/).waitFor();
  await page.getByLabel(/^Own expressions/).fill("AT[0-9]{18}");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await row.getByText("e-mails, 1 expression").waitFor();
  await row.getByRole("button", { name: "Hold", exact: true }).click();
  await page.getByRole("button", { name: "Put on hold" }).click();
  await row.getByText("until the hold ends").waitFor();
  await viewer.goto(urlOf("/settings/retention?q=kep"));
  await viewer.getByRole("row", { name: /^kept/ }).getByText("10% stored").waitFor();
  await viewer.getByRole("row", { name: /^kept/ }).getByText("Long-lived").waitFor();
  await viewer.getByText(/^Short-lived, kept/).waitFor();
  expect(await viewer.locator("main").getByRole("combobox").count()).toBe(0);
  expect(await viewer.getByRole("button", { name: "Save retention" }).count()).toBe(0);
  await viewer.setViewportSize({ width: PHONE_PX, height: 844 });
  await viewer.reload();
  const current = viewer.getByRole("link", { name: "Trace retention" });
  const endOf = async () => {
    const { x, width } = (await current.boundingBox()) ?? { x: PHONE_PX, width: PHONE_PX };
    return x + width;
  };
  await expect.poll(endOf).toBeLessThanOrEqual(PHONE_PX);
  expect(opened.problems).toEqual([]);
});

test("the traces of a person are deleted in all projects, and one trace on its page", async () => {
  const person = `${crypto.randomUUID()}@example.com`;
  const start_time = new Date().toISOString();
  const trace = async (session_name: string, metadata: object) => {
    const id = crypto.randomUUID();
    const times = { start_time, end_time: start_time };
    const run = {
      id,
      trace_id: id,
      name: "asked",
      run_type: "chain",
      inputs: {},
      ...times,
      trace_tier: "shortlived",
    };
    await access.call("POST", "/api/v1/runs", { ...run, session_name, extra: { metadata } });
    return id;
  };
  const isThere = (id: string) =>
    access.call("GET", `/api/v1/runs/${id}`).then(
      () => true,
      () => false,
    );
  const theirs = [await trace("one", { user_id: person }), await trace("two", { user_id: person })];
  const other = await trace("one", { user_id: "somebody" });
  await page.goto(urlOf("/settings/retention"));
  const form = page.getByRole("region", { name: /^Delete the traces/ });
  await form.getByLabel("Id", { exact: true }).fill(person);
  await form.getByRole("button", { name: "Delete traces" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").fill(person);
  await dialog.getByRole("button", { name: "Delete traces" }).click();
  await page.getByText("2 runs deleted.").waitFor();
  expect(await Promise.all([...theirs, other].map(isThere))).toEqual([false, false, true]);

  await page.goto(urlOf(`/traces/${other}`));
  await page.getByRole("button", { name: "Delete trace" }).click();
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByRole("textbox").fill(other.slice(-8));
  await dialog.getByRole("button", { name: "Delete trace" }).click();
  await page.waitForURL(/traces\?project=/);
  expect(await isThere(other)).toBe(false);
  await viewer.goto(urlOf("/settings/retention"));
  await viewer
    .getByText(/, kept /)
    .first()
    .waitFor();
  expect(await viewer.getByRole("button", { name: "Delete traces" }).count()).toBe(0);
  expect(opened.problems).toEqual([]);
});

test("the overview leads to a quota that is used up and to an alert that fires", async () => {
  await access.call("POST", "/v2/deployments", {
    ...{ name: `absent-${crypto.randomUUID().slice(0, 4)}`, source: "github" },
    source_config: { repo_url: `${stack.git.url}/examples/chat.git`, deployment_type: "dev" },
    source_revision_config: { repo_ref: "absent", langgraph_config_path: "langgraph.json" },
  });
  const quotas = [{ meter: "run_seconds", period: "month", limit: 0 }];
  await access.call("PUT", "/v1/quotas", { quotas });
  await access.call("POST", "/v1/alerts", {
    ...{ name: "Out of quota", metric: "quota_used", window_minutes: 5 },
    ...{ operator: "gte", threshold: 0.8, webhook: "https://alerts.invalid/hook" },
  });
  await page.goto(urlOf(""));
  await page.getByRole("heading", { name: /^Failing, last 24 hours/ }).waitFor();
  await page.getByRole("link", { name: "Quota reached: Time of runs" }).waitFor();
  await page.getByRole("link", { name: "Alert: Out of quota" }).click();
  await page.getByText("Used share of a quota ≥ 80%").first().waitFor();
  await page.getByRole("link", { name: "Open the quotas" }).click();
  await page.getByRole("region", { name: "Quota reached: Time of runs" }).waitFor();
  expect(opened.problems).toEqual([]);
});
