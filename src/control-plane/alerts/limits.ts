export const MAX_ALERTS = 50;
export const MAX_WINDOW_MINUTES = 24 * 60;
/** Alerts of a region that one tick of the cron evaluates, those that wait longest first. */
export const ALERTS_PER_TICK = 200;
export const ALERTS_AT_ONCE = 6;
/** A window longer than an hour is evaluated each five minutes. */
export const [SHORT_WINDOW_MINUTES, LONG_INTERVAL_MINUTES] = [60, 5];
