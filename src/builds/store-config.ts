import { findScript, isRecord, SCRIPT, wrong } from "./config-values.ts";
import type { StoreConfig } from "./contract.ts";
import { BuildFailure } from "./failure.ts";
import { joinPath } from "./paths.ts";
import type { Tree } from "./tree.ts";

type Place = { tree: Tree /** Of langgraph.json. */; path: string; folder: string };

const MINUTE_MS = 60_000;
// A vector of it is one row of the store, with room to spare.
const MAX_DIMS = 16_384;

/** `store` of langgraph.json: what is found by meaning, and how long items live. */
export function readStore(place: Place, store: unknown): StoreConfig {
  const { index, ttl } = section(place, "store", store);
  return {
    index: index === undefined || index === null ? null : readIndex(place, index),
    ttl: readTtl(place, ttl),
  };
}

function section({ path }: Place, key: string, value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (!isRecord(value)) throw wrong(path, `"${key}"`, "an object", value);
  return value;
}

function readIndex(place: Place, value: unknown): StoreConfig["index"] {
  const { dims, embed, fields = ["$"] } = section(place, "store.index", value);
  if (typeof dims !== "number" || !Number.isInteger(dims) || dims < 1 || dims > MAX_DIMS) {
    throw wrong(place.path, '"store.index.dims"', `a whole number from 1 to ${MAX_DIMS}`, dims);
  }
  if (!Array.isArray(fields) || !fields.every((field) => typeof field === "string")) {
    throw wrong(place.path, '"store.index.fields"', 'a list of fields like ["text"]', fields);
  }
  return { ...readEmbed(place, embed), dims, fields };
}

function readEmbed({ tree, path, folder }: Place, embed: unknown) {
  const [file = "", ...rest] = typeof embed === "string" ? embed.split(":") : [];
  if (!SCRIPT.test(file)) {
    const wanted = `"file:export" of a function (texts) => vectors, like "./src/embed.ts:embed"`;
    throw wrong(path, '"store.index.embed"', wanted, embed);
  }
  const source = joinPath(folder, file);
  const found = findScript(tree, source);
  if (found !== undefined) return { path: found, export_name: rest.join(":") || "default" };
  const text = `${path}: "store.index.embed" is in ${source}, which does not exist.`;
  throw new BuildFailure("config_invalid", text);
}

function readTtl(place: Place, value: unknown): StoreConfig["ttl"] {
  const { default_ttl = null, refresh_on_read = null } = section(place, "store.ttl", value);
  if (default_ttl !== null && (typeof default_ttl !== "number" || !(default_ttl > 0))) {
    throw wrong(place.path, '"store.ttl.default_ttl"', "minutes, more than 0", default_ttl);
  }
  if (refresh_on_read !== null && typeof refresh_on_read !== "boolean") {
    throw wrong(place.path, '"store.ttl.refresh_on_read"', "true or false", refresh_on_read);
  }
  return {
    default_ms: default_ttl === null ? null : default_ttl * MINUTE_MS,
    refresh_on_read: refresh_on_read ?? true,
  };
}
