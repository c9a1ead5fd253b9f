// The service of examples/self-host/heddle.service on this machine: its ExecStart as written, in folders of the test's own.
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { isFree } from "../../../local/processes/ports.ts";
import type { StackInfo } from "../../../local/stack.ts";
import { createBody, type Deployment, type Revision } from "./deployments.ts";
import { type Answer, request } from "./http.ts";
import { until } from "./stack.ts";

export const HOST = "heddle.example.com";
export const BASE_URL = `https://${HOST}`;
const INSTALLED = "/opt/heddle/current";

export type Service = Awaited<ReturnType<typeof startService>>;

type ServiceOptions = {
  dir: string;
  port: number;
  /** The folder with the code; none: this repository. */
  release?: string;
  /** Another command than that of the unit. */
  command?: string[];
  /** Variables as /etc/heddle.env has them. */
  settings?: Record<string, string>;
};

/** Runs the unit like systemd, with another folder, port and git host. */
export async function startService(options: ServiceOptions) {
  const { dir, port } = options;
  const { folder, command, env } = await readUnit(options);
  const [file = "", ...args] = command;
  const child = spawn(file, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => printed.push(String(text)));
  }
  const exited = new Promise<number | null>((done) => child.once("exit", done));
  await until(
    "The service's start",
    async () => ({ output: printed.join(""), code: child.exitCode }),
    ({ output, code }) => output.includes("Heddle answers") || code !== null,
  );
  expect(printed.join("")).toContain("Heddle answers");
  return {
    ...{ dir, port, printed, child, exited },
    ...(await callService(dir)),
    async stop(): Promise<void> {
      if (!child.kill("SIGTERM")) return;
      expect(await exited).toBe(0);
    },
    /** SIGKILL to the process that systemd started; nothing of it may be left when it starts again. */
    async kill(): Promise<void> {
      child.kill("SIGKILL");
      await exited;
      await until("The port to be free", () => isFree(port), Boolean);
    },
  };
}

/** How systemd would start the unit. */
export async function readUnit(options: ServiceOptions) {
  const { dir, port, release = process.cwd(), command, settings } = options;
  const unit = await readFile("examples/self-host/heddle.service", "utf8");
  const all = (name: string) =>
    [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) =>
      value.replaceAll(INSTALLED, release),
    );
  const env: Record<string, string> = {
    ...Object.fromEntries(all("Environment").map((pair) => pair.split("=", 2))),
    PORT: String(port),
    HEDDLE_DIR: dir,
    HEDDLE_BASE_URL: BASE_URL,
    HEDDLE_EGRESS_PRIVATE_BUILDS: "true",
    HEDDLE_EGRESS_PRIVATE_EXPORTS: "true",
    ...settings,
  };
  return {
    folder: all("WorkingDirectory")[0] ?? "",
    command: command ?? all("ExecStart").join(" ").split(" "),
    env,
  };
}

/** Calls of a service that has started in the folder. */
export async function callService(dir: string) {
  const info = JSON.parse(await readFile(join(dir, "local.json"), "utf8")) as StackInfo;
  const call = <T>(method: string, path: string, body?: unknown): Promise<Answer<T>> =>
    request<T>(method, info.base_url + path, body, {
      "x-api-key": info.api_key,
      "x-tenant-id": info.tenant_id,
    });
  return { info, call, ...agentCalls(info, call) };
}

type Call = <T>(method: string, path: string, body?: unknown) => Promise<Answer<T>>;
type Thread = { values: { messages: { content: string }[] } };

function agentCalls(info: StackInfo, call: Call) {
  return {
    /** Deploys a repository with a secret: by default the example `echo`. */
    async createDeployment(
      name: string,
      repository = `${info.git.url}/examples/echo.git`,
    ): Promise<Deployment> {
      const body = createBody(name, repository, { secrets: [{ name: "KEY", value: "secret" }] });
      const created = await call<Deployment>("POST", "/api-host/v2/deployments", body);
      expect(created.status).toBe(201);
      return created.body;
    },

    async deployed({ id, latest_revision_id }: Deployment): Promise<void> {
      const path = `/api-host/v2/deployments/${id}/revisions/${latest_revision_id}`;
      await until(
        "DEPLOYED",
        () => call<Revision>("GET", path),
        ({ body }) => body.status === "DEPLOYED",
      );
    },

    async createThread(agent: string): Promise<string> {
      const { body } = await call<{ thread_id: string }>("POST", `${agent}/threads`, {});
      return body.thread_id;
    },

    async converse(agent: string, thread_id: string, content: string, more = {}): Promise<void> {
      const input = { messages: [{ role: "user", content }] };
      const order = { assistant_id: "echo", input, ...more };
      const { status } = await call("POST", `${agent}/threads/${thread_id}/runs`, order);
      expect(status).toBe(200);
    },

    answerTo(agent: string, thread_id: string, words: string): Promise<unknown> {
      return until(
        `An answer to "${words}"`,
        () => call<Thread>("GET", `${agent}/threads/${thread_id}/state`),
        ({ body }) => JSON.stringify(body.values).includes(`You said: ${words}`),
      );
    },
  };
}
