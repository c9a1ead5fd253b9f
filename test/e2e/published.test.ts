// The published example programs. Only URL, key and repository come from the test.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { pythonEnv } from "../../scripts/python-env.ts";
import { exampleUrl } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { stack } from "./support/stack.ts";

const run = promisify(execFile);
const python = await pythonEnv();

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
});
