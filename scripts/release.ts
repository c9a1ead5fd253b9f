// `npm run release -- <command>`: releases of a machine, in <root>/releases/<commit>; <root>/current names the running one.
//
// install [branch, tag or commit]   clones beside the running service and tries a start (default: main)
// switch [commit] | rollback        restarts the service with it; returns to the one before when it does not answer
// list                              the installed releases
import { parse, resolve } from "node:path";
import { paint } from "../local/processes/terminal.ts";
import { readOptions } from "./options.ts";
import { install } from "./release/install.ts";
import { listReleases, ReleaseError } from "./release/releases.ts";
import { rollback, switchTo } from "./release/switch.ts";

const { values, positionals } = readOptions(
  {
    root: { type: "string", default: "/opt/heddle" },
    from: { type: "string" },
    keep: { type: "string", default: "3" },
    restart: { type: "string", default: "sudo -n systemctl restart heddle" },
    "no-restart": { type: "boolean" },
    wait: { type: "string", default: "180" },
  },
  true,
);
const root = resolve(values.root);

try {
  await run();
} catch (error) {
  // Any other class is a bug, whose stack matters.
  if (!(error instanceof ReleaseError) && (error as Error).constructor !== Error) throw error;
  console.error(paint("red", (error as Error).message));
  process.exit(1);
}

async function run(): Promise<void> {
  const [command = "", argument, ...others] = positionals;
  if (others.length > 0) throw new ReleaseError(`"${others[0]}" is one argument too many.`);
  if (parse(root).root === root) throw new ReleaseError("--root must not be the root folder.");
  if (command === "install") {
    const keep = readNumber("--keep", values.keep, 1, 100);
    return install({ root, from: values.from, ref: argument ?? "main", keep, print: console.log });
  }
  if (command === "switch") return switchTo(switchOptions(), argument);
  if (command === "rollback") return rollback(switchOptions());
  if (command === "list") return printReleases();
  throw new ReleaseError(
    "Give a command: install [ref], switch [commit], rollback or list. --help explains them.",
  );
}

function switchOptions() {
  return {
    root,
    dir: resolve(process.env.HEDDLE_DIR ?? "/var/lib/heddle/data"),
    port: readNumber("PORT", process.env.PORT ?? "8787", 1, 65_535),
    restart: values["no-restart"] ? null : values.restart.split(" ").filter(Boolean),
    wait_ms: 1000 * readNumber("--wait", values.wait, 1, 3600),
    print: console.log,
  };
}

async function printReleases(): Promise<void> {
  for (const { commit, installed_at, subject, is } of await listReleases(root)) {
    console.log(`${commit}  ${installed_at}  ${is.padEnd(8)}  ${subject}`);
  }
}

function readNumber(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new ReleaseError(`${name} is "${text}"; give a whole number from ${min} to ${max}.`);
}
