// `npm run deploy` with wrangler, against an account of Cloudflare over HTTP that is empty at first.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CloudflareAccount, startCloudflare } from "../support/node/cloudflare/server.ts";
import { stack } from "./support/stack.ts";

const run = promisify(execFile);
const FORBIDDEN = { status: 403, code: 10000, message: "Authentication error" };
const INTERNAL = { status: 500, code: 10013, message: "An unknown error has occurred" };
const THROTTLED = { status: 429, code: 971, message: "Please wait and consider throttling" };

let cloud: CloudflareAccount;
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-deploy-"));
  cloud = await startCloudflare();
});
afterAll(async () => {
  await cloud.stop();
  await rm(dir, { recursive: true });
});

const secretsFile = () => join(dir, "eu.env");

/** Runs it as an operator does. The health that it waits for is that of the stack, which serves the same Worker. */
async function deploy(options: string[] = [], environment: NodeJS.ProcessEnv = {}) {
  const args = ["--env", "eu", "--url", stack.base_url, "--secrets-file", secretsFile()];
  const env = {
    ...process.env,
    CLOUDFLARE_API_BASE_URL: cloud.url,
    CLOUDFLARE_ACCOUNT_ID: cloud.id,
    CLOUDFLARE_API_TOKEN: cloud.token,
    ...environment,
  };
  const command = ["run", "-s", "deploy", "--", ...args, ...options];
  const result = await run("npm", command, { env }).catch((error) => error);
  return { code: result.code ?? 0, stdout: result.stdout, stderr: result.stderr };
}

