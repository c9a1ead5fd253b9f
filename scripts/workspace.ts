// `npm run workspace -- <command> ...`: organizations, workspaces, keys and members, for operators.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { readState } from "../local/folder.ts";
import { createWorkspace, rowsOf } from "../local/workspace.ts";
import { execWrangler, runWrangler } from "../local/wrangler.ts";
import { ENVIRONMENTS, type Environment } from "./regions.ts";
import {
  addMember,
  createKey,
  listKeys,
  listMembers,
  removeMember,
  revokeKey,
  setOrganizationRole,
} from "./workspace-keys.ts";
import { listQuotas, METERS, PERIODS, periodProblem, setQuota } from "./workspace-quotas.ts";
import { PLANS, ROLES } from "./workspace-sql.ts";

const USAGE = `Usage: npm run workspace -- <command> [options]

Commands
  create         an organization, a workspace in it and an admin key: --org --plan --name [--role]
  keys           list active keys: --org [--name]
  create-key     a service key, organization-wide without --name: --org [--name] --role
                 [--description <text>] [--expires <ISO time>]
  revoke-key     any key: --id
  members        list users and their roles: --org [--name]
  add-member     add a user by email, or set the role: --org --name --email --role
  remove-member  remove a user from a workspace: --org --name --email
  org-admin      make a user an admin of the organization: --org --email [--revoke]
  quotas         list the quotas of a workspace: --org --name
  set-quota      set or remove a quota that its admins cannot change: --org --name --meter --period
                 --limit <number, or none>

Options
  --org     organization, by name; create makes it when it is new, else gives it the plan
  --plan    ${PLANS.join(", ")}
  --name    workspace of the organization; create makes it when it is new
  --role    ${ROLES.join(", ")} (create: admin when left out)
  --meter   ${METERS.slice(0, 3).join(", ")},
            ${METERS.slice(3).join(", ")}
  --period  ${PERIODS.join(", ")}
  --env     environment of wrangler.toml: ${ENVIRONMENTS.join(", ")} (the folder's when left out)
  --remote  the database at Cloudflare, with wrangler's login; else the one in HEDDLE_DIR (.heddle)

A change takes effect within 10 seconds, a quota within a minute. Keys are shown once.`;

type Values = ReturnType<typeof parse>["values"];

const COMMANDS: Record<string, (values: Values) => Promise<void>> = {
  create,
  keys: async (values) => print(await execute(listKeys(scopeOf(values)))),
  "create-key": newKey,
  "revoke-key": async (values) =>
    printFound(await execute(revokeKey(requireOption("id", values.id)))),
  members: async (values) => print(await execute(listMembers(scopeOf(values)))),
  "add-member": async (values) => {
    const role = oneOf("role", requireOption("role", values.role), ROLES);
    printFound(await execute(addMember({ ...memberOf(values), role })));
  },
  "remove-member": async (values) => printFound(await execute(removeMember(memberOf(values)))),
  "org-admin": async (values) => {
    const [org, email] = [requireOption("org", values.org), requireOption("email", values.email)];
    const role = values.revoke ? "user" : "admin";
    printFound(await execute(setOrganizationRole(org, email, role)));
  },
  quotas: async (values) => print(await execute(listQuotas(workspaceOf(values)))),
  "set-quota": async (values) => {
    const meter = oneOf("meter", requireOption("meter", values.meter), METERS);
    const period = oneOf("period", requireOption("period", values.period), PERIODS);
    const problem = periodProblem({ meter, period });
    if (problem !== null) fail(`--period ${problem}.`);
    const limit = limitOf(requireOption("limit", values.limit));
    printFound(await execute(setQuota({ ...workspaceOf(values), meter, period, limit })));
  },
};

const dir = resolve(process.env.HEDDLE_DIR ?? ".heddle");
const { values, positionals } = parse(process.argv.slice(2));
const place = await placeOf(values);
await main();

async function main(): Promise<void> {
  if (values.help) return console.log(USAGE);
  const [name = "", ...rest] = positionals;
  const command = rest.length === 0 && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    return fail(`Command required: ${Object.keys(COMMANDS).join(", ")}.\n\n${USAGE}`);
  }
  try {
    await command(values);
  } catch (error) {
    fail(explain(error));
  }
}

