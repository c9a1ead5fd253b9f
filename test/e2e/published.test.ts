// The published example programs. Only URL, key and repository come from the test.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { describe, expect, inject, test } from "vitest";
import { pythonEnv } from "../../scripts/python-env.ts";
import { deploy, exampleUrl } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { stack } from "./support/stack.ts";
import { seedRuns } from "./support/trace-runs.ts";

const run = promisify(execFile);
const python = await pythonEnv();
const s3 = inject("s3");

/** Returns what the program prints. Throws with its error output when it fails. */
async function runProgram(file: string, env: Record<string, string>): Promise<string> {
  const { stdout } = await run(python ?? "", [`test/published/${file}`], {
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: "1", ...env },
  });
  return stdout;
}

describe.skipIf(python === null)("a published program, which needs Python 3.10 with venv:", () => {
  test("quick_start.py creates, updates and deletes a deployment", async () => {
    const integration = await request<{ id: string }>("POST", "/v1/integrations/github/install", {
      name: "quick start",
      token: new URL(stack.git.push_url).password,
      api_url: stack.git.url,
    });
    expect(integration.status).toBe(201);
    const printed = await runProgram("quick_start.py", {
      CONTROL_PLANE_HOST: stack.base_url,
      LANGSMITH_API_KEY: stack.api_key,
      WORKSPACE_ID: stack.tenant_id,
      INTEGRATION_ID: integration.body.id,
      REPO_URL: exampleUrl("echo"),
      POLL_SECONDS: "0.5",
    });
    expect(printed.match(/ DEPLOYED$/gm)).toHaveLength(2);
    expect(printed).toMatch(/^deleted [0-9a-f-]{36}$/m);
  });

  test("double_texting.py and stateless_runs.py run an assistant", async () => {
    const { agent_url } = await deploy("published", {
      "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.ts:agent" } }),
      "agent.ts": await readFile("examples/echo/agent.ts", "utf8"),
    });
    const env = { DEPLOYMENT_URL: agent_url, LANGSMITH_API_KEY: stack.api_key };
    expect(await runProgram("double_texting.py", env)).toBe(
      [
        "first run: success",
        "human: what's the weather in sf?",
        "ai: You said: what's the weather in sf?",
        "human: what's the weather in nyc?",
        "ai: You said: what's the weather in nyc?",
        "",
      ].join("\n"),
    );
    const printed = await runProgram("stateless_runs.py", env);
    expect(printed).toMatch(/^update: .*You said: Hello from nowhere/m);
    expect(printed).toMatch(/^result: You said: Hello from nowhere$/m);
  });

  test("bulk_export.py exports two days of a project", async () => {
    const project_id = await seedRuns({
      from: "2024-01-01T00:00:00Z",
      to: "2024-01-02T23:59:59Z",
      count: 20,
    });
    const printed = await runProgram("bulk_export.py", {
      LANGSMITH_ENDPOINT: stack.base_url,
      LANGSMITH_API_KEY: stack.api_key,
      WORKSPACE_ID: stack.tenant_id,
      PROJECT_ID: project_id,
      S3_BUCKET: s3.bucket,
      S3_REGION: s3.region,
      S3_ENDPOINT: s3.endpoint,
      S3_ACCESS_KEY_ID: s3.access_key_id,
      S3_SECRET_ACCESS_KEY: s3.secret_access_key,
      POLL_SECONDS: "0.2",
    });
    expect(printed).toBe("export: COMPLETED\nruns: ['COMPLETED', 'COMPLETED']\n");
  });
});
