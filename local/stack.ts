import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { runUnlessCurrent } from "../scripts/memo.ts";
import type { Region } from "../scripts/regions.ts";
import { configurationProblem } from "../src/control-plane/workspaces/configuration.ts";
import { retentionProblem } from "../src/traces/catalogue/retention.ts";
import { bundle, bundleBuilder } from "./bundles/bundle.ts";
import type { ConfigureOptions } from "./configure.ts";
import { openFolder, type StackFolder, saveState, secretsFile, writeWhole } from "./folder.ts";
import { type GitHost, startGitHost } from "./git/git-host.ts";
import { publishExamples } from "./git/repositories.ts";
import { killWorkerOf, rememberRoot } from "./processes/kill.ts";
import { type Npm, readNpm } from "./processes/npm.ts";
import { freePort } from "./processes/ports.ts";
import { formatStep, paint } from "./processes/terminal.ts";
import { ping, watch } from "./processes/watchdog.ts";
import { addDestination } from "./s3/destination.ts";
import { startS3 } from "./s3/server.ts";
import type { ServeOptions } from "./serve.ts";
import { assertAgentHosts, LOCAL_SWITCHES, type Variables } from "./variables.ts";
import { logOf, startWorker, type WorkerProcess } from "./worker.ts";
import type { MadeWorkspace } from "./workspace.ts";
import { execNode } from "./wrangler.ts";

type StackOptions = {
  /** 0 or none: any free port. */
  port?: number;
  dir: string;
  /** The environment of wrangler.toml; none: its top level. */
  region?: Region | undefined;
  /** Override those of wrangler.toml and of the stack. */
  variables?: Variables;
  /** Prints neither progress nor errors of the Worker. The errors are in worker.log in any case. */
  quiet?: boolean;
  /** The Worker's entry, where it is another than the product's. */
  main?: string;
  /** Makes the bucket a destination of the first workspace, once for each folder. */
  adds_destination?: boolean;
  /** Called for each finished step of the start. By default the step is printed. */
  onStep?(label: string, ms: number): void;
} & Partial<ProcessOptions>;

/** `tick_ms` is 2 seconds by default, so that tests wait little for the cron. */
type ProcessOptions = Pick<ServeOptions, "inspector_port" | "tick_ms" | "agents_in_main">;

/** The content of `local.json` in the stack's folder. */
export type StackInfo = {
  base_url: string;
  api_key: string;
  tenant_id: string;
  git: {
    url: string;
    /** `url` with the password that a push needs. */
    push_url: string;
  };
  s3: {
    endpoint: string;
    region: string;
    bucket: string;
    access_key_id: string;
    secret_access_key: string;
  };
};

export type Stack = {
  info: StackInfo;
  /** Ends every process of the stack; its data stays. */
  stop(): Promise<void>;
  /** Ends the process that runs the Worker with SIGKILL, like a crash. Miniflare starts it again. */
  killWorker(): Promise<void>;
};

type Print = (line: string) => void;
type OnStep = (label: string, ms: number) => void;
type Closers = (() => Promise<void>)[];

const ROOT = join(import.meta.dirname, "..");
const CONFIGURE = join(import.meta.dirname, "configure.ts");
const MIGRATIONS = join(ROOT, "migrations");
/** Files that decide the configuration of the scripts, beside the migrations. */
const CONFIGURATION_FILES = [
  ...["package-lock.json", "wrangler.toml", "wrangler.builder.toml", "scripts/workspace-sql.ts"],
  ...["configure", "database", "bundles/bundle"].map((name) => `local/${name}.ts`),
].map((name) => join(ROOT, name));
const BUCKET = "exports";
const TICK_MS = 2000;
/** Time for the Worker to answer, long enough for a busy machine. A Worker that ends before is noticed at once. */
const START_MS = 300_000;

