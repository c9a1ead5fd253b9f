import { randomUUID } from "node:crypto";
import { ApiFailure, type Call, form, json, type Routes } from "./api.ts";

type Binding = { name: string; type: string; [field: string]: unknown };
type Metadata = {
  bindings: Binding[];
  annotations?: Record<string, string>;
  migrations?: { new_tag?: string; old_tag?: string };
  tail_consumers?: TailConsumer[];
};
type TailConsumer = { service: string };
type Version = {
  id: string;
  bindings: Binding[];
  annotations: Record<string, string>;
  modules: string[];
  tail_consumers: TailConsumer[];
};
type Script = {
  versions: Version[];
  deployed: string[];
  secrets: Map<string, string>;
  migration_tag: string | undefined;
  crons: string[];
  subdomain: { enabled: boolean; previews_enabled: boolean };
  tags: string[];
  tail_consumers: TailConsumer[];
};

export class Workers {
  readonly all = new Map<string, Script>();

  readonly routes: Routes = {
    "GET /workers/subdomain": () => ({ subdomain: "acme" }),
    "GET /workers/domains": () => [],
    "GET /workers/services/:name/environments/production/routes": () => [],
    "GET /workers/services/:name": (_, [name = ""]) => this.#service(name),
    "GET /workers/scripts/:name/deployments": (_, [name]) => this.#deployments(this.find(name)),
    "POST /workers/scripts/:name/deployments": (call, [name]) => {
      const [version] = json<{ versions: { version_id: string }[] }>(call).versions;
      const id = version?.version_id ?? "";
      this.find(name).deployed.unshift(id);
      return { id };
    },
    "GET /workers/scripts/:name/versions/:id": (_, [name, id]) => {
      const found = this.find(name).versions.find((version) => version.id === id);
      if (!found) throw new ApiFailure(404, 10007, "This Worker version does not exist.");
      return toVersion(found);
    },
    "GET /workers/scripts/:name/versions": (_, [name]) => ({
      items: this.find(name).versions.map(toVersion),
    }),
    "POST /workers/scripts/:name/versions": async (call, [name]) =>
      toVersion(await this.#upload(this.find(name), call)),
    "PUT /workers/scripts/:name": async (call, [name = ""]) => {
      const script = this.all.get(name) ?? newScript();
      const version = await this.#upload(script, call);
      script.tail_consumers = version.tail_consumers;
      script.deployed.unshift(version.id);
      this.all.set(name, script);
      return { id: name, etag: version.id, startup_time_ms: 12, deployment_id: version.id };
    },
    "GET /workers/scripts/:name/secrets": (_, [name]) =>
      [...this.find(name).secrets.keys()].map((key) => ({ name: key, type: "secret_text" })),
    "GET /workers/scripts/:name/settings": (_, [name]) => ({
      bindings: this.find(name).versions[0]?.bindings ?? [],
    }),
    "GET /workers/scripts/:name/script-settings": (_, [name]) => {
      const { tags, tail_consumers } = this.find(name);
      return { tags, tail_consumers, logpush: false };
    },
    "PATCH /workers/scripts/:name/script-settings": (call, [name]) => {
      const { tags = [], tail_consumers } = json<Partial<Script>>(call);
      const script = this.find(name);
      Object.assign(script, { tags, tail_consumers: tail_consumers ?? script.tail_consumers });
      return { tags, tail_consumers };
    },
    "GET /workers/scripts/:name/schedules": (_, [name]) => ({
      schedules: this.find(name).crons.map((cron) => ({ cron })),
    }),
    "PUT /workers/scripts/:name/schedules": (call, [name]) => {
      const crons = json<{ cron: string }[]>(call);
      this.find(name).crons = crons.map(({ cron }) => cron);
      return { schedules: crons };
    },
    "GET /workers/workers/:name": (_, [name]) => ({
      name,
      subdomain: this.find(name).subdomain,
      tags: this.find(name).tags,
    }),
    "GET /workers/scripts/:name/subdomain": (_, [name]) => this.find(name).subdomain,
    "POST /workers/scripts/:name/subdomain": (call, [name]) =>
      Object.assign(this.find(name).subdomain, json(call)),
    "POST /workers/scripts/:name/assets-upload-session": (call) => {
      const { manifest } = json<{ manifest: Record<string, { hash: string }> }>(call);
      const hashes = Object.values(manifest).map(({ hash }) => hash);
      return { jwt: "upload", buckets: [hashes] };
    },
    "POST /workers/assets/upload": () => ({ jwt: "uploaded" }),
  };

  find(name = ""): Script {
    const script = this.all.get(name);
    if (script) return script;
    throw new ApiFailure(404, 10007, "This Worker does not exist on your account.");
  }

  /** Bindings of what serves, and its modules. */
  deployed(name: string): Version | undefined {
    const { versions, deployed } = this.find(name);
    return versions.find(({ id }) => id === deployed[0]);
  }

  #service(name: string) {
    const script = this.all.get(name);
    if (!script) throw new ApiFailure(404, 10090, "workers.api.error.service_not_found");
    const { migration_tag, tags } = script;
    return {
      id: name,
      default_environment: {
        environment: "production",
        script: { tag: "0123", tags, migration_tag, last_deployed_from: "wrangler" },
      },
    };
  }

  #deployments({ deployed, versions }: Script) {
    const deployments = deployed.map((version_id) => ({
      id: randomUUID(),
      source: "wrangler",
      strategy: "percentage",
      annotations: versions.find(({ id }) => id === version_id)?.annotations ?? {},
      versions: [{ version_id, percentage: 100 }],
    }));
    return { deployments };
  }

  async #upload(script: Script, call: Call): Promise<Version> {
    const parts = await form(call);
    const metadata = JSON.parse(String(parts.get("metadata"))) as Metadata;
    const bindings = metadata.bindings.map((binding) => resolve(binding, script));
    for (const { name, type, text } of bindings) {
      if (type === "secret_text") script.secrets.set(name, String(text));
    }
    const { migrations } = metadata;
    if (migrations && migrations.old_tag !== script.migration_tag) {
      throw new ApiFailure(412, 10079, "Migration tag precondition failed");
    }
    script.migration_tag = migrations?.new_tag ?? script.migration_tag;
    const version = {
      id: randomUUID(),
      bindings,
      annotations: metadata.annotations ?? {},
      tail_consumers: metadata.tail_consumers ?? [],
      modules: [...parts.keys()].filter((key) => key !== "metadata"),
    };
    script.versions.unshift(version);
    return version;
  }
}

/** An inherited binding is that of the version before. */
function resolve(binding: Binding, { versions }: Script): Binding {
  if (binding.type !== "inherit") return binding;
  const before = versions[0]?.bindings.find(({ name }) => name === binding.name);
  if (before) return before;
  throw new ApiFailure(400, 10057, `inherit binding '${binding.name}' is invalid`);
}

function newScript(): Script {
  const subdomain = { enabled: false, previews_enabled: false };
  const empty = { migration_tag: undefined, crons: [], tags: [], tail_consumers: [], subdomain };
  return { ...empty, versions: [], deployed: [], secrets: new Map() };
}

function toVersion({ id, annotations, bindings }: Version) {
  return {
    id,
    number: 1,
    annotations,
    metadata: { created_on: new Date().toISOString(), source: "wrangler" },
    resources: { bindings, script: { etag: id }, script_runtime: {} },
    startup_time_ms: 12,
  };
}
