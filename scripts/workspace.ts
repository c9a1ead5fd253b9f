// `npm run workspace -- create ...`: an organization, a workspace in it, and a service key that is shown once.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { createWorkspace } from "./local/workspace.ts";
import { execWrangler, runWrangler } from "./local/wrangler.ts";
import { REGIONS, type Region } from "./regions.ts";
import { type NewWorkspace, PLANS, ROLES } from "./workspace-sql.ts";

const USAGE = `Usage: npm run workspace -- create --org <name> --plan <plan> --name <workspace> [options]

  --org     organization; made when it is new, else given the plan
  --plan    ${PLANS.join(", ")}
  --name    workspace of the organization; made when it is new
  --role    role of the new key: ${ROLES.join(", ")} (admin when left out)
  --env     region of wrangler.toml: ${REGIONS.join(", ")} (the local stack's when left out)
  --remote  the database at Cloudflare, with wrangler's login; else the one in HEDDLE_DIR (.heddle)`;

type Order = { input: NewWorkspace; env: Region | undefined; remote: boolean };

const dir = resolve(process.env.HEDDLE_DIR ?? ".heddle");
const order = readOrder(process.argv.slice(2));
try {
  const made = await createWorkspace(order.input, wrangler);
  console.log(`Organization  ${order.input.org} (${order.input.plan})  ${made.organization_id}`);
  console.log(`Workspace     ${order.input.name}  ${made.tenant_id}`);
  console.log(`Key           ${made.api_key}`);
  console.log(`\nThe key has the role ${order.input.role} and is not shown again.`);
} catch (error) {
  fail(explain(error));
}

function readOrder(args: string[]): Order {
  const { values, positionals } = parse(args);
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  if (positionals.join(" ") !== "create") {
    fail(`Say what to do: create is the only command.\n\n${USAGE}`);
  }
  const { env, remote = false } = values;
  const region = env === undefined ? undefined : oneOf("env", env, REGIONS);
  if (remote && region === undefined) fail("--remote needs --env us or --env eu.");
  return {
    input: {
      org: named("org", values.org),
      plan: oneOf("plan", named("plan", values.plan), PLANS),
      name: named("name", values.name),
      role: oneOf("role", values.role ?? "admin", ROLES),
    },
    env: region,
    remote,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        org: { type: "string" },
        plan: { type: "string" },
        name: { type: "string" },
        role: { type: "string" },
        env: { type: "string" },
        remote: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

function named(option: string, value: string | undefined): string {
  const text = value?.trim() ?? "";
  return text === "" ? fail(`--${option} is missing.\n\n${USAGE}`) : text;
}

function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  return found ?? fail(`--${option} is "${value}"; give one of ${allowed.join(", ")}.`);
}

function wrangler(args: string[]): Promise<string> {
  const { env, remote } = order;
  if (env === undefined || !remote) return runWrangler(dir, args, env);
  return execWrangler(dir, [...args, "--env", env, "--remote"]);
}

function explain(error: unknown): string {
  const parts =
    error instanceof Error ? { stdout: "", stderr: "", ...error } : { stdout: "", stderr: "" };
  const said = `${parts.stdout}${parts.stderr}`.trim() || String(error);
  if (!said.includes("no such table")) return said;
  const apply = `npx wrangler d1 migrations apply DB --env ${order.env} --remote`;
  return `The database has no tables yet. Apply the migrations first: ${order.remote ? apply : "npm start"}`;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
