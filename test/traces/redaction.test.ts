import { expect, test } from "vitest";
import { api } from "../support/workspace.ts";
import { type Scene, scene, send } from "./support/expiry.ts";
import { hexId, JSON_TYPE, sendSpans, toJson } from "./support/otlp.ts";
import { read, wireRun } from "./support/runs.ts";
import { placesOf } from "./support/storage-scan.ts";

const unique = () => crypto.randomUUID().replaceAll("-", "");

function redacting({ ours, project_id }: Scene, redactions: unknown): Promise<Response> {
  const json = { redactions };
  return api(`/sessions/${project_id}`, { key: ours.editor, method: "PATCH", json });
}

async function projectWith(redactions: object): Promise<Scene> {
  const place = await scene(null);
  expect((await redacting(place, redactions)).status).toBe(200);
  return place;
}

test("no byte of an address, a key or a match of a pattern is stored, wherever a run has it", async () => {
  const patterns = ["customer-[0-9a-f]{32}"];
  const place = await projectWith({ emails: true, keys: true, patterns });
  const [mark, customer] = [unique(), unique()];
  const secrets = [`${mark}@example.com`, `sk-${mark}`, `customer-${customer}`];
  const text = `\u00e4 "${secrets.join('"\n')}" \\`;
  const run = wireRun(place.name, {
    ...{ name: text, error: text, tags: [text], events: [{ name: text }], serialized: { text } },
    inputs: { [secrets[0] ?? ""]: text, exact: 1 },
    outputs: { deep: [{ text: text.repeat(2000) }] },
    extra: { metadata: { user: text } },
  });
  await send(place, run);
  const stored = await read(place.ours.viewer, run.id);
  const shown = '\u00e4 "[redacted email]"\n[redacted key]"\n[redacted]" \\';
  expect(stored).toMatchObject({
    ...{ name: shown, error: shown, tags: [shown] },
    inputs: { "[redacted email]": shown, exact: 1 },
    extra: { metadata: { user: shown } },
  });
  expect([await placesOf(mark), await placesOf(customer)]).toEqual([[], []]);
});

test("numbers keep their digits, and texts without a match are stored as they came", async () => {
  const place = await projectWith({ emails: true, keys: true, patterns: [] });
  const inputs = '{"n":12345678901234567890.10,"at":"a@b","text":"x\\u0040y.org \\ud83d"}';
  const run = wireRun(place.name);
  const body = JSON.stringify({ post: [run] }).replace('{"question":"why"}', inputs);
  const headers = { "Content-Type": "application/json" };
  const key = place.ours.editor;
  expect((await api("/runs/batch", { key, method: "POST", body, headers })).status).toBe(202);
  const answer = await api(`/runs/${run.id}`, { key });
  expect(await answer.text()).toContain(
    '{"n":12345678901234567890.10,"at":"a@b","text":"[redacted email] \\ud83d"}',
  );
});

test("a private key over the end of a part of a long text is replaced", async () => {
  const place = await projectWith({
    patterns: ["-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----"],
  });
  const key = `-----BEGIN PRIVATE KEY-----\n${"x".repeat(3200)}\n-----END PRIVATE KEY-----`;
  const [before, after] = ["y".repeat(8000), "z".repeat(9000)];
  const run = wireRun(place.name, { inputs: { text: before + key + after } });
  await send(place, run);
  const { inputs } = await read(place.ours.viewer, run.id);
  expect(inputs).toEqual({ text: `${before}[redacted]${after}` });
});

test("a match over the end of a part of a long text is replaced, and null keeps texts again", async () => {
  const place = await projectWith({ patterns: ["secret-\\d+"] });
  const long = "x".repeat(65_530);
  const text = `${long}secret-123456${long}secret-1`;
  const runs = [wireRun(place.name, { inputs: { text } }), wireRun(place.name)];
  await send(place, ...runs);
  const stored = await read(place.ours.viewer, runs[0]?.id ?? "");
  expect(stored.inputs).toEqual({ text: `${long}[redacted]${long}[redacted]` });
  expect((await redacting(place, null)).status).toBe(200);
  const kept = wireRun(place.name, { inputs: { text: "secret-1" } });
  await send(place, kept);
  expect((await read(place.ours.viewer, kept.id)).inputs).toEqual({ text: "secret-1" });
});

test("patterns with groups of the same name, or an open quotation, redact together", async () => {
  const patterns = ["card (?P<id>\\d+)", "iban (?P<id>\\w+)", "\\Q(top secret"];
  const place = await projectWith({ patterns });
  const run = wireRun(place.name, { inputs: { text: "card 12, iban DE34, (top secret plan" } });
  await send(place, run);
  const stored = await read(place.ours.viewer, run.id);
  expect(stored).toMatchObject({ inputs: { text: "[redacted], [redacted], [redacted] plan" } });
});

test("spans are redacted, too", async () => {
  const place = await projectWith({ emails: true });
  const mark = unique();
  const attributes = {
    "gen_ai.prompt": `write to ${mark}@example.com`,
    note: `${mark}@example.com`,
  };
  const span = { trace: hexId(16), id: hexId(8), name: "ask", attributes };
  const sent = { key: place.ours.editor, type: JSON_TYPE, project: place.name };
  expect((await sendSpans(toJson([span]), sent)).status).toBe(200);
  expect(await placesOf(mark)).toEqual([]);
});

test.each([
  ["an expression that does not end", ["a(b"], "RE2"],
  ["one that matches nothing", ["x*"], "empty"],
  ["one that looks back", ["(a)\\1"], "RE2"],
  ["too many", Array.from({ length: 11 }, () => "a"), "10"],
  ["too long ones", ["a".repeat(201)], "200"],
  ["large repetitions", ["a[ab]{300}c", "b[ab]{300}d"], "500"],
])("%s is refused by its place", async (_case, patterns, why) => {
  const place = await scene(null);
  const refused = await redacting(place, { patterns });
  const text = await refused.text();
  expect([refused.status, text]).toEqual([422, expect.stringContaining("patterns")]);
  expect(text).toContain(why);
});
