export const THREAD_STREAM_MODES = ["run_modes", "lifecycle", "state_update"] as const;
export type ThreadStreamMode = (typeof THREAD_STREAM_MODES)[number];

/** `after`: id of the last event received, `null` for new events only. */
export type ThreadStreamChoice = { after: number | null; modes: ThreadStreamMode[] };
