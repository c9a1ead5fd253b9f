import type { Api } from "./api.ts";
import { DeployError } from "./problems.ts";
import { LOG_RULE, type Target } from "./target.ts";

/** State of the resources of a target. */
export type Account = {
  has_database: boolean;
  applied_migrations: string[];
  has_workspace: boolean;
  has_bucket: boolean;
  /** Ids of the rules that delete lines of the log. */
  log_rules: string[];
  queues: string[];
  /** Queues that the Worker consumes. */
  consumed: string[];
  tail: Script | null;
  builder: Script | null;
  worker: Script | null;
  /** Subdomain of workers.dev; `null` before one is registered. */
  subdomain: string | null;
};

type Script = {
  tag: string | null;
  secrets: string[];
  crons: string[];
  routes: string[];
  /** Scripts that receive its events. */
  tails: string[];
};

type Queue = {
  queue_name: string;
  consumers?: { script?: string; service?: string; script_name?: string }[];
};

export const EMPTY_ACCOUNT: Account = {
  has_database: false,
  applied_migrations: [],
  has_workspace: false,
  has_bucket: false,
  log_rules: [],
  queues: [],
  consumed: [],
  tail: null,
  builder: null,
  worker: null,
  subdomain: null,
};

export async function readAccount(api: Api, target: Target): Promise<Account> {
  const [database, bucket, log_rules, queues, tail, builder, worker, subdomain] = await Promise.all(
    [
      readDatabase(api, target),
      findInBucket(api, target, ""),
      readLogRules(api, target),
      api.list<Queue>("/queues"),
      readScript(api, target.tail),
      readScript(api, target.builder),
      readScript(api, target.worker),
      api.find<{ subdomain: string }>("/workers/subdomain"),
    ],
  );
  const isConsumed = ({ consumers = [] }: Queue) =>
    consumers.some(({ script, service, script_name }) =>
      [script, service, script_name].includes(target.worker),
    );
  return {
    ...database,
    has_bucket: bucket !== null,
    log_rules,
    queues: queues.map(({ queue_name }) => queue_name),
    consumed: queues.filter(isConsumed).map(({ queue_name }) => queue_name),
    ...{ tail, builder, worker, subdomain: subdomain?.subdomain ?? null },
  };
}

async function readDatabase(api: Api, { database: name, jurisdiction }: Target) {
  type Database = { uuid: string; jurisdiction?: string | null };
  const database = await api.find<Database>(`/d1/database/${name}`);
  if (database === null) {
    return { has_database: false, applied_migrations: [], has_workspace: false };
  }
  // The field is missing for databases that were created before it existed.
  if (database.jurisdiction !== undefined && (database.jurisdiction ?? null) !== jurisdiction) {
    throw new DeployError(
      `The database ${name} exists with the jurisdiction ${database.jurisdiction ?? "none"}, and must have ` +
        `${jurisdiction ?? "none"}. A jurisdiction cannot be changed: rename database_name in wrangler.toml, or delete the database if it is empty.`,
    );
  }
  const [migrations, workspaces] = await Promise.all([
    api.query<{ name: string }>(database.uuid, "SELECT name FROM d1_migrations"),
    api.query(database.uuid, "SELECT id FROM workspaces LIMIT 1"),
  ]);
  return {
    has_database: true,
    applied_migrations: migrations.map((row) => row.name),
    has_workspace: workspaces.length > 0,
  };
}

function findInBucket<T>(api: Api, { bucket, jurisdiction }: Target, path: string) {
  const headers = jurisdiction === null ? {} : { "cf-r2-jurisdiction": jurisdiction };
  return api.find<T>(`/r2/buckets/${bucket}${path}`, headers);
}

async function readLogRules(api: Api, target: Target): Promise<string[]> {
  const found = await findInBucket<{ rules?: { id: string }[] }>(api, target, "/lifecycle");
  return (found?.rules ?? []).map(({ id }) => id).filter((id) => id.startsWith(LOG_RULE));
}

async function readScript(api: Api, name: string): Promise<Script | null> {
  const path = `/workers/scripts/${name}`;
  type Deployments = { deployments: { versions: { version_id: string }[] }[] };
  const found = await api.find<Deployments>(`${path}/deployments`);
  const version_id = found?.deployments[0]?.versions[0]?.version_id;
  if (version_id === undefined) return null;
  type Version = { annotations?: Record<string, string> };
  const [version, secrets, { schedules }, domains, routes, settings] = await Promise.all([
    api.get<Version>(`${path}/versions/${version_id}`),
    api.get<{ name: string }[]>(`${path}/secrets`),
    api.get<{ schedules: { cron: string }[] }>(`${path}/schedules`),
    api.get<{ hostname: string }[]>(`/workers/domains?service=${name}`),
    api.get<{ pattern: string }[]>(`/workers/services/${name}/environments/production/routes`),
    api.get<{ tail_consumers?: { service: string }[] | null }>(`${path}/script-settings`),
  ]);
  return {
    tag: version.annotations?.["workers/tag"] ?? null,
    secrets: secrets.map((secret) => secret.name),
    crons: schedules.map(({ cron }) => cron),
    routes: [...domains.map(({ hostname }) => hostname), ...routes.map(({ pattern }) => pattern)],
    tails: (settings.tail_consumers ?? []).map(({ service }) => service),
  };
}
