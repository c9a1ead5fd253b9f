import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { StackInfo } from "../local/stack.ts";
import type { Api } from "./client.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..");

export type GitUrls = StackInfo["git"];

/**
 * Pushes the bench agent. `pin` replaces versions, so that its lockfile matches no prebuilt packages. Returns the URL.
 */
export async function pushAgent(
  host: GitUrls,
  name: string,
  pin: Record<string, string> = {},
  env: Record<string, string> = {},
) {
  const folder = await mkdtemp(join(tmpdir(), "heddle-bench-"));
  const path = `bench/${name}.git`;
  try {
    await cp(join(ROOT, "bench/agent"), folder, { recursive: true });
    for (const file of ["package.json", "package-lock.json", ".npmrc"]) {
      await cp(join(ROOT, "examples/chat", file), join(folder, file)).catch(() => {});
    }
    await writeFile(
      join(folder, "langgraph.json"),
      JSON.stringify({
        graphs: {
          echo: "./graph.ts:graph",
          steps: "./steps.ts:graph",
          large: "./large.ts:graph",
        },
        env,
      }),
    );
    if (Object.keys(pin).length > 0) await relock(folder, pin);
    const git = (...args: string[]) => run("git", ["-C", folder, ...args]);
    await git("init", "--quiet", "-b", "main");
    await git("add", "--all");
    await git(
      "-c",
      "user.name=Bench",
      "-c",
      "user.email=bench@heddle.invalid",
      "commit",
      "-qm",
      "x",
    );
    await git("push", "--quiet", "--force", `${host.push_url}/${path}`, "main");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return `${host.url}/${path}`;
}

async function relock(folder: string, pin: Record<string, string>) {
  const path = join(folder, "package.json");
  const manifest = JSON.parse(await readFile(path, "utf8"));
  manifest.dependencies = { ...manifest.dependencies, ...pin };
  await writeFile(path, JSON.stringify(manifest));
  await rm(join(folder, "package-lock.json"));
  await run("npm", ["install", "--package-lock-only", "--ignore-scripts"], {
    cwd: folder,
    timeout: 120_000,
  });
}

export async function createDeployment(api: Api, name: string, repo_url: string) {
  const deployment = await api.json("POST", "/v2/deployments", {
    name,
    source: "github",
    source_config: { repo_url, deployment_type: "dev", build_on_push: false },
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
    secrets: [],
  });
  const { id = "", latest_revision_id = "" } = deployment;
  await deployed(api, id, latest_revision_id);
  return id;
}

/** Adds a revision of the same commit, whose isolate was never loaded. */
export async function addRevision(api: Api, id: string) {
  const { latest_revision_id = "" } = await api.json("PATCH", `/v2/deployments/${id}`, {
    source_revision_config: { repo_ref: "main" },
  });
  await deployed(api, id, latest_revision_id);
}

async function deployed(api: Api, id: string, revision_id: string) {
  for (;;) {
    const revision = await api.json("GET", `/v2/deployments/${id}/revisions/${revision_id}`);
    if (revision.status === "DEPLOYED") return;
    if (revision.status?.includes("FAILED")) throw new Error(JSON.stringify(revision));
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
