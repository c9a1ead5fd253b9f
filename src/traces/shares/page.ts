import { escapeHtml } from "../../shared/http/html.ts";
import type { TraceSpan } from "../live/trace-schema.ts";
import type { PageLimits, SpanTexts } from "./page-service.ts";

const MAX_INDENT = 24;
const DAY_MS = 86_400_000;

const STYLE = [
  ":root{color-scheme:light dark;--line:#8884;--muted:#666;--bad:#b42318}",
  "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}",
  "h1{font-size:1.4rem;margin:0 0 .25rem;overflow-wrap:anywhere}h2{font-size:.8rem;margin:.75rem 0 .25rem;color:var(--muted)}",
  "p{color:var(--muted);margin:.25rem 0 1rem}ol{list-style:none;margin:1.5rem 0;padding:0;border-top:1px solid var(--line)}",
  "li{border-bottom:1px solid var(--line);padding:.35rem 0}summary{cursor:pointer;overflow-wrap:anywhere}",
  "summary:focus-visible{outline:2px solid #1a56db}b{font-weight:600}small{color:var(--muted);margin-left:.5rem}.bad{color:var(--bad)}",
  "pre{margin:0;padding:.75rem;border:1px solid var(--line);border-radius:6px;overflow:auto;max-height:30rem;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;font:13px/1.45 ui-monospace,monospace}",
  ...Array.from({ length: MAX_INDENT }, (_, n) => `.d${n + 1}{padding-left:${(n + 1) * 0.9}rem}`),
  "@media(prefers-color-scheme:dark){:root{--muted:#aaa;--bad:#ff8a80}body{color:#e6e6e6;background:#111}}",
].join("");

/** Begins a page without scripts. The nonce allows its one style sheet. */
export function pageStart(nonce: string, root: TraceSpan, limits: PageLimits): string {
  const name = escapeHtml(root.name);
  return [
    ...head(nonce, name),
    `<h1><bdi>${name}</bdi></h1><p>${escapeHtml(factsOf(root).join(" · "))} · started ${escapeHtml(root.start_time)}</p>`,
    "<p>A trace that its owner shared, read-only, until they revoke this link. ",
    `The page has the first ${limits.runs} runs and the first ${limits.chars} characters of each text. `,
    "Texts above 250 KB are only in the API. Metadata, feedback, events and attachments are not shared.</p><ol>",
  ].join("");
}

export function pageEnd(run_count: number, is_cut: boolean): string {
  const rest = is_cut ? " The trace has more." : " These are all.";
  return `</ol><p>${run_count} ${run_count === 1 ? "run" : "runs"}.${rest}</p></main></body></html>`;
}

export function missingPage(nonce: string): string {
  return [
    ...head(nonce, "Link not found"),
    "<h1>Link not found</h1><p>The link does not exist, was revoked, or its trace was deleted.</p>",
    "</main></body></html>",
  ].join("");
}

export function spanItem(span: TraceSpan, texts: SpanTexts): string {
  const depth = Math.min((span.dotted_order ?? "").split(".").length - 1, MAX_INDENT);
  const sections = Object.entries(texts).flatMap(([title, text]) =>
    text === null ? [] : [`<h2>${title}</h2><pre>${escapeHtml(text)}</pre>`],
  );
  const isBad = span.status === "ERROR" ? ' class="bad"' : "";
  return [
    `<li class="d${depth}"><details><summary><b${isBad}><bdi>${escapeHtml(span.name)}</bdi></b>`,
    `<small>${escapeHtml(factsOf(span).join(" · "))}</small></summary>`,
    ...sections,
    "</details></li>",
  ].join("");
}

function factsOf({ run_type, status, start_time, end_time, ...rest }: TraceSpan): string[] {
  const facts = [run_type.toLowerCase(), status.toLowerCase()];
  if (end_time !== null) facts.push(duration(Date.parse(end_time) - Date.parse(start_time)));
  if (rest.total_tokens !== null) facts.push(`${rest.total_tokens} tokens`);
  if (rest.total_cost !== null) facts.push(`$${rest.total_cost}`);
  return facts;
}

function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  return ms < DAY_MS ? `${(ms / 1000).toFixed(2)} s` : `${(ms / DAY_MS).toFixed(1)} days`;
}

function head(nonce: string, title: string): string[] {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="robots" content="noindex, nofollow"><link rel="icon" href="data:,">',
    `<title>${title}</title><style nonce="${nonce}">${STYLE}</style></head><body><main>`,
  ];
}