export async function startStack(options: StackOptions): Promise<Stack> {
  const { variables = {} } = options;
  const problem = configurationProblem(variables) ?? retentionProblem(variables);
  if (problem !== null) throw new Error(problem);
  const print: Print = options.quiet ? () => {} : (line) => console.log(line);
  const folder = await openFolder(options.dir, options.region);
  const onStep: OnStep = options.onStep ?? ((label, ms) => print(formatStep(label, ms)));
  const closers: Closers = [folder.unclaim];
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    return await startParts(folder, options, { print, onStep }, closers, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts the parts of a stack. Each adds a function to `closers` that ends it; `stop` calls them in reverse order. */
async function startParts(
  folder: StackFolder,
  options: StackOptions,
  { print, onStep }: { print: Print; onStep: OnStep },
  closers: Closers,
  stop: () => Promise<void>,
): Promise<Stack> {
  const { port: wantedPort = 0, main, variables = {} } = options;
  const { inspector_port, tick_ms = TICK_MS, agents_in_main = false } = options;
  const [, , npm] = await Promise.all([
    step(onStep, "Worker is built", bundle(folder.path, main)),
    step(onStep, "Database is up to date", configure(folder)),
    readNpm(join(folder.path, "bundle/npm.json")),
  ]);
  const port = wantedPort === 0 ? await freePort() : wantedPort;
  assertAgentHosts(variables.EGRESS_AGENT_HOSTS, port);
  // The Worker starts beside the git host and the S3 server: interrupted runs continue once it answers, and only builds
  // and exports need the other two.
  const git_port = await freePort(folder.state.git_port);
  const serving = { port, inspector_port, tick_ms, agents_in_main };
  const served = { serving, git_port, variables };
  const [worker, git, s3] = await Promise.all([
    step(onStep, "Worker answers", serve(folder, served, npm, print, closers)),
    step(onStep, "Examples are repositories of the git host", startGit(folder, git_port, closers)),
    step(onStep, "S3 server has a bucket for exports", startBucket(folder, closers)),
  ]);
  closers.push(startBuilderBundle(folder, closers));
  const info = {
    base_url: worker.url,
    api_key: folder.state.api_key ?? "",
    tenant_id: folder.state.tenant_id ?? "",
    git: { url: git.url, push_url: pushUrl(git, folder) },
    s3,
  };
  await writeWhole(join(folder.path, "local.json"), `${JSON.stringify(info, null, 2)}\n`);
  if (options.adds_destination && folder.state.has_destination === false) {
    // Done once: a destination that the Worker refuses, or a person deletes, must not come back with the next start.
    const label = "Bucket is a destination of exports";
    const has_destination = await step(onStep, label, addDestination(info));
    await saveState(folder, { has_destination });
  }
  return { info, stop, killWorker: worker.kill };
}

/** Bundles the builder while the Worker answers already: the bundle is the largest, and only builds need it. */
function startBuilderBundle({ path }: StackFolder, closers: Closers): () => Promise<void> {
  const bundled = bundleBuilder(path).catch((error: unknown) => {
    // A signal that stops the stack ends esbuild, too. Any other failure ends the process.
    if (closers.length > 0) throw error;
  });
  return () => bundled;
}

async function step<T>(onStep: OnStep, label: string, work: Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work;
  onStep(label, performance.now() - started);
  return result;
}

/** Runs configure.ts, unless its inputs are unchanged: to load wrangler and open the database takes long. */
async function configure(folder: StackFolder): Promise<void> {
  const { path, state } = folder;
  const order: ConfigureOptions = {
    path,
    region: state.region,
    secrets_file: await secretsFile(folder),
    needs_workspace: state.api_key === null,
  };
  const names = (await readdir(MIGRATIONS)).sort();
  const file = join(path, "bundle/configured.json");
  if (order.needs_workspace) await rm(file, { force: true });
  await runUnlessCurrent({
    ...{ file, values: { root: ROOT, path, region: state.region, names } },
    outputs: [join(path, "workers.json"), join(path, "state/v3/d1")],
    async run() {
      const out = await execNode(path, [CONFIGURE, JSON.stringify(order)]);
      // wrangler prints to stdout, too.
      const made = JSON.parse(out.trimEnd().split("\n").at(-1) ?? "") as MadeWorkspace | null;
      if (made) await saveState(folder, { tenant_id: made.tenant_id, api_key: made.api_key });
      const migrations = names.map((name) => join(MIGRATIONS, name));
      return { result: null, inputs: [order.secrets_file, ...CONFIGURATION_FILES, ...migrations] };
    },
  });
}

async function startGit(folder: StackFolder, port: number, closers: Closers): Promise<GitHost> {
  const root = join(folder.path, "git");
  await publishExamples(join(ROOT, "examples"), root, join(folder.path, "bundle/examples.json"));
  const host = await startGitHost({ root, port, tokens: [folder.state.git_password] });
  closers.push(host.close);
  await keepPort(folder, "git_port", port);
  return host;
}

/** Keeps the first port of a folder: deployments and destinations name it. While it is in use, another one serves. */
async function keepPort(
  folder: StackFolder,
  name: "git_port" | "s3_port",
  port: number,
): Promise<void> {
  const first = folder.state[name];
  if (first === 0) return saveState(folder, { [name]: port });
  if (first === port) return;
  process.stderr.write(`Port ${first} is in use: ${name} is ${port} until the next start.\n`);
}

function pushUrl({ url }: GitHost, { state }: StackFolder): string {
  return url.replace("://", `://heddle:${state.git_password}@`);
}

async function startBucket(folder: StackFolder, closers: Closers): Promise<StackInfo["s3"]> {
  const { s3_port, access_key_id, secret_access_key } = folder.state;
  const port = await freePort(s3_port);
  const user = { name: "local", access_key_id, secret_access_key };
  const dir = join(folder.path, "s3");
  const server = await startS3({ dir, port, users: [user], buckets: [BUCKET] });
  closers.push(server.close);
  await keepPort(folder, "s3_port", port);
  const { endpoint, region } = server;
  return { endpoint, region, bucket: BUCKET, access_key_id, secret_access_key };
}

type Served = {
  serving: ProcessOptions & { port: number };
  git_port: number;
  variables: Variables;
};

/** Starts the Worker and its watchdog, and waits until the Worker answers. */
async function serve(
  folder: StackFolder,
  { serving, git_port, variables }: Served,
  { registry_url, ca_file }: Npm,
  print: Print,
  closers: Closers,
) {
  const { path } = folder;
  const { port, inspector_port } = serving;
  const url = `http://127.0.0.1:${port}`;
  const onError: Print = (line) => print(paint("red", line));
  const launch = async () => {
    // workerd has no jurisdictions and refuses them.
    const usual = {
      DATA_JURISDICTION: "",
      ...LOCAL_SWITCHES,
      LOCAL_PORTS: [port, inspector_port ?? 0].filter((each) => each > 0).join(","),
      REGISTRY_URL: registry_url,
    };
    const all: Variables = { ...usual, ...variables };
    // The examples are on this machine, a private address.
    if (all.EGRESS_PRIVATE_BUILDS === "true") {
      all.EXAMPLES_URL ??= `http://127.0.0.1:${git_port}/examples`;
    }
    const started = startWorker({ path, ...serving, ca_file, onError, variables: all });
    try {
      await rememberRoot(path, started.pid);
    } catch (error) {
      // The disk may be full: the next attempt would start another Worker beside this one.
      await started.stop();
      throw error;
    }
    return started;
  };
  let worker = await launch();
  closers.push(() => worker.stop());
  await waitUntilUp(port, worker, path);
  const restart = async () => {
    await worker.stop();
    worker = await launch();
  };
  const watchdog = watch({
    port,
    pid: () => worker.pid,
    restart,
    print(line) {
      worker.log(line);
      print(paint("yellow", line));
    },
  });
  closers.push(() => watchdog.stop());
  return { url, kill: () => killWorkerOf(path) };
}

async function waitUntilUp(port: number, worker: WorkerProcess, path: string): Promise<void> {
  const gone = { yes: false };
  void worker.exited.then(() => {
    gone.yes = true;
  });
  const deadline = Date.now() + START_MS;
  while (!(await ping(port))) {
    if (gone.yes) throw new Error(`The Worker ended before it was up; see ${logOf(path)}`);
    if (Date.now() > deadline) throw new Error(`The Worker did not answer; see ${logOf(path)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
