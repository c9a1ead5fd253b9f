import { type Access, poll } from "./access.ts";
import type { Words } from "./words.ts";

export type SeededWorkspace = {
  export: string;
  schedule: string;
  failed_export: string;
  /** A key of a viewer. */
  viewer: string;
  alert: string;
};

type Export = { id: string; status: string };

const HOUR_MS = 3_600_000;
const EXPORTS = "/api/v1/bulk-exports";

/** Exports of the project, connections, members, keys, quotas and alerts. */
export async function seedWorkspace(
  access: Access,
  words: Words,
  project: string,
): Promise<SeededWorkspace> {
  const [exports, viewer, alert] = await Promise.all([
    seedExports(access, words, project),
    seedPeople(access, words),
    seedLimits(access, words, project),
  ]);
  return { ...exports, viewer, alert };
}

/** Quotas of which one is used up, and alerts. @returns the id of an alert */
async function seedLimits({ call }: Access, words: Words, session_id: string): Promise<string> {
  await call("PUT", "/v1/quotas", {
    quotas: [
      { meter: "ingested_spans", period: "day", limit: 500_000 },
      { meter: "ingested_spans", period: "month", limit: 5_000_000 },
      { meter: "run_seconds", period: "month", limit: 360_000 },
      { meter: "ingested_bytes", period: "day", limit: 20_000 },
    ],
  });
  const webhook = "https://hooks.example.com/alerts";
  const create = (name: string, alert: object) =>
    call("POST", "/v1/alerts", { name: words.text(name).slice(0, 100), webhook, ...alert });
  await create("Nearly out of quota", {
    ...{ metric: "quota_used", window_minutes: 5, operator: "gte", threshold: 0.8 },
  });
  await create("Slow research", {
    ...{ metric: "latency_p95", session_id, enabled: false },
    ...{ window_minutes: 60, operator: "gte", threshold: 30 },
  });
  const { id = "" } = await create("Errors of the research", {
    ...{ metric: "error_rate", session_id, window_minutes: 90, operator: "gte", threshold: 0.01 },
    filter: `neq(name, ${JSON.stringify(words.text("plan"))})`,
  });
  return id;
}

async function seedExports(access: Access, words: Words, session_id: string) {
  const bulk_export_destination_id = await createDestination(access, words);
  const create = (order: Record<string, unknown>) =>
    access.call<Export>("POST", EXPORTS, {
      bulk_export_destination_id,
      session_id,
      format_version: "v2_beta",
      ...order,
    });
  const hour = (shift: number) => new Date((Math.floor(Date.now() / HOUR_MS) + shift) * HOUR_MS);
  const [start_time, end_time] = [hour(-23).toISOString(), hour(0).toISOString()];
  const [done, filtered, schedule] = await Promise.all([
    create({ start_time, end_time: hour(1).toISOString() }).catch(() =>
      create({ start_time, end_time }),
    ),
    create({ start_time, end_time, filter: `eq(name, ${JSON.stringify(words.text("plan"))})` }),
    create({ start_time: hour(-4).toISOString(), interval_hours: 1 }),
  ]);
  for (const { id } of [done, filtered]) {
    await poll(
      () => access.call<Export>("GET", `${EXPORTS}/${id}`),
      ({ status }) => ["COMPLETED", "FAILED"].includes(status),
    );
  }
  return { export: done.id, schedule: schedule.id, failed_export: filtered.id };
}

async function createDestination({ call, s3 }: Access, words: Words): Promise<string> {
  const { bucket, region, endpoint, access_key_id, secret_access_key } = s3;
  const { id } = await call("POST", `${EXPORTS}/destinations`, {
    destination_type: "s3",
    display_name: "Data lake",
    config: {
      bucket_name: bucket,
      prefix: words.text("research").replace(/\p{Cc}/gu, ""),
      region,
      endpoint_url: endpoint,
    },
    credentials: { access_key_id, secret_access_key },
  });
  return id ?? "";
}

/** @returns a key of a viewer */
async function seedPeople({ call }: Access, words: Words): Promise<string> {
  const suffix = crypto.randomUUID().slice(0, 6);
  const { key = "" } = await call("POST", "/api/v1/api-key", {
    description: words.text("Dashboard of the support team"),
    role: "viewer",
  });
  await call("POST", "/api/v1/api-key", {
    description: words.text("CI of the billing agent"),
    role: "editor",
    expires_at: new Date(Date.now() + 240 * HOUR_MS).toISOString(),
  });
  for (const [name, role] of [
    ["ada", "admin"],
    ["grace", "editor"],
  ] as const) {
    const email = `${name}-${suffix}@example.com`;
    await call("POST", "/api/v1/workspaces/current/members", { email, role });
  }
  await call("POST", "/v1/integrations/github/install", {
    name: words.text("Acme on GitHub").slice(0, 100),
    token: "token",
  });
  await call("POST", "/v2/auth/providers", {
    provider_id: `github-${suffix}`,
    name: words.text("GitHub"),
    client_id: "Iv1.8a61f9b3a7aba766",
    auth_url: "https://github.com/login/oauth/authorize",
    token_url: "https://github.com/login/oauth/access_token",
    token_endpoint_auth_method: "none",
  });
  return key;
}
