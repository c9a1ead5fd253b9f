import { unstable_readConfig as readConfig } from "wrangler";
import { type Environment, FILES } from "../regions.ts";
import { DeployError } from "./problems.ts";

/** Names of everything that an environment needs, as wrangler reads its files. */
export type Target = {
  env: Environment;
  /** `null` for an environment outside of every jurisdiction. */
  jurisdiction: string | null;
  database: string;
  bucket: string;
  queues: string[];
  dead_letter_queues: string[];
  builder: string;
  tail: string;
  /** Rule of the bucket that deletes lines of the log; `null` keeps them. */
  log_rule: { id: string; days: string } | null;
  worker: string;
  required_secrets: string[];
  crons: string[];
  /** Patterns of all routes; a custom domain is a host name. */
  routes: string[];
  custom_domains: string[];
  base_url: string;
};

type Route = string | { pattern: string; custom_domain?: boolean };
type Config = {
  name: string;
  vars: Record<string, string>;
  secrets?: { required?: string[] };
  routes?: Route[];
  triggers: { crons?: string[] };
  d1_databases: { database_name: string }[];
  r2_buckets: { bucket_name: string }[];
  queues: { consumers: { queue: string; dead_letter_queue: string }[] };
};

/** Prefix of the ids of the rule. The id has the days, because wrangler cannot change a rule. */
export const LOG_RULE = "heddle-logs-";

export function readTarget(env: Environment): Target {
  const configs = FILES.map((config) => readConfig({ config, env }));
  const [main, builder, tail] = configs as [Config, Config, Config];
  const { consumers } = main.queues;
  return {
    env,
    jurisdiction: main.vars.DATA_JURISDICTION || null,
    database: main.d1_databases[0]?.database_name ?? "",
    bucket: main.r2_buckets[0]?.bucket_name ?? "",
    queues: consumers.map(({ queue }) => queue),
    dead_letter_queues: consumers.map(({ dead_letter_queue }) => dead_letter_queue),
    builder: builder.name,
    tail: tail.name,
    log_rule: logRule(tail.vars.LOG_DAYS ?? ""),
    worker: main.name,
    required_secrets: main.secrets?.required ?? [],
    crons: main.triggers.crons ?? [],
    routes: (main.routes ?? []).map((route) => (typeof route === "string" ? route : route.pattern)),
    custom_domains: (main.routes ?? []).flatMap((route) =>
      typeof route !== "string" && route.custom_domain ? [route.pattern] : [],
    ),
    base_url: main.vars.BASE_URL ?? "",
  };
}

export function logRule(days: string): Target["log_rule"] {
  if (days === "0") return null;
  if (/^[1-9]\d{0,3}$/.test(days)) return { id: `${LOG_RULE}${days}-days`, days };
  throw new DeployError(
    `LOG_DAYS of wrangler.tail.toml must be 1 to 9999 days, or 0 to keep the log; it is "${days}".`,
  );
}
