export type EventRow = {
  id: number;
  run_id: string;
  event: string;
  data: string;
  /** Time of the write in epoch milliseconds. `null`: the time of the run's start, or else of the event before. */
  at: number | null;
};
