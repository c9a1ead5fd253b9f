import type { Account } from "./account.ts";
import type { Target } from "./target.ts";

export type Command =
  | { program: "wrangler" | "workspace"; args: string[] }
  /** Generates the encryption keys, unless the file exists. */
  | { program: "secrets"; file: string };

/** A step without commands is done already. Commands of one step do not depend on each other. */
export type Step = { name: string; commands: Command[] };

export type DeployInput = {
  /** Names of the files of migrations. */
  migrations: string[];
  /** Tag of the sources; `null` leaves it out. */
  version: string | null;
  secrets_file: string;
  workspace: { org: string; plan: string; name: string };
};

const DEAD_LETTER_SECONDS = "1209600"; // 14 days, the longest retention of a queue

/** Compares what the account has with what the target needs. The order of the steps matters. */
export function planDeploy(target: Target, account: Account, wanted: DeployInput): Step[] {
  const { env, database, bucket, builder, tail, worker } = target;
  const tag = wanted.version === null ? [] : ["--tag", wanted.version];
  const pinned = target.jurisdiction === null ? [] : ["--jurisdiction", target.jurisdiction];
  const unbound = "--update-config=false"; // wrangler.toml has the bindings
  const needs_secrets = missing(target.required_secrets, account.worker?.secrets ?? []).length > 0;
  const secrets = needs_secrets ? ["--secrets-file", wanted.secrets_file] : [];
  const { org, plan, name } = wanted.workspace;
  return [
    step(`Database ${database}`, !account.has_database, [
      wrangler("d1", "create", database, ...pinned, unbound),
    ]),
    step(`Bucket ${bucket}`, !account.has_bucket, [
      wrangler("r2", "bucket", "create", bucket, ...pinned, unbound),
    ]),
    ...logSteps(target, account, pinned),
    { name: "Queues", commands: queueCommands(target, account, pinned) },
    step("Tables", missing(wanted.migrations, account.applied_migrations).length > 0, [
      wrangler("d1", "migrations", "apply", "DB", "--env", env, "--remote"),
    ]),
    // The Worker names the tail, so the tail comes first.
    step(`Tail ${tail}`, account.tail?.tag !== wanted.version, [
      wrangler("deploy", "-c", "wrangler.tail.toml", "--env", env, ...tag),
    ]),
    step(`Builder ${builder}`, account.builder === null || account.builder.tag !== wanted.version, [
      wrangler("deploy", "-c", "wrangler.builder.toml", "--env", env, ...tag),
    ]),
    step("Encryption keys", needs_secrets, [{ program: "secrets", file: wanted.secrets_file }]),
    step(`Worker ${worker}`, needs_secrets || !isCurrent(target, account, wanted.version), [
      wrangler("deploy", "--env", env, ...tag, ...secrets),
    ]),
    step("First workspace", !account.has_workspace, [
      {
        program: "workspace",
        args: [
          "create",
          ...["--org", org, "--plan", plan, "--name", name],
          "--env",
          env,
          "--remote",
        ],
      },
    ]),
  ];
}

/**
 * Adds the rule of the log and removes former ones: the shortest of several rules would decide. Each change is a
 * separate step, because wrangler rewrites all rules for it.
 */
function logSteps({ bucket, log_rule }: Target, { log_rules }: Account, pinned: string[]): Step[] {
  const change = (verb: string, ...args: string[]) =>
    wrangler("r2", "bucket", "lifecycle", verb, bucket, ...args, ...pinned);
  const former = log_rules.filter((id) => id !== log_rule?.id);
  const removals = former.map((id) =>
    step(`Former retention ${id}`, true, [change("remove", "--name", id)]),
  );
  if (log_rule === null) return removals;
  const { id, days } = log_rule;
  const add = change("add", id, "logs/", "--expire-days", days, "--force");
  return [step(`Logs for ${days} days`, !log_rules.includes(id), [add]), ...removals];
}

function queueCommands(target: Target, account: Account, pinned: string[]): Command[] {
  const retention = ["--message-retention-period-secs", DEAD_LETTER_SECONDS];
  const create = (settings: string[]) => (name: string) =>
    wrangler("queues", "create", name, ...pinned, ...settings);
  return [
    ...missing(target.queues, account.queues).map(create([])),
    ...missing(target.dead_letter_queues, account.queues).map(create(retention)),
  ];
}

/** Compares the triggers as well as the tag: a deploy that ended after the upload has set the tag, but no triggers. */
function isCurrent(target: Target, { worker, consumed }: Account, version: string | null): boolean {
  return (
    worker !== null &&
    worker.tag === version &&
    missing([target.tail], worker.tails).length === 0 &&
    missing(target.crons, worker.crons).length === 0 &&
    missing(target.routes, worker.routes).length === 0 &&
    missing(target.queues, consumed).length === 0
  );
}

function missing(wanted: string[], present: string[]): string[] {
  return wanted.filter((name) => !present.includes(name));
}

function step(name: string, isMissing: boolean, commands: Command[]): Step {
  return { name, commands: isMissing ? commands : [] };
}

function wrangler(...args: string[]): Command {
  return { program: "wrangler", args };
}

/** Returns the command as a line for a shell. */
export function toShell(command: Command): string {
  if (command.program === "secrets") {
    const file = quote(command.file);
    const keys = '"ENCRYPTION_KEYS=k1:$(openssl rand -base64 32)"';
    return `test -f ${file} || (umask 077; mkdir -p "$(dirname ${file})"; echo ${keys} >${file})`;
  }
  const program = command.program === "wrangler" ? "npx wrangler" : "npm run -s workspace --";
  return `${program} ${command.args.map(quote).join(" ")}`;
}

function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
