import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import type { Deployment } from "../../src/control-plane/deployments/schema.ts";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { client } from "./support/clients.ts";
import { type ConsolePage, consoleUrl, openConsole, violationsOf } from "./support/console.ts";
import { build, exampleUrl } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { stack, until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

const HOSTILE = '<img src=x onerror="document.title=1"> \u202Eright to left\u202C \u0007{{7*7}}';
const REFUND = "Please refund order 1042 with 19.90";

let browser: Browser;
let chat: string;
let graphs: string;
let opened: ConsolePage;
let page: Page;
beforeAll(async () => {
  browser = await startBrowser();
  const [built, id] = await Promise.all([build("chat", exampleUrl("chat")), deployTestAgent()]);
  chat = built.id;
  graphs = id;
  opened = await openConsole(browser);
  page = opened.page;
});
afterAll(() => browser?.close());

function humanInput(content: string) {
  return { input: { messages: [{ role: "user", content }] } };
}

const messages = (where: Page) => where.getByRole("region", { name: "Messages" });

const threadUrl = (deployment: string, thread_id: string, search = "") =>
  consoleUrl(`/threads/${deployment}/${thread_id}${search}`);

async function createThread(deployment: string, metadata: Record<string, unknown> = {}) {
  const { thread_id } = await client(deployment).threads.create({ metadata });
  return thread_id;
}

async function expectNoOverflow(where: Page) {
  const overflow = "document.documentElement.scrollWidth - innerWidth";
  expect([where.url(), await where.evaluate(overflow)]).toEqual([where.url(), 0]);
}

test("threads are searched by metadata, state and status, paged in the address, and paused", async () => {
  const tag = crypto.randomUUID();
  const { runs } = client(graphs);
  const [failed, waiting] = [
    await createThread(graphs, { tag, n: 1 }),
    await createThread(graphs, { tag, n: 2 }),
  ];
  await runs.wait(failed, "fails", { input: {} }).catch(() => {});
  await runs.wait(waiting, "ask", { input: { log: [tag] } });
  await createThread(graphs, { tag, cron_id: "nightly" });
  await page.goto(consoleUrl(`/threads?deployment=${graphs}&q=tag%3D${tag}`));
  await page.getByRole("button", { name: "All 3" }).waitFor();
  await page.getByRole("checkbox", { name: "Without crons" }).check();
  const rows = page.getByRole("table", { name: "Threads" }).getByRole("row");
  await page.getByRole("button", { name: "All 2" }).waitFor();
  await page.getByRole("button", { name: "Waiting 1" }).click();
  await page.waitForURL(/status=interrupted/);
  await rows.getByText("go on?").waitFor();
  await page.getByRole("searchbox").fill(`values.log=["${tag}"] words`);
  await page.getByText("Not searched for: words").waitFor();
  const texts = page.getByRole("link", { name: "Search the texts of its traces" });
  expect(await texts.getAttribute("href")).toContain("q=search%28%22words%22%29");
  await page.getByRole("button", { name: "All 1" }).click();
  await page.reload();
  await rows.getByText("go on?").waitFor();
  await page.getByRole("searchbox").fill(`tag=${tag} n=3`);
  await page.getByRole("heading", { name: "No thread matches" }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("status").getByText("Paused").waitFor();
  await createThread(graphs, { tag, n: 3 });
  await page.getByRole("button", { name: "Follow" }).click();
  await page.getByRole("button", { name: "All 1" }).waitFor();
  await rows.getByText("n: 3").waitFor();
  await createThread(graphs, { tag, n: 3, newer: true });
  const fresh = page.getByRole("button", { name: "Show 1 new thread" });
  await fresh.waitFor();
  expect(await rows.getByText("newer").count()).toBe(0);
  await fresh.click();
  await rows.getByText("newer").waitFor();
  expect(await violationsOf(page)).toEqual([]);
});

test("a chat in the playground is streamed, survives a reload in the middle, and is seen in another tab", async () => {
  await page.goto(consoleUrl(`/playground?deployment=${chat}`));
  await page.getByRole("img", { name: /^Graph chat: start, model, approve, tools, end/ }).waitFor();
  const words = Array.from({ length: 4000 }, (_, n) => `word${n}`).join(" ");
  await page.getByLabel("Write to the agent").fill(words);
  await page.getByLabel("Write to the agent").press("Control+Enter");
  await page.waitForURL(/thread=/);
  await page.getByText(/You said "word0 word1 word2/).waitFor();
  await page.reload();
  const { searchParams } = new URL(page.url());
  const other = await opened.context.newPage();
  await other.goto(threadUrl(chat, searchParams.get("thread") ?? ""));
  for (const each of [page, other]) {
    await messages(each)
      .getByText(/You said "word0 word1 word2/)
      .waitFor();
    expect(await each.locator(".msg").count()).toBe(2);
  }
  await page.keyboard.press("Escape");
  await other.getByRole("region", { name: "Runs" }).getByText("Interrupted").waitFor();
  await page.getByText("The run was stopped here.").waitFor();
  await other.locator("header.top").getByText("Stopped").waitFor();
  await messages(page)
    .getByText(/You said "word0 word1 word2/)
    .waitFor();
  await other.getByLabel("Write to the agent").fill("What is 6 * 7?");
  await other.getByRole("button", { name: "Send" }).click();
  for (const each of [page, other]) await messages(each).getByText("Done: 42").waitFor();
  await page.getByRole("img", { name: /model done, tools done/ }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await other.close();
});

test("a waiting thread is opened from the overview and its refund approved, by keyboard alone", async () => {
  const thread_id = await createThread(chat);
  await client(chat).runs.wait(thread_id, "chat", humanInput(REFUND));
  await page.goto(consoleUrl(""));
  await page.getByRole("link", { name: "Review" }).first().focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/threads\/[0-9a-f-]{36}\/[0-9a-f-]{36}$/);
  await page.goto(threadUrl(chat, thread_id));
  const card = page.getByRole("article", { name: "refund_order waits for a person" });
  await card.getByText('"1042"').waitFor();
  expect(await card.getByRole("button", { name: "Edit" }).count()).toBe(0);
  await page.getByText("A message discards what waits for an answer: refund_order").waitFor();
  await page.getByRole("button", { name: "Send and discard" }).waitFor();
  await card.getByRole("button", { name: "Approve refund_order" }).focus();
  await page.keyboard.press("Enter");
  await messages(page).getByText("Done: Refunded 19.90 for order 1042.").waitFor();
  await card.waitFor({ state: "detached" });
  const runs = page.getByRole("region", { name: "Runs" });
  await runs.getByText("approved refund_order", { exact: true }).waitFor();
  await page.reload();
  await runs.getByText("approved refund_order", { exact: true }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
});

test("a refusal with its reason, and an answer in JSON, reach the agent", async () => {
  const [refused, plain] = [await createThread(chat), await createThread(graphs)];
  await client(chat).runs.wait(refused, "chat", humanInput(REFUND));
  await client(graphs).runs.wait(plain, "ask", { input: {} });
  await page.goto(threadUrl(chat, refused));
  await page.getByRole("button", { name: "Reject" }).click();
  await page.getByLabel("Reason, which the agent reads").fill("too late");
  await page.getByRole("button", { name: "Reject refund_order" }).click();
  await messages(page).getByText("Done: A person refused: too late").waitFor();
  await expectLinksOf(refused);

  await page.goto(threadUrl(graphs, plain));
  await page.getByRole("button", { name: "As JSON" }).click();
  await page.getByLabel("Answer as JSON").fill("yes");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByText(/Not JSON: .* Put text in double quotes/).waitFor();
  await page.getByLabel("Answer as JSON").fill('"yes"');
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await messages(page).getByText("answer: yes").waitFor();
});

/** Follows the links of a thread to its revision, the server log and its traces, and back from a trace. */
async function expectLinksOf(thread_id: string) {
  const details = threadUrl(chat, thread_id, "?tab=details");
  const agent = page.getByRole("complementary", { name: "Thread details" });
  await page.goto(details);
  await agent.getByRole("link", { name: "Revision" }).click();
  await page.waitForURL(/deployments\/.*rev=/);
  await page.goBack();
  await agent.getByRole("link", { name: "Server log" }).click();
  await page.waitForURL(/log=server/);
  await page.locator("[role=log], h3:text('No lines'), h2:text('No lines')").first().waitFor();
  await page.goBack();
  await agent.getByRole("link", { name: "Traces" }).click();
  const traces = page.getByRole("table", { name: "Traces" }).locator("tbody tr:not(.spacer)");
  await traces.nth(1).waitFor();
  expect(await traces.count()).toBe(2);
  const project = new URL(page.url()).searchParams.get("project");
  await traces.first().getByRole("link").first().click();
  await page.getByRole("link", { name: "Open thread" }).click();
  await page.waitForURL(new RegExp(`threads/${chat}/${thread_id}`));
  await page.goto(consoleUrl(`/monitor?project=${project}&range=24h`));
  const revisions = page.getByRole("list", { name: "Revisions that began to serve" });
  await revisions.getByRole("link").first().click();
  await page.waitForURL(/deployments\/.*rev=/);
}

test("the server log shows lines of a run in progress, is paused, and continues after its last line", async () => {
  const connections: (string | undefined)[] = [];
  page.on("request", (sent) => {
    if (sent.url().includes("/logs/stream")) connections.push(sent.headers()["last-event-id"]);
  });
  const { runs } = client(graphs);
  const thread_id = await createThread(graphs);
  await page.goto(consoleUrl(`/deployments/${graphs}?log=server&range=15m&find=ir`));
  const log = page.getByRole("log", { name: "Server log" });
  const { run_id } = await runs.create(thread_id, "talks", { input: {} });
  await log.getByText('first of 3 {"a":1}').waitFor();
  expect((await runs.get(thread_id, run_id)).status).toBe("running");

  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText(/^1 line; paused$/).waitFor();
  await runs.cancel(thread_id, run_id, true);
  const third = { query: "third", order: "asc" };
  await expect
    .poll(() => request("POST", `/v1/projects/${graphs}/deploy_logs`, third))
    .toMatchObject({ body: { logs: [{ message: "third" }] } });
  expect(await log.getByText("third").count()).toBe(0);
  await page.getByRole("button", { name: "Follow", exact: true }).click();
  await log.getByText("third").waitFor();
  expect(await log.getByText('first of 3 {"a":1}').count()).toBe(1);
  expect(connections).toEqual([undefined, expect.stringMatching(/^\d+$/)]);
});

test("a checkpoint shows its state and what it changed; a fork runs from there, and edits write there", async () => {
  const thread_id = await createThread(graphs);
  await client(graphs).runs.wait(thread_id, "steps", { input: {} });
  await page.goto(threadUrl(graphs, thread_id));
  const slider = page.getByRole("slider", { name: "Checkpoint" });
  await page.getByText("checkpoint 5 of 5, after c").waitFor();
  await slider.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.waitForURL(/cp=/);
  await page.getByText("checkpoint 3 of 5, before b").waitFor();
  const changes = page.getByRole("region", { name: "Changes" });
  await changes.getByText("log.0").waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Fork from here" }).click();
  await page.getByText(/checkpoint ([678]) of \1, after c/).waitFor();

  await page.getByRole("button", { name: "Edit state" }).click();
  const values = page.getByLabel("Values to write, as JSON");
  await values.fill('{"log": [by hand]}');
  await page.getByRole("button", { name: "Write state" }).click();
  await page.getByRole("alert").getByText("Put text in double quotes").waitFor();
  await values.fill('{"log": ["by hand"]}');
  await page.getByRole("button", { name: "Write state" }).click();
  await page.getByText(/checkpoint ([789]) of \1, state edited/).waitFor();
  await changes.getByText('"by hand"').waitFor();
  await page.goBack();
  await page.goForward();
  await changes.getByText('"by hand"').waitFor();
  expect(await violationsOf(page)).toEqual([]);
});

test("runs wait in order, and are cancelled or rolled back", async () => {
  const thread_id = await createThread(graphs);
  const { runs } = client(graphs);
  await runs.create(thread_id, "steps", { input: { delay_ms: 60_000 } });
  const next = await runs.create(thread_id, "steps", { input: { log: ["second"] } });
  await page.goto(threadUrl(graphs, thread_id));
  const queue = page.getByRole("region", { name: "Runs" }).getByRole("listitem");
  await queue.nth(1).getByText("Queued").waitFor();
  await page.getByRole("button", { name: "Cancel run 2" }).click();
  await page.getByRole("button", { name: "Let it run" }).click();
  await page.getByRole("button", { name: "Cancel run 1" }).click();
  await page.getByRole("radio", { name: /Roll back/ }).check();
  await page.getByRole("button", { name: "Roll back run" }).click();
  await messages(page).getByText('"c"').waitFor();
  await queue.getByText("Ended").waitFor();
  expect((await runs.list(thread_id)).map(({ run_id }) => run_id)).toEqual([next.run_id]);
});

test("an answer that comes late does not bring a reader back to the page that was left", async () => {
  const { runs } = client(chat);
  const thread_id = await createThread(chat);
  await runs.wait(thread_id, "chat", humanInput("hello"));
  await page.goto(threadUrl(chat, thread_id));
  await page.getByLabel("Write to the agent").fill("What is 6 * 7?");
  const left = Promise.withResolvers<void>();
  await page.route(/\/runs$/, async (route) => {
    if (route.request().method() === "POST") await left.promise;
    await route.continue();
  });
  const answered = page.waitForResponse(
    (response) => response.request().method() === "POST" && response.url().endsWith("/runs"),
  );
  await page.getByLabel("Write to the agent").press("Control+Enter");
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.type("deployments");
  await page.keyboard.press("Enter");
  await page.getByRole("table", { name: "Deployments" }).waitFor();
  left.resolve();
  await (await answered).finished();
  await page.unrouteAll({ behavior: "wait" });
  // The page that was left would have changed the address within a moment.
  await page.waitForTimeout(1000);
  expect(new URL(page.url()).pathname).toMatch(/\/deployments$/);
});

test("a half-written message outlives the session, and a second one waits behind its run", async () => {
  const { page: own, context } = await openConsole(browser);
  const thread_id = await createThread(chat);
  await client(chat).runs.wait(thread_id, "chat", humanInput("hello"));
  await own.goto(threadUrl(chat, thread_id));
  const field = own.getByLabel("Write to the agent");
  await field.fill("half written");
  await context.clearCookies();
  await own.reload();
  await own.getByLabel("API key").fill(stack.api_key);
  await own.getByRole("button", { name: "Sign in" }).click();
  await field.waitFor();
  expect(await field.inputValue()).toBe("half written");

  await own.goto(consoleUrl(`/playground?deployment=${chat}`));
  await field.fill(Array.from({ length: 4000 }, (_, n) => `word${n}`).join(" "));
  await field.press("Control+Enter");
  await own.waitForURL(/thread=/);
  await field.fill("and then this");
  await own.getByRole("button", { name: "Send", exact: true }).click();
  await own.getByText("1 run waiting").waitFor();
  await own.getByRole("button", { name: "Stop", exact: true }).click();
  await messages(own).getByText('You said "and then this"').waitFor();
  await context.close();
});

test("a graph without messages has a form of its input, and its failure is shown in words", async () => {
  await page.goto(consoleUrl(`/playground?deployment=${graphs}&assistant=typed`));
  await page.getByLabel("city").fill("Bern");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/thread=/);
  await messages(page).getByText("model: undefined").waitFor();
  await page.goto(consoleUrl(`/playground?deployment=${graphs}&assistant=fails`));
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const alert = page.getByRole("alert");
  await alert.getByText("the node broke").waitFor();
  expect(await alert.getByRole("link").allInnerTexts()).toEqual(["Trace", "Server log"]);
  await page.getByRole("img", { name: /boom failed/ }).waitFor();
  await alert.getByRole("button", { name: "Run again from the last checkpoint" }).click();
  const thread_id = new URL(page.url()).searchParams.get("thread") ?? "";
  const countRuns = async () => (await client(graphs).runs.list(thread_id)).length;
  await until("Another run", countRuns, (runs) => runs === 2);
  await alert.getByRole("link", { name: "Trace" }).click();
  await page.waitForURL(/\/traces\/[0-9a-f-]{36}/);
  await page.getByText("the node broke").first().waitFor();
});

test("text of users is shown as text, and a viewer changes nothing", async () => {
  const thread_id = await createThread(chat, { note: HOSTILE });
  await client(chat).runs.wait(thread_id, "chat", humanInput(`${HOSTILE} ${"w".repeat(100_000)}`));
  const { body } = await request<{ key: string }>("POST", "/api/v1/api-key", { role: "viewer" });
  const viewer = await openConsole(browser, `/threads?deployment=${chat}`, {
    key: body.key,
    width: 390,
  });
  await viewer.page.getByRole("link", { name: "<img src=x" }).click();
  await viewer.page.getByText("Editors and admins send messages.").waitFor();
  await viewer.page.getByRole("tab", { name: "Details" }).click();
  await viewer.page
    .getByRole("button", { name: /Show all 100,\d+ characters/ })
    .first()
    .waitFor();
  expect(await viewer.page.locator("main img").count()).toBe(0);
  expect(
    await viewer.page.getByRole("button", { name: /Send|Delete|Edit|Fork|Cancel/ }).count(),
  ).toBe(0);
  await expectNoOverflow(viewer.page);
  expect([viewer.problems, viewer.strangers]).toEqual([[], []]);
  expect([opened.problems, opened.strangers]).toEqual([[], []]);
  await viewer.context.close();
});

test("a thread that does not exist is named, and what cannot be reached is tried again", async () => {
  await page.goto(threadUrl(chat, crypto.randomUUID()));
  await page.getByRole("alert").getByText("The thread could not be read.").waitFor();
  await page.goto(consoleUrl(`/threads?deployment=${chat}`));
  await page.getByRole("table", { name: "Threads" }).waitFor();
  await opened.context.setOffline(true);
  await page.getByRole("status").getByText("Not live").waitFor();
  expect(await page.getByRole("table", { name: "Threads" }).count()).toBe(1);
  await opened.context.setOffline(false);
  await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
});

test("the playground opens an assistant beyond the first hundred, and names one that does not exist", async () => {
  const { assistants } = client(chat);
  const create = (n: number) => assistants.create({ graphId: "chat", name: `Assistant ${n}` });
  await Promise.all(Array.from({ length: 100 }, (_, n) => create(n)));
  const { assistant_id } = await create(100);
  await page.goto(consoleUrl(`/playground?deployment=${chat}&assistant=${assistant_id}`));
  await page.getByText("Talk to Assistant 100").waitFor();
  await page.goto(consoleUrl(`/playground?deployment=${chat}&assistant=${crypto.randomUUID()}`));
  await page.getByText("The agent has no assistant with this id.").waitFor();
});

test("the playground names a revision of the address that the list does not have", async () => {
  const { body } = await request<Deployment>("GET", `/v2/deployments/${chat}`);
  const revision = body.active_revision_id ?? "";
  await page.route(/\/revisions(\?|$)/, (route) =>
    route.fulfill({ json: { resources: [], offset: 0 } }),
  );
  await page.goto(consoleUrl(`/playground?deployment=${chat}&revision=${revision}`));
  const choice = page.getByRole("combobox", { name: "Revision" });
  await choice.getByText(revision.slice(-8)).waitFor({ state: "attached" });
  expect(await choice.inputValue()).toBe(revision);
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("a message that is accepted while another page loads changes no address", async () => {
  const { page: own } = await openConsole(browser);
  const thread_id = await createThread(graphs);
  await client(graphs).runs.wait(thread_id, "echo", humanInput("hello"));
  await own.goto(threadUrl(graphs, thread_id));
  await messages(own).getByText("hello").first().waitFor();
  const [accepted, loaded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await own.route(/\/threads\/[^/]+\/runs$/, async (route) => {
    if (route.request().method() === "POST") await accepted.promise;
    await route.continue();
  });
  await own.route(/\/console\/assets\//, async (route) => {
    await loaded.promise;
    await route.continue();
  });
  await own.getByLabel(/^Write to the agent/).fill("and again");
  await own.keyboard.press("Control+Enter");
  await own.getByRole("link", { name: "Monitor" }).first().click();
  await own.waitForURL(/\/monitor/);
  const started = own.waitForResponse((response) => response.request().method() === "POST");
  accepted.resolve();
  await (await started).finished();
  // Reads that the page repeats after the start of a run.
  await own.waitForResponse(/\/threads\/[^/]+\/runs\?/);
  loaded.resolve();
  await own.getByRole("heading", { name: "Monitor" }).waitFor();
  expect(own.url()).toMatch(/\/monitor/);
  await own.context().close();
});
