import type { StoreConfig } from "../contract.ts";
import { assertAll, flag, minutes } from "./config-checks.ts";
import { type ConfigLocation, readExport, section, wrong } from "./config-values.ts";

const EMBED = '"file:export" of a function (texts) => vectors, like "./src/embed.ts:embed"';

const MINUTE_MS = 60_000;
const TTL = { default_ttl: minutes(100), refresh_on_read: flag };
/** Same limit as in the store of the agent server: a vector is one row, with 4 bytes for each dimension. */
const MAX_DIMS = 16_384;

/** Matches the start of an index that selects nothing, such as `a[]` and `a[x]`. */
const OTHER_INDEX = /\[(?!(?:\*|-?\d+)\])/;

/** Reads `store` of langgraph.json: semantic search and TTL. */
export function readStore(place: ConfigLocation, store: unknown): StoreConfig {
  const { index, ttl } = section(place, "store", store);
  return {
    index: index === undefined || index === null ? null : readIndex(place, index),
    ttl: readTtl(place, ttl),
  };
}

function readIndex(place: ConfigLocation, value: unknown): StoreConfig["index"] {
  const { dims, embed, fields = ["$"] } = section(place, "store.index", value);
  if (typeof dims !== "number" || !Number.isInteger(dims) || dims < 1 || dims > MAX_DIMS) {
    throw wrong(place.path, '"store.index.dims"', `a whole number from 1 to ${MAX_DIMS}`, dims);
  }
  if (!Array.isArray(fields) || !fields.every((field) => typeof field === "string")) {
    throw wrong(place.path, '"store.index.fields"', 'a list of fields like ["text"]', fields);
  }
  const other = fields.find((field) => OTHER_INDEX.test(field));
  if (other !== undefined) {
    const rule = 'paths whose indexes are integers or *, like "parts[0]" and "parts[*].text"';
    throw wrong(place.path, '"store.index.fields"', rule, other);
  }
  return { ...readExport(place, "store.index.embed", embed, EMBED), dims, fields };
}

function readTtl(place: ConfigLocation, value: unknown): StoreConfig["ttl"] {
  const ttl = section(place, "store.ttl", value);
  assertAll(place, "store.ttl", ttl, TTL);
  const { default_ttl, refresh_on_read } = ttl;
  return {
    default_ms: typeof default_ttl === "number" ? default_ttl * MINUTE_MS : null,
    refresh_on_read: refresh_on_read !== false,
  };
}
