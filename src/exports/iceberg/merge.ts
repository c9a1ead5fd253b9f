import type { TableManifest } from "../table-state.ts";

/** Number of manifests of a level that become one of the next level. */
export const MERGED_AT_ONCE = 32;
/** Limit of the files of a merged manifest: its entries are in memory while it is written. */
const MAX_MERGED_FILES = 10_000;

/** `merged` are the manifests that one new manifest replaces, `kept` all others. */
export type Merge = { merged: TableManifest[]; kept: TableManifest[] };

/**
 * Plans the merge of a commit. An entry is written again once for each level. Ten years of hourly windows, with one file
 * each, have at most 150 manifests. Manifests that are too large together are kept and rise a level, so that the next
 * commit does not consider them at their level again.
 */
export function planMerge(manifests: readonly TableManifest[]): Merge {
  const levels = [...new Set(manifests.map(({ level }) => level))].sort((a, b) => a - b);
  for (const level of levels) {
    const merged = manifests.filter((each) => each.level === level).slice(0, MERGED_AT_ONCE);
    if (merged.length < MERGED_AT_ONCE) continue;
    const files = merged.reduce((sum, each) => sum + each.added_files + each.existing_files, 0);
    if (files > MAX_MERGED_FILES) return { merged: [], kept: manifests.map(raise(merged)) };
    return { merged, kept: manifests.filter((each) => !merged.includes(each)) };
  }
  return { merged: [], kept: [...manifests] };
}

function raise(risen: readonly TableManifest[]) {
  return (each: TableManifest): TableManifest =>
    risen.includes(each) ? { ...each, level: each.level + 1 } : each;
}
