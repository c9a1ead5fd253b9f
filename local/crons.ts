/** Runs the Worker's own cron. */
export const EACH_MINUTE = "* * * * *";
/** Fired after each start of the main process. Only the local entry handles it. */
export const RESUME = "resume";
