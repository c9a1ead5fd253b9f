import { z } from "zod";
import { encodeBytes } from "../../../shared/crypto/encoding.ts";
import type { BuildStore } from "../contract.ts";
import { RESOLUTION_BYTES } from "../limits.ts";
import type { Install } from "../locks/install-tree.ts";
import type { Importer } from "./importers.ts";

const RecordedPackages = z.array(
  z.object({
    path: z.string(),
    name: z.string(),
    version: z.string(),
    url: z.string(),
    integrity: z.string().optional(),
    needs: z.array(z.string()),
  }),
);

/** Inputs of the choice of versions. Their hash is the key of the record. */
type Needs = { directory: string; importers: Importer[]; overrides: Record<string, unknown> };
type Recording = { install: Install; isRecorded: boolean };

/**
 * Returns the versions that an earlier build chose for the same dependencies, or chooses and records them: without a
 * lockfile the same commit has to build the same again.
 */
export async function recordedInstall(
  storage: BuildStore,
  needs: Needs,
  choose: () => Promise<Install>,
): Promise<Recording> {
  const hash = await hashOf(needs);
  const stored = await storage.readResolution(hash);
  const json = stored === null ? null : await new Response(stored).json().catch(() => null);
  const { data } = RecordedPackages.safeParse(json);
  if (data) {
    const packages = new Map(
      data.map((item) => [item.path, { ...item, integrity: item.integrity }] as const),
    );
    return { install: { packages, links: new Map() }, isRecorded: true };
  }
  const install = await choose();
  const text = JSON.stringify([...install.packages.values()]);
  if (text.length <= RESOLUTION_BYTES) await storage.writeResolution(hash, text);
  return { install, isRecorded: false };
}

/** Omits overrides that `fields` contain, and the list around a single importer, to find older records. */
async function hashOf({ directory, importers, overrides }: Needs): Promise<string> {
  const fields = importers.map(({ folder, manifest }) => {
    const { dependencies, optionalDependencies, peerDependencies, overrides } = manifest;
    const maps = { dependencies, optionalDependencies, peerDependencies, overrides };
    return { directory: folder, ...maps };
  });
  const [only, ...others] = fields;
  const text = JSON.stringify(others.length === 0 ? only : { directory, importers: fields });
  const rules = JSON.stringify(overrides);
  const inFields = JSON.stringify(Object.assign({}, ...fields.map((each) => each.overrides)));
  const bytes = new TextEncoder().encode(rules === inFields ? text : text + rules);
  return encodeBytes(await crypto.subtle.digest("SHA-256", bytes), "hex");
}
