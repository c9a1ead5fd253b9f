import { env, exports } from "cloudflare:workers";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import type { Operation } from "../../../scripts/fuzz/document.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { type Belongings, belongings, rowsOf, urlOf } from "../../support/belongings.ts";
import { operationBody } from "../../support/operation-bodies.ts";
import { operations } from "../../support/operations.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

/** `ATTACK_SEED` repeats a run or makes another one. */
const seed = Number(env.ATTACK_SEED);
const BATCHES = 200;
const BATCH = 50;
const EVIL = {
  http: { app: "./src/app.ts:app", enable_custom_route_auth: false, mount_prefix: "/below" },
};

let victim: Belongings;
let other: TestWorkspace;
let evil: { deployment_id: string; revision_id: string };

beforeAll(async () => {
  [victim, other] = await Promise.all([belongings(), workspace()]);
  evil = await testDeployment(other.workspace_id, EVIL);
});

const ATTACKERS = ["no key", "viewer", "admin", "client", "builtin"] as const;
type Attacker = (typeof ATTACKERS)[number];
type Attack = {
  attacker: Attacker;
  operation: Operation;
  method: string | null;
  origin: string;
  prefix: string;
  inserted: { at: number; segment: string }[];
  escaped: number[];
  headers: [string, string][];
  entry: string;
};

/** Names in braces stand for ids, which are known when a test runs. */
const attack: fc.Arbitrary<Attack> = fc.record({
  attacker: fc.constantFrom(...ATTACKERS),
  operation: fc.constantFrom(...operations),
  method: fc.option(fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"), {
    freq: 4,
  }),
  origin: fc.constantFrom(
    ...[
      "https://heddle.test",
      "https://test-{victim}.agents.test",
      "https://test-{evil}.agents.test",
    ],
    ...["https://agent.internal", "https://agents.test", "https://heddle.test:8787"],
  ),
  prefix: fc.constantFrom(
    ...["", "", "/api-host", "/api-host/api-host", "/%61pi-host", "/below", "/below/below", "/."],
    ...["/docs/..", "/docs/%2e%2e", "/docs/..%2f..", "/ok/..;", "/", "\\\\", "/agents/{evil}"],
    ...["/agents/{evil}/..", "/agents/{evil}/../..", "/%61gents/{evil}", "/agents/{evil}/below"],
    ...["/agents/{evil}/revisions/{victim_revision}", "/agents/{evil}@{victim_revision}"],
    ...["/agents/{evil}%2f..%2f..", "/agents/{victim}", "/agents/{victim}%40{victim_revision}"],
  ),
  inserted: fc.array(
    fc.record({
      at: fc.nat(8),
      segment: fc.constantFrom(
        ...["", ".", "..", "%2e", "%2E%2e", "..%2f", "%2f", "%5c", "%00", ";", "%c3", "%zz", "@x"],
        ...[
          "below",
          "api-host",
          "agents",
          "{evil}",
          "{victim}",
          "revisions",
          "custom",
          "%252e%252e",
        ],
      ),
    }),
    { maxLength: 2 },
  ),
  escaped: fc.array(fc.nat(60), { maxLength: 4 }),
  headers: fc.subarray(
    [
      ["X-Tenant-Id", "{victim_workspace}"],
      ["X-Organization-Id", "{victim_organization}"],
      ["X-Auth-Scheme", "langsmith"],
      ["X-Original-Url", "/agents/{victim}/threads/search"],
      ["X-Forwarded-Host", "test-{victim}.agents.test"],
      ["X-Http-Method-Override", "DELETE"],
      ["Authorization", "Bearer null"],
      ["Authorization", "Bearer a.b.c"],
      ["Cookie", "key={victim}"],
      ["Content-Type", "text/plain"],
    ] as [string, string][],
    { maxLength: 3 },
  ),
  entry: fc.constantFrom(
    ...["/agents/{evil}", "/%61gents/{evil}", "/a%67ents/{evil}", "/api-host/agents/{evil}"],
    ...["/api-host/%61gents/{evil}", "/agents/{evil}/below", "/%61gents/{evil}/below"],
    ...["/agents/{evil}/revisions/{evil_revision}", "https://test-{evil}.agents.test"],
  ),
});

