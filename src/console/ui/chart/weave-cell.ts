/** How a cell is drawn: as in the status of a run, or `none` for a time without one. */
export type WeaveKind = "ok" | "failed" | "waiting" | "running" | "queued" | "cancelled" | "none";

export type WeaveCell = {
  key: string | number;
  kind: WeaveKind;
  /** Share of the full height, for a cell that counts. */
  height?: number;
};
