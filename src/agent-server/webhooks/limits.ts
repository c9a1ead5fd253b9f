/** From the first byte sent to the status read. */
export const ATTEMPT_MS = 15_000;
/** An attempt that has said nothing for so long died with its process. */
export const LEASE_MS = ATTEMPT_MS + 5_000;
/** Before each further attempt, in seconds: eleven attempts within a day, then it is given up. */
export const PAUSES_SECONDS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800];
/** So much of a pause is left to chance, that what failed together does not come back together. */
export const JITTER = 0.1;
/** A receiver that asks for a longer pause is not asked again before. */
export const MAX_PAUSE_SECONDS = 24 * 3_600;
/** How long the log of a delivery that ended can be read. */
export const KEEP_MS = 30 * 24 * 3_600_000;
/** A secret that was replaced signs beside the new one for so long. */
export const OVERLAP_MS = 24 * 3_600_000;
/** Of one delivery, however often it is asked for anew: its log is one row. */
export const MAX_ATTEMPTS = 500;
