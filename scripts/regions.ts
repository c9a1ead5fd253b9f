/** Environments of wrangler's files with a jurisdiction, to which Durable Objects are pinned. */
export const REGIONS = ["us", "eu"] as const;
export type Region = (typeof REGIONS)[number];

/** All environments; each of `FILES` has all of them. */
export const ENVIRONMENTS = [...REGIONS, "staging"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

export const FILES = ["wrangler.toml", "wrangler.builder.toml", "wrangler.tail.toml"] as const;
