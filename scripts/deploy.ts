// Creates what an environment of wrangler.toml misses in a Cloudflare account, deploys it, and checks its health.
// Changes nothing when nothing differs. Reads CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_TOKEN.
// --env is eu, us or staging. --print prints all commands instead, and calls nothing.

import { execNode } from "../local/wrangler.ts";
import { type Account, EMPTY_ACCOUNT, readAccount } from "./deploy/account.ts";
import { connectApi, readCredentials } from "./deploy/api.ts";
import { awaitHealth, originOf } from "./deploy/health.ts";
import { type Command, type DeployInput, planDeploy, type Step, toShell } from "./deploy/plan.ts";
import { DeployError } from "./deploy/problems.ts";
import { runStep } from "./deploy/run.ts";
import { assertKeysMayBeCreated } from "./deploy/secrets.ts";
import { readTarget } from "./deploy/target.ts";
import { readMigrations, readVersion } from "./deploy/version.ts";
import { readOptions } from "./options.ts";
import { ENVIRONMENTS, type Environment } from "./regions.ts";
import { PLANS } from "./workspace-sql.ts";

const { values } = readOptions({
  env: { type: "string" },
  print: { type: "boolean" },
  url: { type: "string" },
  org: { type: "string", default: "main" },
  plan: { type: "string", default: "enterprise" },
  workspace: { type: "string", default: "main" },
  "secrets-file": { type: "string" },
});

try {
  await (values.print ? print() : deploy());
} catch (error) {
  if (!(error instanceof DeployError)) throw error;
  console.error(
    `\n${error.message}\n\nRepair this, and run the command again: it continues where it ended.`,
  );
  process.exitCode = 1;
}

async function print(): Promise<void> {
  const env = environment();
  const steps = planDeploy(readTarget(env), EMPTY_ACCOUNT, await wantedOf(env, null));
  const commands = steps.flatMap((step) => step.commands);
  console.log(["npm run build", ...commands.map(toShell)].join("\n"));
}

async function deploy(): Promise<void> {
  const env = environment();
  const target = readTarget(env);
  const credentials = readCredentials(process.env);
  const api = connectApi(credentials);
  console.log(`Deploying ${env} to the Cloudflare account ${credentials.account_id}\n`);
  await execNode(".wrangler", ["scripts/build.ts"]);
  const wanted = await wantedOf(env, await readVersion());
  const account = await readAccount(api, target);
  const steps = planDeploy(target, account, wanted);
  if (steps.some(({ commands }) => commands.some(({ program }) => program === "secrets"))) {
    await assertKeysMayBeCreated(wanted.secrets_file, account.has_workspace);
  }
  for (const [index, step] of steps.entries()) {
    await perform(step, `${index + 1}/${steps.length}`, remainingOf(step));
  }
  const changes = steps.filter(({ commands }) => commands.length > 0).length;
  console.log(
    `\n${changes === 0 ? "Nothing changed: everything was there." : `Changed: ${changes}.`}`,
  );
  await verify(account);

  function remainingOf({ name }: Step) {
    return async () => {
      const now = planDeploy(target, await readAccount(api, target), wanted);
      return now.find((step) => step.name === name)?.commands ?? [];
    };
  }

  async function verify(account: Account): Promise<void> {
    const origin = values.url ?? originOf(target, account);
    console.log(`Checking ${origin}/v1/health: a first deployment needs a minute.`);
    const { checks } = await awaitHealth(origin.replace(/\/$/, ""));
    console.log(`Healthy: ${checks.length} checks are ok.`);
  }
}

async function perform(
  step: Step,
  place: string,
  remaining: () => Promise<Command[]>,
): Promise<void> {
  const label = `${place.padStart(3)}  ${step.name.padEnd(34)}`;
  if (step.commands.length === 0) return console.log(`${label} present`);
  const started = Date.now();
  const output = await runStep(step, remaining);
  console.log(`${label} done in ${((Date.now() - started) / 1000).toFixed(1)} s`);
  for (const command of step.commands) {
    if (command.program === "secrets")
      console.log(`       Keep a copy of ${command.file}: nothing gives these keys back.`);
    if (command.program === "workspace") console.log(output === "" ? lostKey() : `\n${output}`);
  }
}

/** Returns the remedy when the answer to the creation of the workspace was lost, and with it the key. */
function lostKey(): string {
  const { org, workspace, env } = values;
  const options = `--org ${org} --name ${workspace} --role admin --env ${env} --remote`;
  return `       Its key was lost on the way. Create another: npm run -s workspace -- create-key ${options}`;
}

function environment(): Environment {
  const found = ENVIRONMENTS.find((env) => env === values.env);
  if (found) return found;
  throw new DeployError(`--env must be one of ${ENVIRONMENTS.join(", ")}.`);
}

async function wantedOf(env: Environment, version: string | null): Promise<DeployInput> {
  const plan = PLANS.find((each) => each === values.plan);
  if (plan === undefined) throw new DeployError(`--plan must be one of ${PLANS.join(", ")}.`);
  return {
    version,
    migrations: await readMigrations(),
    secrets_file: values["secrets-file"] ?? `.deploy/${env}.env`,
    workspace: { org: values.org, plan, name: values.workspace },
  };
}
