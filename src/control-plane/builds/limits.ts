const KB = 1024;
const MB = 1024 * KB;

/** Limits of a revision's source. It shares the 128 MB of an isolate with the packages and the bundler. */
export const SOURCE_LIMITS = {
  compressed_bytes: 64 * MB,
  total_bytes: 64 * MB,
  /** An archive unpacked, with the headers and paddings of its entries. */
  archive_bytes: 128 * MB,
  file_bytes: 16 * MB,
  files: 20_000,
  /** Git objects of a commit. Also the entries of its trees, each counted at every visit. */
  objects: 40_000,
  /** Levels of nested folders. */
  depth: 100,
  path_characters: 1024,
  timeout_ms: 60_000,
};

export const TAR_LIMITS = {
  /** Files, folders and links. Large packages of npm have some 20,000. */
  entries: 50_000,
  /** Sum of the squares of the sizes of pax headers and long names, which bounds the time to parse them. */
  metadata_steps: (64 * KB) ** 2,
};

/** Bytes of a JSON file that a build parses. A parsed value takes several times as much memory. */
export const JSON_BYTES = {
  /** langgraph.json, and the .env file it names: both are stored in the revision's row of at most 2 MB. */
  config: 256 * KB,
  tsconfig: 256 * KB,
  manifest: MB,
  lockfile: 8 * MB,
};

/** Characters of a build's error message and of one line of its log. */
export const MESSAGE_CHARACTERS = 8000;

/** UTF-8 bytes of all lines that the builder may log in one attempt. */
export const LOG_BYTES = 2 * MB;

/** Result of an agent's load check, as JSON. A revision's row of at most 2 MB holds it beside the configuration. */
export const DESCRIPTION_BYTES = 512 * KB;

/** Characters of an import specifier. */
export const SPECIFIER_CHARACTERS = 2048;

/** Stars in a package.json. Each one in `exports` may be replaced by up to `SPECIFIER_CHARACTERS` characters. */
export const MANIFEST_STARS = 1000;

/** Sizes of one file, and of all files together, that an agent may read with `fs`. Its isolate holds them in memory. */
export const READ_FILE_BYTES = MB;
export const READ_FILES_BYTES = 8 * MB;

/** Versions that a build without a lockfile chose, as JSON. */
export const RESOLUTION_BYTES = 4 * MB;

export const PACKAGE_LIMITS = {
  count: 3000,
  /** Entries of a lockfile, most of which an agent may not reach. */
  lockfile_entries: 20_000,
  compressed_bytes: 48 * MB,
  /** An unpacked package. */
  total_bytes: 160 * MB,
  /** A package that is unpacked beside others; larger ones are unpacked one after another. */
  parallel_bytes: 8 * MB,
  /** All packages of a build, compressed as `packPackage` returns them. */
  installed_bytes: 96 * MB,
  metadata_bytes: 32 * MB,
  timeout_ms: 60_000,
  parallel: 6,
};

/** Style sheet, image or font of a bundle for browsers. */
export const ASSET_BYTES = 512 * KB;

/** An artifact as JSON: the bundle, prebuilt and WebAssembly modules, and the files that the agent may read. */
export const ARTIFACT_BYTES = 64 * MB;

/**
 * The source map of an artifact, an object beside it. A larger one is not stored: stacks keep the bundle's positions.
 */
export const SOURCE_MAP_BYTES = 16 * MB;

/** Texts of the repository in a source map, from which failures quote lines. */
export const QUOTED_BYTES = 4 * MB;

/** The components of all agents of a revision, which are one object. */
export const UI_BYTES = 8 * MB;

export const BUNDLE_TIMEOUT_MS = 120_000;
/** Maximum duration of one attempt in the build's isolate. */
export const BUILD_TIMEOUT_MS = 240_000;
/** Maximum attempts to fetch one repository, token or package. */
export const REQUEST_ATTEMPTS = 4;
