// Official command lines, each in a folder with its lockfile, as users install them.
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Files } from "./repositories.ts";
import { stack } from "./stack.ts";

export type Outcome = { code: number; stdout: string; stderr: string };

const run = promisify(execFile);
const FOLDER = resolve("test/clients/langgraph-cli-1.5.1");
const BINARY = join(FOLDER, "node_modules/@langchain/langgraph-cli/dist/cli/cli.mjs");

/** Installed once; nothing but its lockfile is in the repository. */
export async function installCli(): Promise<void> {
  if (existsSync(BINARY)) return;
  await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: FOLDER });
}

/** A folder with these files, gone after `work`. */
export async function inFolder<T>(files: Files, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-cli-"));
  try {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs `langgraphjs deploy ...` against the stack, with the two options that name it. */
export async function langgraphjs(cwd: string, ...args: string[]): Promise<Outcome> {
  const child = start(cwd, args);
  const closed = new Promise<number>((done) => child.on("close", (code) => done(code ?? -1)));
  const [stdout, stderr, code] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    closed,
  ]);
  return { code, stdout, stderr };
}

/** The same left running, as `--follow` is; `lines` grows, `stop` is what Ctrl-C does. */
export function follow(cwd: string, ...args: string[]) {
  const child = start(cwd, args);
  const lines: string[] = [];
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
  });
  const closed = new Promise<void>((done) => child.on("close", () => done()));
  const stop = () => {
    child.kill("SIGINT");
    return closed;
  };
  return { lines, stop };
}

function start(cwd: string, args: string[]) {
  const { PATH, HOME } = process.env;
  return spawn(process.execPath, [BINARY, "deploy", ...args, "--host-url", stack.base_url], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH,
      HOME,
      NO_COLOR: "1",
      LANGGRAPH_CLI_NO_ANALYTICS: "1",
      LANGSMITH_API_KEY: stack.api_key,
    },
  });
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}
