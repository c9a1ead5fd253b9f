/** The environments of both files of wrangler, and the places where Durable Objects are pinned. */
export const REGIONS = ["us", "eu"] as const;
export type Region = (typeof REGIONS)[number];

export const FILES = ["wrangler.toml", "wrangler.builder.toml"] as const;
