// Limits that the Worker and the Durable Object of a thread share.

/** Ids, and names of channels, nodes and events. */
export const MAX_NAME_CHARACTERS = 2048;
/** Namespaces of subgraphs, and `dotted_order`: both grow with each level. */
export const MAX_PATH_CHARACTERS = 16_384;
/** Limit of metadata, and of config. Both are in one row with other columns, of at most 2 MB. */
export const MAX_KEPT_CHARACTERS = 256 * 1024;
/**
 * Maximum JSON of a response that lists runs or threads: the input of a single run may be as large as a request.
 * `containers`: objects and lists, which take many times their characters in memory.
 */
export const MAX_LIST = { characters: 20 * 1024 * 1024, containers: 1_000_000 };
/** Runs in flight of a thread, whose rows are in the memory of the object, and the UTF-8 bytes of their kwargs. */
export const MAX_QUEUED_RUNS = 2000;
export const MAX_QUEUED_BYTES = 32 * 1024 * 1024;

/** Whether the values may be stored. Callers pass merged values: many small requests can add up to too much. */
export function isKeepable(...values: object[]): boolean {
  return values.every((value) => JSON.stringify(value).length <= MAX_KEPT_CHARACTERS);
}
