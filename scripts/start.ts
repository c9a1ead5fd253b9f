// `npm start`: the whole service on this machine, until Ctrl-C.
import { enableCompileCache, flushCompileCache } from "node:module";
import { resolve } from "node:path";
import { commandsToTry } from "../local/commands.ts";
import { compileCacheOf } from "../local/folder.ts";
import { isFree } from "../local/processes/ports.ts";
import { paint } from "../local/processes/terminal.ts";
import { readOptions } from "./options.ts";
import { REGIONS, type Region } from "./regions.ts";

const DEFAULT_PORT = 8787;
/** A tick costs 20 ms and 17 fsyncs. Jobs wait less than on Cloudflare, where the cron fires each minute. */
const TICK_MS = 30_000;

readOptions({});
const dir = process.env.HEDDLE_DIR ?? ".heddle";
const port = await choosePort();
console.log(`\n${paint("bold", "Heddle")} starts on this machine\n`);
const stack = await start().catch((error: unknown) =>
  fail(error instanceof Error ? error.message : String(error)),
);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, end);
// Without a terminal, prints no key: the output of a service is kept in a journal.
if (process.stdout.isTTY) introduce();
else
  console.log(`\nHeddle answers at ${stack.info.base_url}; its first key is in ${dir}/local.json`);

/** Enables the compile cache first, then imports the modules that take long to compile. */
async function start() {
  enableCompileCache(compileCacheOf(resolve(dir)));
  const [{ startStack }, { readAgentsInMain, readVariables }] = await Promise.all([
    import("../local/stack.ts"),
    import("../local/variables.ts"),
  ]);
  const region = readRegion();
  const variables = readVariables(process.env);
  const agents_in_main = readAgentsInMain(process.env);
  const options = { port, dir, region, variables, agents_in_main, tick_ms: TICK_MS };
  const stack = await startStack({ ...options, adds_destination: true });
  flushCompileCache();
  return stack;
}

function readRegion(): Region | undefined {
  const wanted = process.env.HEDDLE_REGION ?? "";
  const region = REGIONS.find((each) => each === wanted);
  if (wanted === "" || region) return region;
  throw new Error(
    `HEDDLE_REGION is "${wanted}"; give one of ${REGIONS.join(", ")}, or leave it out.`,
  );
}

async function choosePort(): Promise<number> {
  const wanted = Number(process.env.PORT ?? DEFAULT_PORT);
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > 65535) {
    return fail(
      `PORT is "${process.env.PORT}"; give a number from 0 to 65535, 0 for any free one.`,
    );
  }
  if (wanted !== 0 && !(await isFree(wanted))) {
    return fail(
      `Port ${wanted} is taken. Use another port and another folder: PORT=8788 HEDDLE_DIR=.heddle/second npm start`,
    );
  }
  return wanted;
}

function introduce() {
  const { base_url, api_key, tenant_id, git, s3 } = stack.info;
  const line = (label: string, value: string) =>
    console.log(`  ${paint("dim", label.padEnd(10))} ${value}`);
  console.log();
  line("API", base_url);
  line("Console", `${base_url}/console`);
  line("Key", api_key);
  line("Workspace", tenant_id);
  line("Git host", git.url);
  line("Push to", git.push_url);
  line("S3", `${s3.endpoint}/${s3.bucket}`);
  line("Reference", `${base_url}/docs`);
  line("Written to", `${dir}/local.json`);
  const { deploy, watch, stream } = commandsToTry(stack.info);
  console.log(`\n${paint("bold", "Deploy an agent")}\n\n${deploy}`);
  console.log(`\n${paint("bold", "See it become DEPLOYED")}\n\n${watch}`);
  console.log(`\n${paint("bold", "Send it a message")}\n\n${stream}`);
  console.log(`\n${paint("dim", `Ctrl-C ends the stack; its data stays in ${dir}.`)}`);
}

async function end() {
  console.log("\nEnding the stack ...");
  await stack.stop();
  process.exit(0);
}

function fail(message: string): never {
  console.error(paint("red", message));
  process.exit(1);
}
