import type { BrowserContext, Page, Request } from "playwright-core";

const MAX_TEXT = 1500;
/** A page whose script never returns answers nothing. */
const ANSWER_MS = 5000;

/** Requests under way, with the time at which each began, by open page. */
const pages = new Map<Page, Map<Request, number>>();

/** Follows the pages of a context for `describePages`. */
export function watchPages(context: BrowserContext): void {
  context.on("page", (page) => {
    const pending = new Map<Request, number>();
    pages.set(page, pending);
    page.on("request", (request) => pending.set(request, Date.now()));
    page.on("requestfinished", (request) => pending.delete(request));
    page.on("requestfailed", (request) => pending.delete(request));
    page.on("close", () => pages.delete(page));
  });
}

/** Returns the address, the requests under way and the text of each open page. */
export async function describePages(): Promise<string[]> {
  return Promise.all(
    [...pages].map(async ([page, pending]) => {
      const waits = [...pending].map(([request, since]) => {
        return `waits ${Date.now() - since} ms: ${request.method()} ${request.url()}`;
      });
      return [`Page ${page.url()}`, ...waits, await textOf(page)].join("\n");
    }),
  );
}

async function textOf(page: Page): Promise<string> {
  const silence = new Promise<string>((resolve) => {
    setTimeout(() => resolve("The page does not answer."), ANSWER_MS).unref();
  });
  const text = page
    .evaluate("(document.querySelector('main') ?? document.body).innerText")
    .then(String, String);
  return (await Promise.race([text, silence])).slice(0, MAX_TEXT);
}
