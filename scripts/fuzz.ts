// `npm run fuzz`: sends valid and invalid requests to every operation of a local stack. Exit code 1 when an answer
// contradicts /openapi.json, or when too few requests were sent to cover all operations.
//
// --seconds <n>  as many as fit into that time, four at once
// --rounds <n>   n for each operation, one after another: the same requests in the same order for each seed
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { startStack } from "../local/stack.ts";
import { createWorkspace } from "../local/workspace.ts";
import { runWrangler } from "../local/wrangler.ts";
import { type Answer, checker } from "./fuzz/answers.ts";
import { type Document, type Operation, operationsOf } from "./fuzz/document.ts";
import { idPool, type Pool } from "./fuzz/pool.ts";
import { resolveIds } from "./fuzz/references.ts";
import { encode, type FuzzRequest, partsOf } from "./fuzz/requests.ts";
import { createResources, type Target } from "./fuzz/target.ts";
import { readOptions } from "./options.ts";

type Seen = {
  pool: Pool;
  check: ReturnType<typeof checker>;
  /** The last refusal of each operation that never succeeded. */
  refused: Map<string, string>;
};
type Finding = { operation: string; what: string; times: number; number: number; curl: string };

/** Long enough for a busy machine: a later answer counts as none. */
const ANSWER_MS = 30_000;
/** Paths that wait for a run or a person, and may never answer: no answer in `WAITING_MS` is accepted. */
const WAITING = /\/(wait|join|stream)\b/;
const WAITING_MS = 3000;
const LANES = 4;

const { values } = readOptions({
  seconds: { type: "string", default: "120" },
  rounds: { type: "string" },
  seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  only: { type: "string" },
});
const seed = Number(values.seed);
const dir = join(process.env.HEDDLE_DIR ?? ".heddle", "fuzz");
await rm(dir, { recursive: true, force: true });
const amount = values.rounds ? `--rounds ${values.rounds}` : `--seconds ${values.seconds}`;
console.log(`Seed ${seed}; the same again: npm run fuzz -- --seed ${seed} ${amount}`);
const stack = await startStack({ dir, quiet: true });
try {
  await fuzz({ base_url: stack.info.base_url, api_keys: [stack.info.api_key, await anotherKey()] });
} finally {
  await stack.stop();
}

/** Creates a second key, because rate limits count each key separately. The limits are not under test. */
async function anotherKey(): Promise<string> {
  const order = { org: "local", plan: "enterprise", name: "local", role: "admin" } as const;
  return (await createWorkspace(order, (args) => runWrangler(dir, args))).api_key;
}

async function fuzz(target: Target): Promise<void> {
  const document = (await (await fetch(`${target.base_url}/openapi.json`)).json()) as Document;
  const operations = operationsOf(document).filter(({ id }) =>
    [undefined, id].includes(values.only),
  );
  const pool = idPool(await createResources(target, stack.info));
  const check = checker(document);
  const findings = new Map<string, Finding>();
  const refused = new Map(operations.map(({ id }) => [id, "not tried"]));
  const limit = values.rounds
    ? Number(values.rounds) * operations.length
    : Number.POSITIVE_INFINITY;
  const until = values.rounds
    ? Number.POSITIVE_INFINITY
    : Date.now() + Number(values.seconds) * 1000;
  const hash = createHash("sha256");
  let next = 0;
  const lane = async () => {
    while (next < limit && Date.now() < until) {
      const number = next++;
      const operation = operations[number % operations.length];
      if (operation === undefined) throw new Error(`No operation is called ${values.only}`);
      const parts = partsOf(document, operation, seed + number);
      hash.update(JSON.stringify([operation.id, parts]));
      const request = encode(operation, resolveIds(parts, operation, pool));
      const what = await attempt(target, operation, request, { pool, check, refused });
      if (what !== null)
        note(findings, { operation: operation.id, what, number, curl: toCurl(operation, request) });
    }
  };
  await Promise.all(Array.from({ length: values.rounds ? 1 : LANES }, lane));
  console.log(`Requests before ids are filled in: SHA-256 ${hash.digest("hex")}`);
  report([...findings.values()], operations.length, refused, next);
}

