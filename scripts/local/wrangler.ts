import { type ChildProcess, execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify, stripVTControlCharacters } from "node:util";
import type { Region } from "../regions.ts";
import { openLog } from "./log-file.ts";
import type { Variables } from "./variables.ts";

export type WranglerOptions = {
  /** The stack's folder: state, log and registry of local Workers live in it. */
  path: string;
  port: number;
  registry_url: string;
  /** What workerd trusts beside the system's authorities. */
  ca_file: string | undefined;
  secrets_file: string;
  /** The environment of wrangler.toml; none: its top level. */
  region: Region | undefined;
  variables: Variables;
  /** Instead of the entry that wrangler.toml names. */
  main?: string | undefined;
  inspector_port?: number | undefined;
  onError(line: string): void;
};

export type Wrangler = { pid: number; exited: Promise<void>; stop(): Promise<void> };

const ROOT = join(import.meta.dirname, "../..");
const LEASH = join(import.meta.dirname, "leash.ts");
const CLI = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
/** Pings and ticks, one or two a second, would bury everything else. */
const OWN_REQUEST = /GET \/(ok|cdn-cgi\/local\/scheduled\S*) 200/;
const run = promisify(execFile);

export function startWrangler(options: WranglerOptions): Wrangler {
  const child = spawn(process.execPath, [LEASH, process.execPath, CLI, ...devArguments(options)], {
    cwd: ROOT,
    env: { ...environment(options.path), NODE_EXTRA_CA_CERTS: options.ca_file },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  record(child, options);
  return {
    pid: child.pid ?? 0,
    exited,
    stop() {
      child.stdin?.end();
      return exited;
    },
  };
}

/** A wrangler command against the stack's own database. */
export function runWrangler(path: string, args: string[], region?: Region): Promise<string> {
  const place = ["--local", "--persist-to", join(path, "state")];
  return execWrangler(path, [...args, ...environmentOf(region), ...place]);
}

function environmentOf(region: Region | undefined): string[] {
  return region === undefined ? [] : ["--env", region];
}

export async function execWrangler(path: string, args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [CLI, ...args], {
    cwd: ROOT,
    env: environment(path),
    maxBuffer: 1 << 24,
  });
  return stdout;
}

function devArguments(options: WranglerOptions): string[] {
  const { path, port, secrets_file, region, main, inspector_port = 0 } = options;
  return [
    ...(main === undefined ? ["dev"] : ["dev", main]),
    ...["-c", "wrangler.toml", "-c", "wrangler.builder.toml", ...environmentOf(region)],
    ...["--ip", "127.0.0.1", "--port", String(port), "--inspector-port", String(inspector_port)],
    ...["--persist-to", join(path, "state"), "--env-file", secrets_file],
    ...variablesOf(options).flatMap(([name, value]) => ["--var", `${name}:${value}`]),
    ...["--show-interactive-dev-session=false"],
  ];
}

/** A machine is where it is: workerd has no jurisdictions and refuses them. */
function variablesOf({ registry_url, variables }: WranglerOptions): [string, string][] {
  const usual = { DATA_JURISDICTION: "", EGRESS_ALLOW_PRIVATE: "true", REGISTRY_URL: registry_url };
  return Object.entries({ ...usual, ...variables });
}

/** Nothing of this calls home: no metrics, no reports, no request.cf, no look for a newer version. */
function environment(path: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    ENCRYPTION_KEYS: undefined,
    CLOUDFLARE_ENV: undefined,
    FORCE_COLOR: undefined,
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    // Its collector traces each call into a database of its own: a third of a run's time.
    X_LOCAL_OBSERVABILITY: "false",
    X_LOCAL_EXPLORER: "false",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_WRITE_LOGS: "false",
    WRANGLER_REGISTRY_PATH: join(path, "registry"),
    NO_COLOR: "1",
  };
}

function record(child: ChildProcess, { path, onError }: WranglerOptions) {
  const log = openLog(join(path, "wrangler.log"));
  let inError = false;
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on("line", (coloured) => {
      const line = stripVTControlCharacters(coloured);
      if (!OWN_REQUEST.test(line)) log.write(line);
      inError = isError(line) || (inError && /^\s+\S/.test(line));
      if (inError) onError(readable(line));
    });
  }
  child.once("close", () => log.close());
}

/** The Worker logs JSON; a person reads what happened and where. */
function readable(line: string): string {
  const start = line.indexOf('{"level":');
  if (start < 0) return line;
  try {
    const { event, error } = JSON.parse(line.slice(start)) as { event: string; error?: string };
    return `${event}: ${error ?? line.slice(start)}`;
  } catch {
    return line;
  }
}

/** What wrangler or the Worker's own log marks as an error. */
function isError(line: string): boolean {
  return line.includes("[ERROR]") || line.startsWith('{"level":"error"');
}
