/** How a cell is drawn: by the status of a run or an export, or `none` for a time without one. */
export type WeaveKind = "ok" | "failed" | "waiting" | "running" | "queued" | "cancelled" | "none";

export type WeaveCell = {
  key: string | number;
  kind: WeaveKind;
  /** Share of the full height, from 0 to 1, for a cell that shows a number of runs. */
  height?: number;
};
