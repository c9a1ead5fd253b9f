// The official Python SDKs, unmodified: each test of test/python is reported here by its name.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pythonEnv } from "../../scripts/python-env.ts";
import { stack } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

type Outcome = { outcome: "passed" | "failed" | "skipped"; text: string };
type Line = { collected: string[] } | ({ id: string } & Outcome);

const python = await pythonEnv();
if (python === null && process.env.CI) {
  throw new Error("Python 3.10 or later with venv is required in CI: install python3-venv.");
}

/** Each result arrives while pytest runs; `null` resolves the tests that it never reached. */
const results = new Map<string, PromiseWithResolvers<Outcome | null>>();
let pytest: ChildProcess | undefined;
let output = "";

function start(args: string[], env: Record<string, string>, onLine: (line: Line) => void) {
  const child = spawn(python ?? "", ["-m", "pytest", "-q", ...args], {
    cwd: "test/python",
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: "1", REPORT_FD: "3", ...env },
  });
  const lines = createInterface({ input: child.stdio[3] as Readable });
  lines.on("line", (line) => onLine(JSON.parse(line) as Line));
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, closed };
}

async function collect(): Promise<string[]> {
  const ids: string[] = [];
  const onLine = (line: Line) => "collected" in line && ids.push(...line.collected);
  const code = await start(["--collect-only"], {}, onLine).closed;
  if (code !== 0) throw new Error(`pytest could not collect the tests:\n${output}`);
  return ids;
}

describe.skipIf(python === null)("Python", async () => {
  const ids = python === null ? [] : await collect();
  for (const id of ids) results.set(id, Promise.withResolvers());

  beforeAll(async () => {
    const agent_id = await deployTestAgent();
    const { base_url, api_key, tenant_id, operator_token } = stack;
    const info = { base_url, api_key, tenant_id, operator_token, agent_id };
    const HEDDLE_STACK = JSON.stringify(info);
    const { child, closed } = start([], { HEDDLE_STACK }, (line) => {
      if (!("collected" in line)) results.get(line.id)?.resolve(line);
    });
    pytest = child;
    void closed.then(() => {
      for (const { resolve } of results.values()) resolve(null);
    });
  });
  afterAll(() => void pytest?.kill());

  test.for(ids)("%s", async (id) => {
    const result = await results.get(id)?.promise;
    if (!result) throw new Error(`pytest ended before this test:\n${output}`);
    expect(result.outcome, result.text).toBe("passed");
  });

  if (python === null) test("is not installed: install Python 3.10 or later with venv");
});
