const KB = 1024;
const MB = 1024 * KB;

/** What a revision's source may be. An isolate has 128 MB, and the bundler wants most of it. */
export const SOURCE_LIMITS = {
  compressed_bytes: 64 * MB,
  total_bytes: 64 * MB,
  file_bytes: 16 * MB,
  files: 20_000,
  path_bytes: 1024,
  timeout_ms: 60_000,
};

/** langgraph.json, and the .env file it names: both stand in the revision's row, which takes 2 MB. */
export const CONFIG_BYTES = 256 * KB;

export const PACKAGE_LIMITS = {
  count: 3000,
  compressed_bytes: 48 * MB,
  total_bytes: 160 * MB,
  metadata_bytes: 32 * MB,
  timeout_ms: 60_000,
  parallel: 6,
};

/** A style sheet, an image or a font that a browser's bundle may hold. */
export const ASSET_BYTES = 512 * KB;

/** What browsers load of a revision, all agents together, is one object. */
export const UI_BYTES = 8 * MB;

export const BUNDLE_TIMEOUT_MS = 120_000;
/** A revision that takes longer is not going to end. */
export const BUILD_TIMEOUT_MS = 240_000;
export const ATTEMPTS = 4;
