import { setTimeout as sleep } from "node:timers/promises";
import { execNode, execWrangler } from "../../local/wrangler.ts";
import type { Command, Step } from "./plan.ts";
import { DeployError, describeProblem, isForbidden } from "./problems.ts";
import { createKeys } from "./secrets.ts";

const ATTEMPTS = 3;
const PAUSE_MS = 2000;
/** Commands at once: each is a process of wrangler. */
const LANES = 2;

/**
 * Runs the commands of a step. A failed command may have done its work, or another process may have done it:
 * `remaining` looks at the account again before a command is repeated.
 * @returns what the commands of the workspace printed
 */
export async function runStep(
  { name, commands }: Step,
  remaining: () => Promise<Command[]>,
  attempt = 1,
): Promise<string> {
  const queue = commands.values();
  const lanes = await Promise.allSettled(Array.from({ length: LANES }, () => runLane(queue)));
  const failed = lanes.find((lane) => lane.status === "rejected");
  if (failed === undefined) {
    return lanes.map((lane) => (lane.status === "fulfilled" ? lane.value : "")).join("");
  }
  const { text, mayPass } = explain(failed.reason);
  const missing = mayPass ? await remaining() : commands;
  if (missing.length === 0) return "";
  if (!mayPass || attempt === ATTEMPTS) throw new DeployError(text, { cause: failed.reason });
  await sleep(PAUSE_MS * attempt);
  return await runStep({ name, commands: missing }, remaining, attempt + 1);
}

async function runLane(commands: Iterable<Command>): Promise<string> {
  let output = "";
  for (const command of commands) output += await runCommand(command);
  return output;
}

async function runCommand(command: Command): Promise<string> {
  if (command.program === "secrets") {
    await createKeys(command.file);
    return "";
  }
  const dir = ".wrangler";
  if (command.program === "workspace") {
    return await execNode(dir, ["scripts/workspace.ts", ...command.args]);
  }
  await execWrangler(dir, command.args);
  return "";
}

/** Reads wrangler's message: `A request to the Cloudflare API (<path>) failed.`, then text with `[code: <n>]`. */
function explain(error: unknown): { text: string; mayPass: boolean } {
  if (error instanceof DeployError) return { text: error.message, mayPass: false };
  const { stdout, stderr } = { stdout: "", stderr: "", ...Object(error) };
  const output = `${stderr}\n${stdout}`.trim() || String(error);
  const call = /Cloudflare API \((?:\/accounts\/[^/)]+)?([^)]*)\) failed/.exec(output);
  const found = /^[\s-]*(.*?) \[code: (\d+)\]/m.exec(output);
  if (!call || !found) return { text: output, mayPass: call !== null };
  const code = Number(found[2]);
  const text = describeProblem(call[1] ?? "", code, found[1] ?? "");
  return { text, mayPass: !isForbidden(code) };
}
