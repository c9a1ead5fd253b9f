import type { Page } from "playwright-core";
import { percentile, round } from "./measure.ts";

/** Each list page below the workspace. */
const LISTS = [
  ...["deployments", "threads", "assistants", "crons", "store", "traces", "exports"],
  ...["connections", "settings/members", "settings/keys", "settings/audit"],
];

/** Runs in the page: resolves when the list, or the text for an empty one, is painted. */
const LIST = 'paintOf("#main :is(tbody tr, .empty, .panel li, .panel .opt)")';

/** Runs in the page: notes how long after its time each line of a log is in the document. */
const LINES = `
  window.linesShown = new Map();
  const times = () => [...document.querySelectorAll(".log .ln span[title]")].map(({ title }) => title);
  const former = new Set(times());
  new MutationObserver(() => {
    for (const time of times()) {
      if (former.has(time) || linesShown.has(time)) continue;
      linesShown.set(time, Date.now() - Date.parse(time));
    }
  }).observe(document.body, { childList: true, subtree: true });`;

/** Milliseconds until each list page shows its rows and takes input, from a reload. */
export async function measureLists(page: Page, root: string): Promise<Record<string, number>> {
  const times: Record<string, number> = {};
  for (const name of LISTS) {
    await page.goto(`${root}/${name}`, { waitUntil: "commit" });
    times[name] = round((await page.evaluate(LIST)) as number);
  }
  return times;
}

/** Milliseconds from the writing of a line of a build's log until it is on the page that follows the build. */
export async function measureLog(page: Page, url: string) {
  await page.goto(url);
  await page.getByRole("log", { name: "Build log" }).waitFor();
  const former = await page.locator("a.rev").count();
  await page.evaluate(LINES);
  await page.getByRole("button", { name: "Build again" }).click();
  await page.locator("a.rev").nth(former).waitFor();
  await page.getByRole("log", { name: "Build log" }).getByText("Stored the artifact").waitFor();
  await page.locator("h2.mono ~ .badge", { hasText: "Serving" }).waitFor();
  return readLines(page);
}

const PRINTED = 20;

/** Milliseconds from the printing of a line by a run until it is on the page that follows the server log. */
export async function measureServerLog(page: Page, url: string, print: PrintLines) {
  await page.goto(`${url}?log=server`);
  await page.getByText("The agents printed nothing in this time.").waitFor();
  await page.evaluate(LINES);
  await print(PRINTED);
  await page.getByText(`${PRINTED} lines`, { exact: true }).waitFor();
  return readLines(page);
}

type PrintLines = (count: number) => Promise<unknown>;

async function readLines(page: Page) {
  const shown = (await page.evaluate("[...linesShown.values()]")) as number[];
  return {
    lines: shown.length,
    p50_ms: percentile(shown, 0.5),
    longest_ms: Math.max(...shown),
  };
}
