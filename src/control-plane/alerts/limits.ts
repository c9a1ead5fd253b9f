export const MAX_ALERTS = 50;
export const MAX_WINDOW_MINUTES = 24 * 60;
/** Alerts of all workspaces that one tick of the cron evaluates. Those that wait longest are first. */
export const ALERTS_PER_TICK = 200;
export const ALERTS_AT_ONCE = 6;
/** An alert whose window is longer than an hour is evaluated each five minutes, other alerts each minute. */
export const [SHORT_WINDOW_MINUTES, LONG_INTERVAL_MINUTES] = [60, 5];