describe("deploy from nothing", () => {
  test("without a token, names both variables and calls nothing", async () => {
    const unset = { CLOUDFLARE_ACCOUNT_ID: undefined, CLOUDFLARE_API_TOKEN: "" };
    const { code, stderr } = await deploy([], unset);
    expect(code).toBe(1);
    expect(stderr).toContain("CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_TOKEN must be set");
    expect(cloud.calls).toEqual([]);
  });

  test("prints the commands without a token, and calls nothing", async () => {
    const { code, stdout } = await deploy(["--print"], { CLOUDFLARE_API_TOKEN: "" });
    expect(code).toBe(0);
    expect(stdout).toContain("npx wrangler d1 create heddle-eu --jurisdiction eu");
    expect(stdout.trim().split("\n")).toHaveLength(18);
    await run("bash", ["-n", "-c", stdout]);
    expect(cloud.calls).toEqual([]);
  });

  test("names the permission that a read misses, and changes nothing", async () => {
    cloud.fail(/^GET \/d1\//, FORBIDDEN);
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain("Account > D1 > Edit");
    expect(cloud.takeChanges()).toEqual([]);
    cloud.repair();
  });

  test("passes over errors that pass, and stops with the permission that a change misses", async () => {
    cloud.fail(/^GET \/queues/, THROTTLED);
    cloud.fail(/^GET \/r2/, INTERNAL);
    cloud.fail(/^POST \/queues /, INTERNAL, { isLost: true });
    cloud.fail(/^POST \/queues\/.*\/consumers/, FORBIDDEN, { times: 4 });
    const { code, stderr, stdout } = await deploy();
    expect(stderr).toContain("Account > Queues > Edit");
    expect(stdout).toMatch(/Builder heddle-builder-eu +done/);
    expect(code).toBe(1);
    // The Worker is uploaded, and nothing consumes its queues.
    expect(cloud.workers.deployed("heddle-eu")).toBeDefined();
    expect(cloud.queues.all.flatMap(({ consumers }) => consumers)).toEqual([]);
    cloud.takeChanges();
    cloud.repair();
  });

  test("continues where it ended, and prints the key of the first workspace", async () => {
    const keys = await readFile(secretsFile(), "utf8");
    const { code, stdout, stderr } = await deploy();
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(stdout).toContain("Healthy");
    const key = /^Key +(\S+)$/m.exec(stdout)?.[1] ?? "";
    const sha256 = createHash("sha256").update(key).digest("hex");
    expect(cloud.databases.rows("heddle-eu", "SELECT sha256, role FROM api_keys")).toEqual([
      { sha256, role: "admin" },
    ]);
    const created = cloud.takeChanges().filter((call) => /(?:database|buckets|queues)$/.test(call));
    expect(created).toEqual([]);
    expect(await readFile(secretsFile(), "utf8")).toBe(keys);
  });

  test("what it made is complete, in the jurisdiction, and has one set of keys", async () => {
    expect(cloud.databases.all).toMatchObject([{ name: "heddle-eu", jurisdiction: "eu" }]);
    expect(cloud.buckets.all).toMatchObject([{ name: "heddle-artifacts-eu", jurisdiction: "eu" }]);
    const queues = cloud.queues.all;
    expect(cloud.buckets.rulesOf("heddle-artifacts-eu")).toMatchObject([
      { id: "Default Multipart Abort Rule" },
      {
        ...{ id: "heddle-logs-30-days", enabled: true, conditions: { prefix: "logs/" } },
        deleteObjectsTransition: { condition: { type: "Age", maxAge: 30 * 86_400 } },
      },
    ]);
    expect(new Set(queues.map(({ queue_name }) => queue_name)).size).toBe(queues.length);
    for (const { queue_name, settings, consumers } of queues) {
      const isDead = queue_name.includes("-dead-");
      expect(settings.message_retention_period).toBe(isDead ? 1_209_600 : undefined);
      expect(consumers.map(({ script }) => script)).toEqual(isDead ? [] : ["heddle-eu"]);
    }
    expect(queues).toHaveLength(8);
    const worker = cloud.workers.find("heddle-eu");
    expect(worker.tail_consumers).toEqual([{ service: "heddle-tail-eu" }]);
    expect([...cloud.workers.all.keys()][0]).toBe("heddle-tail-eu");
    expect(cloud.workers.find("heddle-tail-eu").subdomain.enabled).toBe(false);
    expect(worker).toMatchObject({ crons: ["* * * * *"], subdomain: { enabled: true } });
    expect(cloud.workers.find("heddle-builder-eu").subdomain.enabled).toBe(false);
    const [database] = cloud.databases.all;
    const bindings = cloud.workers.deployed("heddle-eu")?.bindings ?? [];
    expect(bindings).toContainEqual({ name: "DB", type: "d1", id: database?.uuid });
    const [line] = (await readFile(secretsFile(), "utf8")).split("\n");
    expect(line).toBe(`ENCRYPTION_KEYS=${worker.secrets.get("ENCRYPTION_KEYS")}`);
    expect((await stat(secretsFile())).mode & 0o777).toBe(0o600);
  });

  test("a second run changes nothing and states it", async () => {
    cloud.takeChanges();
    const { code, stdout } = await deploy();
    expect(code).toBe(0);
    expect(stdout).toContain("Nothing changed");
    expect(stdout).not.toContain("lsv2_");
    expect(cloud.takeChanges()).toEqual([]);
  });

  test("repairs a Worker that lost its tail, which wrangler only warns about", async () => {
    cloud.workers.find("heddle-eu").tail_consumers = [];
    const { code, stdout } = await deploy();
    expect(code).toBe(0);
    expect(stdout).toContain("Changed: 1.");
    expect(cloud.workers.find("heddle-eu").tail_consumers).toEqual([{ service: "heddle-tail-eu" }]);
    cloud.takeChanges();
  });

  test("names the remedy when the answer with the first key is lost", async () => {
    cloud.databases.rows("heddle-eu", "DELETE FROM api_keys");
    cloud.databases.rows("heddle-eu", "DELETE FROM workspaces");
    cloud.fail(/INSERT INTO api_keys/, INTERNAL, { isLost: true });
    const { code, stdout } = await deploy();
    expect(code).toBe(0);
    expect(stdout).toContain("create-key --org main --name main --role admin --env eu --remote");
    expect(cloud.databases.rows("heddle-eu", "SELECT role FROM api_keys")).toHaveLength(1);
    cloud.takeChanges();
  });

  test("creates no new keys for a database that is in use", async () => {
    cloud.workers.find("heddle-eu").secrets.clear();
    await rm(secretsFile());
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain("new keys could not decrypt");
    expect(cloud.takeChanges()).toEqual([]);
  });

  test("refuses a database of another jurisdiction", async () => {
    const [database] = cloud.databases.all;
    if (database) database.jurisdiction = null;
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain("heddle-eu exists with the jurisdiction none, and must have eu");
    expect(cloud.takeChanges()).toEqual([]);
  });
});
