import { readFile } from "node:fs/promises";
import {
  awaitDeployed,
  change,
  deploy,
  deployFiles,
  type Files,
  probeFiles,
  readSource,
} from "./build.ts";
import { assert, type Check, type Target } from "./target.ts";

const ROOT = new URL("../../", import.meta.url);
const MEGABYTES = 20;

export const REVISION_CHECKS: Check[] = [
  { name: "secrets", limit: "a new isolate for new bindings", run: checkSecrets },
  { name: "second revision", limit: "a new isolate for new code", run: checkRevision },
  { name: "rollback", limit: "an isolate of older code", run: checkRollback },
  { name: "packages", limit: "128 MB of a build, npm registry", run: checkPackages },
  { name: "agent's app", limit: "4 dynamic Workers of a request", run: checkApp },
];

type Identity = { isolate: string; version: string; secret: string | null };
const identify = (target: Target) => target.probe<Identity>("identity");

async function checkSecrets(target: Target): Promise<string> {
  const before = await identify(target);
  const value = `secret-${Date.now()}`;
  await change(target, target.agent.id, { secrets: [{ name: "PLATFORM_CHECK", value }] });
  const after = await identify(target);
  assert(after.secret === value, `an agent reads its new secret as ${after.secret}`);
  assert(after.isolate !== before.isolate, "an isolate with older secrets runs with newer ones");
  return "an agent reads a secret that was set, in a new isolate";
}

async function checkRevision(target: Target): Promise<string> {
  const { client, agent } = target;
  const { thread_id } = await client.threads.create();
  await client.runs.wait(thread_id, "echo", { input: { text: "kept" } });
  const files = await probeFiles();
  const graphs = files["graphs.ts"]?.replace('VERSION = "first"', 'VERSION = "second"') ?? "";
  await deployFiles(target, agent.id, { ...files, "graphs.ts": graphs });
  const values = await client.runs.wait(thread_id, "identity", { input: {} });
  const { version, echo } = Object(values) as Identity & { echo: string };
  assert(version === "second", `a run after a deployment has the code of the ${version} revision`);
  assert(echo === "kept", `the state of the older revision is ${JSON.stringify(values)}`);
  return "a thread of the first revision runs the second one";
}

type Revisions = { resources: { id: string }[] };

async function checkRollback(target: Target): Promise<string> {
  const { id } = target.agent;
  const path = `/v2/deployments/${id}`;
  const { version } = await identify(target);
  assert(version === "second", "there is one revision: run the check second revision too");
  const { resources } = await target.json<Revisions>("GET", `${path}/revisions`);
  const first = resources.at(-1)?.id ?? "";
  const redeploy = `${path}/revisions/${first}/redeploy`;
  const { latest_revision_id } = await target.json<{ latest_revision_id: string }>(
    "POST",
    redeploy,
  );
  await awaitDeployed(target, id, latest_revision_id);
  const after = await identify(target);
  assert(after.version === "first", `after a rollback the ${after.version} revision runs`);
  return "after a rollback the first revision runs";
}

type Lock = { packages: Record<string, Record<string, unknown>> };

/** Packages of the chat example, and Heddle's own Hono. */
async function packageFiles(): Promise<Files> {
  const read = async (path: string) => JSON.parse(await readFile(new URL(path, ROOT), "utf8"));
  const own: Lock = await read("package-lock.json");
  const { version, integrity } = own.packages["node_modules/hono"] ?? {};
  const manifest = await read("examples/chat/package.json");
  const lock: Lock = await read("examples/chat/package-lock.json");
  const dependencies = { ...manifest.dependencies, hono: version };
  lock.packages[""] = { ...lock.packages[""], dependencies };
  lock.packages["node_modules/hono"] = { version, integrity };
  const config = {
    graphs: { question: "./packages.ts:question" },
    http: { app: "./packages.ts:app" },
  };
  return {
    "langgraph.json": JSON.stringify(config),
    "package.json": JSON.stringify({ ...manifest, dependencies }),
    "package-lock.json": JSON.stringify(lock),
    "packages.ts": await readSource("packages.ts"),
  };
}

/** Id of the deployment with packages, which two checks share. Missing until one of them has deployed it. */
const deployed = new WeakMap<Target, string>();

/** Deploys the agent with packages, once. Returns the deployment's id. */
async function deployPackages(target: Target): Promise<string> {
  const known = deployed.get(target);
  if (known !== undefined) return known;
  const { id } = await deploy(target, "packages", await packageFiles());
  deployed.set(target, id);
  return id;
}

async function checkPackages(target: Target): Promise<string> {
  const started = Date.now();
  const client = target.clientOf(await deployPackages(target));
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  const { thread_id } = await client.threads.create();
  await client.runs.wait(thread_id, "question", { input: {} });
  const { status } = await client.threads.get(thread_id);
  assert(status === "interrupted", `a graph that waits for an answer left its thread ${status}`);
  const values = await client.runs.wait(thread_id, "question", { command: { resume: "yes" } });
  const { answer, steps } = Object(values) as { answer: string; steps: number };
  assert(answer === "yes" && steps === 2, `a resumed graph ended with ${JSON.stringify(values)}`);
  return `LangGraph was installed and built in ${seconds} s; an interrupt was answered`;
}

async function checkApp(target: Target): Promise<string> {
  const path = `/agents/${await deployPackages(target)}/probe`;
  const large = await target.fetch("GET", `${path}/large?megabytes=${MEGABYTES}`);
  const { byteLength } = await large.arrayBuffer();
  assert(byteLength === MEGABYTES * 1_000_000, `an app's ${MEGABYTES} MB have ${byteLength} bytes`);
  const page = await target.fetch("GET", `${path}/page`);
  const policy = page.headers.get("Content-Security-Policy") ?? "";
  assert(policy.includes("sandbox"), `a page of an agent has the policy "${policy}"`);
  assert(
    !page.headers.has("Set-Cookie"),
    "a page of an agent sets a cookie for the console's host",
  );
  return `an app streams ${MEGABYTES} MB; its page is sandboxed, and sets no cookie`;
}
