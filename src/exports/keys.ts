import { DAY_US } from "../shared/times.ts";

/** Parts of the keys of an export. `base` is the prefix of the destination: empty, or with a trailing slash. */
export type Root = { base: string; export_id: string; tenant_id: string; session_id: string };

type Owner = { id: string; workspace_id: string; session_id: string; key_base: string };

export function rootOf({ id, workspace_id, session_id, key_base }: Owner): Root {
  return { base: key_base, export_id: id, tenant_id: workspace_id, session_id };
}

export function exportFolder({ base, export_id }: Root): string {
  return `${base}export_id=${export_id}/`;
}

/** Returns the folder below which a query engine reads the files of an export. */
export function runsFolder(root: Root): string {
  return `${exportFolder(root)}tenant_id=${root.tenant_id}/session_id=${root.session_id}/runs`;
}

/** Returns the folder of a UTC day, a Hive partition. */
export function dayFolder(root: Root, start_us: number): string {
  const day = new Date(Math.floor(start_us / DAY_US) * (DAY_US / 1000));
  const date = `year=${day.getUTCFullYear()}/month=${day.getUTCMonth() + 1}/day=${day.getUTCDate()}`;
  return `${runsFolder(root)}/${date}`;
}

/** Files of late rows differ by name only, so that a glob over all partitions reads them too. */
export function partKey(folder: string, kind: "part" | "late", number: number): string {
  return `${folder}/${kind}-${String(number).padStart(5, "0")}.parquet`;
}

/** Returns the folder of the markers. It is outside of `export_id=`, below which queries read every object. */
function markerFolder({ base, export_id }: Root): string {
  return `${base}_exports/${export_id}/`;
}

export function manifestKey(root: Root): string {
  return `${markerFolder(root)}_manifest.json`;
}

export function successKey(root: Root): string {
  return `${markerFolder(root)}_SUCCESS`;
}

/** Returns the folder of a schedule's table. Its Parquet files stay in the folders of the exports. */
export function tableFolder({ key_base }: { key_base: string }, schedule_id: string): string {
  return `${key_base}_tables/${schedule_id}`;
}
