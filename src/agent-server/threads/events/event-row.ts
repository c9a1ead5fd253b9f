export type EventRow = {
  id: number;
  run_id: string;
  event: string;
  data: string;
  /**
   * Time of the write in epoch milliseconds. `null` when unknown: readers use the start of the run, or the event
   * before.
   */
  at: number | null;
};
