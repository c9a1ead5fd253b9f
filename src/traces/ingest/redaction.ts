import { RE2JS } from "re2js";
import type { Redactions } from "../catalogue/table.ts";
import { type IncomingRun, PAYLOADS } from "../changes.ts";
import { digestExtra, digestInputs, digestOutputs, fullKeyBudget } from "../digest.ts";

/** Redacts a text in linear time. Returns a promise for a long text, within which other requests have their turn. */
type Redact = (text: string) => string | Promise<string>;
type Payloads = IncomingRun["payloads"];

// No part repeats without a bound, so that a search takes linear time.
const EMAIL = /[\w.%+-]{1,64}@(?:[\p{L}\d-]{1,63}\.){1,8}\p{L}{2,24}/gu;
const KEY = new RegExp(
  [
    String.raw`\b(?:sk|pk|rk|lsv2_[a-z]{2}|xox[a-z])[-_][\w-]{16,256}`,
    String.raw`\bgh[a-z]_\w{20,256}`,
    String.raw`\bgithub_pat_\w{20,256}`,
    String.raw`\b(?:AKIA|ASIA)[A-Z\d]{16}\b`,
    String.raw`\bAIza[\w-]{35}`,
    String.raw`\beyJ[\w-]{8,4096}\.[\w-]{8,8192}\.[\w-]{8,1024}`,
  ].join("|"),
  "g",
);

/**
 * Number of characters after which other requests have their turn. The largest custom patterns take about 5 µs a
 * character.
 */
const PART_CHARS = 8192;
/** Number of characters behind a part into which a match that begins in the part may extend. */
const MAX_MATCH_CHARS = 4096;
const MAX_CACHED = 100;

const compiled = new Map<string, Redact>();

/**
 * Replaces e-mail addresses, keys and matches of custom patterns, as the project has chosen, in the name, error, tags
 * and payloads of a run. Attachments stay as they are.
 */
export async function redactRun(run: IncomingRun, redactions: Redactions): Promise<IncomingRun> {
  const redact = redactorOf(redactions);
  const { name, error } = run.columns;
  const payloads = await redactPayloads(run.payloads, redact);
  return {
    ...run,
    columns: {
      ...run.columns,
      ...(name !== undefined && { name: await redact(name) }),
      ...(error !== undefined && { error: await redact(error) }),
    },
    payloads,
    ...(run.tags && { tags: await Promise.all(run.tags.map(redact)) }),
    digest: payloads === run.payloads ? run.digest : rebuildDigest(run.digest, payloads),
  };
}

/** @returns the same object when nothing was replaced */
async function redactPayloads(payloads: Payloads, redact: Redact): Promise<Payloads> {
  let changed = payloads;
  for (const name of PAYLOADS) {
    const payload = payloads[name];
    if (payload === undefined || !("text" in payload)) continue;
    const text = await redactJson(payload.text, redact);
    if (text !== payload.text) changed = { ...changed, [name]: { text } };
  }
  return changed;
}

/** Computes the digest again: its terms must not come from text that was redacted. */
function rebuildDigest(before: IncomingRun["digest"], payloads: Payloads): IncomingRun["digest"] {
  const budget = fullKeyBudget();
  const [extra, inputs, outputs] = (["extra", "inputs", "outputs"] as const).map((name) => {
    const payload = payloads[name];
    return payload !== undefined && "text" in payload ? JSON.parse(payload.text) : undefined;
  });
  return {
    ...before,
    ...(extra !== undefined && { extra: digestExtra(extra, budget) }),
    ...(inputs !== undefined && { inputs: digestInputs(inputs, budget) }),
    ...(outputs !== undefined && { outputs: digestOutputs(outputs, budget) }),
  };
}

function redactorOf(redactions: Redactions): Redact {
  const key = JSON.stringify(redactions);
  const cached = compiled.get(key);
  if (cached) return cached;
  const { emails, keys } = redactions;
  // Patterns stay apart: a joined one could not have two groups of the same name.
  const patterns = redactions.patterns.map((pattern) => RE2JS.compile(pattern));
  const redact: Redact = (text) => {
    let redacted = text;
    if (keys) redacted = redacted.replace(KEY, "[redacted key]");
    if (emails && redacted.includes("@")) redacted = redacted.replace(EMAIL, "[redacted email]");
    return redacted.length > PART_CHARS
      ? replaceInParts(patterns, redacted)
      : patterns.reduce(replaceMatches, redacted);
  };
  if (compiled.size >= MAX_CACHED) compiled.clear();
  compiled.set(key, redact);
  return redact;
}

function replaceMatches(text: string, pattern: RE2JS): string {
  return pattern.matcher(text).replaceAll("[redacted]");
}

async function replaceInParts(patterns: RE2JS[], text: string): Promise<string> {
  let redacted = text;
  for (const pattern of patterns) redacted = await replacePatternInParts(pattern, redacted);
  return redacted;
}

/**
 * Replaces matches part by part. `^`, `$` and `\b` match at the ends of a part too, which may redact more of a long
 * text.
 */
async function replacePatternInParts(pattern: RE2JS, text: string): Promise<string> {
  const redacted: string[] = [];
  for (let from = 0; from < text.length; ) {
    await scheduler.wait(0);
    const part = text.slice(from, from + PART_CHARS + MAX_MATCH_CHARS);
    const isLast = from + part.length === text.length;
    const matcher = pattern.matcher(part);
    let at = 0;
    while (matcher.find() && (isLast || matcher.start() < PART_CHARS)) {
      redacted.push(part.slice(at, matcher.start()), "[redacted]");
      at = matcher.end();
    }
    const end = isLast ? part.length : Math.max(at, PART_CHARS);
    redacted.push(part.slice(at, end));
    from += end;
  }
  return redacted.join("");
}

/** Redacts the strings of a JSON text, keys of objects too. Numbers keep their digits. */
async function redactJson(json: string, redact: Redact): Promise<string> {
  const parts: string[] = [];
  let from = 0;
  let sincePause = 0;
  for (let at = json.indexOf('"'); at !== -1; ) {
    const end = endOfString(json, at);
    const literal = json.slice(at, end);
    const text = literal.includes("\\") ? (JSON.parse(literal) as string) : literal.slice(1, -1);
    const result = redact(text);
    const redacted = typeof result === "string" ? result : await result;
    if (redacted !== text) {
      parts.push(json.slice(from, at), JSON.stringify(redacted));
      from = end;
    }
    sincePause += literal.length;
    if (sincePause > PART_CHARS) {
      sincePause = 0;
      await scheduler.wait(0);
    }
    at = json.indexOf('"', end);
  }
  return from === 0 ? json : `${parts.join("")}${json.slice(from)}`;
}

/** @returns the position after the closing quote of the string that begins at `start` */
function endOfString(json: string, start: number): number {
  for (
    let quote = json.indexOf('"', start + 1);
    quote !== -1;
    quote = json.indexOf('"', quote + 1)
  ) {
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return json.length;
}