async function create({ org, plan, name, role = "admin" }: Values): Promise<void> {
  const input = {
    org: requireOption("org", org),
    plan: oneOf("plan", requireOption("plan", plan), PLANS),
    name: requireOption("name", name),
    role: oneOf("role", role, ROLES),
  };
  const made = await createWorkspace(input, wrangler);
  console.log(`Organization  ${input.org} (${input.plan})  ${made.organization_id}`);
  console.log(`Workspace     ${input.name}  ${made.tenant_id}`);
  console.log(`Key           ${made.api_key}`);
  console.log(`\nThe key has the role ${input.role} and is not shown again.`);
}

async function newKey(values: Values): Promise<void> {
  const { description = "Command line", expires } = values;
  const expires_at = expires === undefined ? undefined : timeOf(expires);
  const role = oneOf("role", requireOption("role", values.role), ROLES);
  const { sql, api_key } = createKey({ ...scopeOf(values), role, description, expires_at });
  printFound(await execute(sql));
  console.log(`Key  ${api_key}\n\nThe key is not shown again.`);
}

async function execute(sql: string): Promise<Record<string, unknown>[]> {
  return rowsOf(await wrangler(["d1", "execute", "DB", "--json", "--command", sql]));
}

function print(rows: Record<string, unknown>[]): void {
  if (rows.length === 0) console.log("None.");
  else console.table(rows);
}

function printFound(rows: Record<string, unknown>[]): void {
  if (rows.length === 0) fail("Not found: check --org, --name, --email and --id.");
  print(rows);
}

function scopeOf(values: Values) {
  return { org: requireOption("org", values.org), name: values.name };
}

function workspaceOf({ org, name }: Values) {
  return { org: requireOption("org", org), name: requireOption("name", name) };
}

function memberOf(values: Values) {
  return { ...workspaceOf(values), email: requireOption("email", values.email) };
}

function limitOf(text: string): number | null {
  if (text === "none") return null;
  const limit = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(limit)) return limit;
  return fail(`--limit is "${text}"; give a whole number, or none.`);
}

function timeOf(text: string): string {
  const ms = Date.parse(text);
  if (!(ms > Date.now())) fail(`--expires is "${text}"; give an ISO 8601 time in the future.`);
  return new Date(ms).toISOString();
}

async function placeOf({ env, remote = false }: Values): Promise<{
  env: Environment | undefined;
  remote: boolean;
}> {
  const region = env === undefined ? undefined : oneOf("env", env, ENVIRONMENTS);
  if (remote && region === undefined)
    fail(`--remote needs --env: one of ${ENVIRONMENTS.join(", ")}.`);
  return { env: region ?? (await readState(dir))?.region, remote };
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
        id: { type: "string" },
        email: { type: "string" },
        description: { type: "string" },
        expires: { type: "string" },
        meter: { type: "string" },
        period: { type: "string" },
        limit: { type: "string" },
        revoke: { type: "boolean" },
        env: { type: "string" },
        remote: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

function requireOption(option: string, value: string | undefined): string {
  const text = value?.trim() ?? "";
  return text === "" ? fail(`--${option} is missing.\n\n${USAGE}`) : text;
}

function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  return found ?? fail(`--${option} is "${value}"; give one of ${allowed.join(", ")}.`);
}

function wrangler(args: string[]): Promise<string> {
  const { env, remote } = place;
  if (env === undefined || !remote) return runWrangler(dir, args, env);
  return execWrangler(dir, [...args, "--env", env, "--remote"]);
}

function explain(error: unknown): string {
  const parts =
    error instanceof Error ? { stdout: "", stderr: "", ...error } : { stdout: "", stderr: "" };
  const output = `${parts.stdout}${parts.stderr}`.trim() || String(error);
  if (!output.includes("no such table")) return output;
  const apply = `npx wrangler d1 migrations apply DB --env ${place.env} --remote`;
  return `The database has no tables yet. Apply the migrations first: ${place.remote ? apply : "npm start"}`;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