function filled(text: string): string {
  const ids: Record<string, string | undefined> = {
    evil: evil.deployment_id,
    evil_revision: evil.revision_id,
    victim: victim.ids.deployment_id,
    victim_revision: victim.ids.revision_id,
    victim_workspace: victim.workspace_id,
    victim_organization: victim.organization_id,
  };
  return text.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "");
}

function pathOf({ operation, prefix, inserted, escaped }: Attack): string {
  const [path = "", query] = urlOf(operation, victim.ids).split("?");
  const segments = path.split("/");
  for (const { at, segment } of inserted) segments.splice(1 + (at % segments.length), 0, segment);
  const letters = [...filled(segments.join("/"))];
  for (const at of escaped) {
    const letter = letters[at] ?? "";
    if (/^\w$/.test(letter)) letters[at] = `%${letter.charCodeAt(0).toString(16)}`;
  }
  const end = query === undefined ? "" : `?${query}`;
  return filled(prefix) + letters.join("") + end;
}

function requestOf(one: Attack) {
  const { operation } = one;
  const method = one.method ?? operation.method;
  const given = operationBody(operation, victim.ids);
  const body = ["GET", "HEAD"].includes(method) ? undefined : given;
  const headers = Object.fromEntries(one.headers.map(([name, value]) => [name, filled(value)]));
  return { url: filled(one.origin) + pathOf(one), method, headers, body };
}

type Answer = { status: number; text: string };

/** In one call per agent's URL, so that ten thousand requests take seconds. */
async function sendByAgent(attacks: Attack[]): Promise<Answer[]> {
  const [first] = attacks;
  if (!first) return [];
  const json = attacks.map((one) => ({ by: one.attacker, ...requestOf(one) }));
  const entry = `${filled(first.entry)}/custom/reach`;
  const response = await api(entry, { key: other.admin, json });
  expect(response.status, entry).toBe(200);
  return response.json();
}

async function send(one: Attack): Promise<Answer> {
  const { url, body, ...init } = requestOf(one);
  const keys: Partial<Record<Attacker, string>> = { viewer: other.viewer, admin: other.admin };
  const key = keys[one.attacker];
  const headers = { "Content-Type": "application/json", ...init.headers };
  const response = await exports.default.fetch(url, {
    ...init,
    redirect: "manual",
    headers: { ...headers, ...(key !== undefined && { "X-Api-Key": key }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await textOf(response) };
}

/** The first part of an answer: a stream of an attacker's own run has no end here. */
function textOf(response: Response): Promise<string> {
  const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream") === true;
  if (!isStream) return response.text();
  return response.body?.cancel().then(() => "") ?? Promise.resolve("");
}

test(`seed ${seed}: ${BATCHES * BATCH} attacks read and change nothing of another workspace`, async () => {
  const before = await rowsOf(victim.workspace_id);
  const batches = fc.array(attack, { minLength: BATCH, maxLength: BATCH });
  const counts: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(batches, async (batch) => {
      const inside = batch.filter(({ attacker }) => ["client", "builtin"].includes(attacker));
      const outside = batch.filter((one) => !inside.includes(one));
      const answers = await Promise.all([sendByAgent(inside), Promise.all(outside.map(send))]);
      for (const { status, text } of answers.flat()) {
        counts[status] = (counts[status] ?? 0) + 1;
        expect(text).not.toContain(victim.marker);
      }
    }),
    { numRuns: BATCHES, seed, endOnFailure: true },
  );
  expect(await rowsOf(victim.workspace_id)).toEqual(before);
  const sent = Object.values(counts).reduce((sum, count) => sum + count, 0);
  expect(sent, JSON.stringify(counts)).toBeGreaterThanOrEqual(BATCHES * BATCH);
}, 600_000);
