import { expect, test } from "vitest";
import { type Account, EMPTY_ACCOUNT } from "../../scripts/deploy/account.ts";
import { planDeploy, toShell } from "../../scripts/deploy/plan.ts";
import { logRule, readTarget } from "../../scripts/deploy/target.ts";

const target = {
  ...readTarget("eu"),
  routes: ["eu.heddle.test", "*.agents.test/*"],
  custom_domains: ["eu.heddle.test"],
};
const wanted = {
  migrations: ["0000_one.sql", "0001_two.sql"],
  version: "heddle-1",
  secrets_file: "eu.env",
  workspace: { org: "main", plan: "plus", name: "main" },
};
const builder = { tag: wanted.version, secrets: [], crons: [], routes: [], tails: [] };
const worker = {
  tag: wanted.version,
  secrets: ["ENCRYPTION_KEYS", "OIDC_CLIENT_SECRET"],
  crons: target.crons,
  routes: [...target.routes, "old.heddle.test"],
  tails: ["heddle-tail-eu"],
};
const complete: Account = {
  has_database: true,
  applied_migrations: wanted.migrations,
  has_workspace: true,
  has_bucket: true,
  log_rules: ["heddle-logs-30-days"],
  queues: ["another", ...target.queues, ...target.dead_letter_queues],
  consumed: target.queues,
  tail: builder,
  builder,
  worker,
  subdomain: "acme",
};

function stepsOf(account: Partial<Account>): string[] {
  const steps = planDeploy(target, { ...complete, ...account }, wanted);
  return steps.filter(({ commands }) => commands.length > 0).map(({ name }) => name);
}

test("an account that has everything needs no step", () => expect(stepsOf({})).toEqual([]));

test("an empty account needs every step, stores before scripts and the Worker after what it names", () => {
  expect(stepsOf(EMPTY_ACCOUNT)).toEqual([
    "Database heddle-eu",
    "Bucket heddle-artifacts-eu",
    "Logs for 30 days",
    "Queues",
    "Tables",
    "Tail heddle-tail-eu",
    "Builder heddle-builder-eu",
    "Encryption keys",
    "Worker heddle-eu",
    "First workspace",
  ]);
});

test.each<[string, Partial<Account>, string[]]>([
  ["a database", { has_database: false }, ["Database heddle-eu"]],
  ["one of the migrations", { applied_migrations: ["0000_one.sql"] }, ["Tables"]],
  ["one queue", { queues: complete.queues.slice(0, -1) }, ["Queues"]],
  ["the rule of the log", { log_rules: [] }, ["Logs for 30 days"]],
  ["a current tail", { tail: { ...builder, tag: "heddle-0" } }, ["Tail heddle-tail-eu"]],
  ["the Worker's tail", { worker: { ...worker, tails: [] } }, ["Worker heddle-eu"]],
  ["a current builder", { builder: { ...builder, tag: null } }, ["Builder heddle-builder-eu"]],
  ["a current Worker", { worker: { ...worker, tag: "heddle-0" } }, ["Worker heddle-eu"]],
  ["the cron", { worker: { ...worker, crons: [] } }, ["Worker heddle-eu"]],
  ["one route", { worker: { ...worker, routes: ["eu.heddle.test"] } }, ["Worker heddle-eu"]],
  ["one consumer", { consumed: target.queues.slice(1) }, ["Worker heddle-eu"]],
  [
    "the keys",
    { worker: { ...worker, secrets: ["OIDC_CLIENT_SECRET"] } },
    ["Encryption keys", "Worker heddle-eu"],
  ],
])("an account without %s needs only that", (_, account, steps) => {
  expect(stepsOf(account)).toEqual(steps);
});

test("another retention of the log replaces the rule, and none removes it", () => {
  const commandsOf = (log_rule: typeof target.log_rule) =>
    planDeploy({ ...target, log_rule }, complete, wanted).flatMap(({ commands }) =>
      commands.map(toShell),
    );
  const call = "npx wrangler r2 bucket lifecycle";
  const removal = `${call} remove heddle-artifacts-eu --name heddle-logs-30-days --jurisdiction eu`;
  expect(commandsOf(logRule("90"))).toEqual([
    `${call} add heddle-artifacts-eu heddle-logs-90-days logs/ --expire-days 90 --force --jurisdiction eu`,
    removal,
  ]);
  expect(commandsOf(logRule("0"))).toEqual([removal]);
});

test.each(["", "-1", "1.5", "month"])("a retention of %j days is refused", (days) => {
  expect(() => logRule(days)).toThrow("LOG_DAYS of wrangler.tail.toml must be 1 to 9999 days");
});