/** Sends a request and remembers ids of the answer. Returns the problem of the answer, or `null`. */
async function attempt(
  target: Target,
  operation: Operation,
  request: FuzzRequest,
  { pool, check, refused }: Seen,
) {
  const answer = await send(target, operation, request);
  if (answer === "waits") return null;
  if (typeof answer === "string") return answer;
  const what = check(operation, answer);
  if (answer.status >= 300 && refused.has(operation.id)) {
    refused.set(operation.id, `${answer.status} ${answer.text.slice(0, 150)}`);
  }
  if (what === null && answer.status < 300) {
    refused.delete(operation.id);
    if (answer.type === "application/json") pool.learn(operation, JSON.parse(answer.text));
  }
  return what === null ? null : `${what} | ${answer.text.slice(0, 200)}`;
}

async function send(
  { base_url, api_keys }: Target,
  { method }: Operation,
  { path, headers, body }: FuzzRequest,
): Promise<Answer | string> {
  const isWaiting = WAITING.test(path);
  const init: RequestInit = {
    method,
    headers: { ...headers, "x-api-key": keyFor(api_keys, path) },
    redirect: "manual",
    signal: AbortSignal.timeout(isWaiting ? WAITING_MS : ANSWER_MS),
    ...(body === undefined ? {} : { body }),
  };
  try {
    return await read(await fetch(base_url + path, init));
  } catch (error) {
    return whyNone(error, isWaiting);
  }
}

/**
 * Chooses the key by the path. Operations below /v1/ and /v2/ get the first one: some are for user tokens, which belong
 * to one key.
 */
function keyFor([first = "", second = first]: readonly string[], path: string): string {
  return path.startsWith("/v2/") || path.startsWith("/v1/") ? first : second;
}

function whyNone(error: unknown, isWaiting: boolean): string {
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  if (isLate) return isWaiting ? "waits" : `no answer in ${ANSWER_MS} ms`;
  return `no answer: ${error instanceof Error ? error.message : error}`;
}

async function read(response: Response): Promise<Answer> {
  const type = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
  const { status } = response;
  if (type !== "text/event-stream") return { status, type, text: await response.text() };
  await response.body?.cancel();
  return { status, type, text: "" };
}

function note(findings: Map<string, Finding>, finding: Omit<Finding, "times">): void {
  const key = `${finding.operation} ${finding.what.split(" | ")[0]}`;
  const known = findings.get(key);
  if (known === undefined) findings.set(key, { ...finding, times: 1 });
  else known.times++;
}

function toCurl({ method }: Operation, { path, headers, body }: FuzzRequest): string {
  const quote = (text: string) => `'${text.slice(0, 2000).replaceAll("'", "'\\''")}'`;
  const given = Object.entries(headers).map(([name, value]) => ` -H ${quote(`${name}: ${value}`)}`);
  const data = body === undefined ? "" : ` --data-binary ${quote(body)}`;
  return `curl -X ${method} -H "X-Api-Key: $KEY"${given.join("")}${data} "$BASE_URL"${quote(path)}`;
}

function report(
  findings: Finding[],
  operations: number,
  refused: Map<string, string>,
  requests: number,
): void {
  for (const { operation, what, times, number, curl } of findings) {
    console.log(`\n${operation}: ${what}\n  ${times} times, first in request ${number}\n  ${curl}`);
  }
  if (refused.size > 0) console.log("\nNever more than refused, the last time with:");
  for (const [operation, what] of refused) console.log(`  ${operation}: ${what}`);
  const found = `${findings.length} kinds of wrong answers`;
  console.log(`\n${requests} requests to ${operations} operations, seed ${seed}: ${found}`);
  process.exitCode = findings.length === 0 && requests > operations ? 0 : 1;
}
