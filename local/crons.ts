/** The cron of wrangler.toml, which the stack fires after each pause of `tick_ms`. */
export const EACH_MINUTE = "* * * * *";
/** Fired after each start of the main process. Only the local entry handles it. */
export const RESUME = "resume";
