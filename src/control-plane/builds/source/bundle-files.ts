import { encodeBytes } from "../../../shared/crypto/encoding.ts";
import { MAIN_MODULE } from "../../../shared/source-maps/stacks.ts";
import type { BuildLog } from "../build-log.ts";
import type { ArtifactModule } from "../contract.ts";
import { READ_FILE_BYTES, READ_FILES_BYTES } from "../limits.ts";
import { RUNTIME_FOLDER } from "../prebuilt/unit.ts";
import { bytesText, listText } from "../text.ts";
import type { Tree } from "../tree.ts";

/** Files that no agent reads: code and assets, which bundles contain, lockfiles, and hidden files. */
const UNREAD =
  /\.([cm]?[jt]sx?|wasm|css|woff2?|gif|jpe?g|png|webp)$|(^|\/)(\.[^/]*|(package-lock|npm-shrinkwrap)\.json|pnpm-lock\.yaml|(yarn|bun)\.lock)$/;
/** Folders of tools. Other hidden folders may have an agent's prompts and skills. */
const OF_TOOLS =
  /(^|\/)(node_modules|\.(changeset|circleci|devcontainer|git|github|gitlab|husky|idea|next|turbo|vscode|yarn))\//;

/** Returns the files that an agent may read with `fs`. Modules of an isolate are files below /bundle. */
export function filesToRead(
  log: Pick<BuildLog, "warn">,
  { files }: Tree,
): Record<string, ArtifactModule> {
  const modules: Record<string, ArtifactModule> = {};
  const omitted: string[] = [];
  let total = 0;
  for (const [path, bytes] of files) {
    if (UNREAD.test(path) || OF_TOOLS.test(path) || path === MAIN_MODULE) continue;
    // The artifact has prebuilt modules in this folder.
    const isTaken = path.startsWith(RUNTIME_FOLDER);
    const isTooLarge = bytes.byteLength > READ_FILE_BYTES;
    if (isTaken || isTooLarge || total + bytes.byteLength > READ_FILES_BYTES) {
      omitted.push(path);
      continue;
    }
    total += bytes.byteLength;
    modules[path] = toModule(bytes);
  }
  if (omitted.length > 0) {
    const limits = `${bytesText(READ_FILE_BYTES)} a file, ${bytesText(READ_FILES_BYTES)} together`;
    log.warn(
      `The agent cannot read ${listText(omitted)} with fs: the limit is ${limits}, and ${RUNTIME_FOLDER} is reserved for prebuilt modules.`,
    );
  }
  return modules;
}

function toModule(bytes: Uint8Array): ArtifactModule {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { data: encodeBytes(bytes, "base64") };
  }
}
