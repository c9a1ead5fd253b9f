export type EventRow = {
  id: number;
  run_id: string;
  event: string;
  data: string;
  /** Time of the write in epoch milliseconds, `null` when it is the time of the event before. */
  at: number | null;
};
