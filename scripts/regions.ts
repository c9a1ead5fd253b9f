/** The environments of the files of wrangler that are places where Durable Objects are pinned. */
export const REGIONS = ["us", "eu"] as const;
export type Region = (typeof REGIONS)[number];

/** All environments of all files. */
export const ENVIRONMENTS = [...REGIONS, "staging"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

export const FILES = ["wrangler.toml", "wrangler.builder.toml", "wrangler.tail.toml"] as const;
