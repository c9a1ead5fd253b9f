/** Crons that the stack fires. */
export const EACH_MINUTE = "* * * * *";
/** After a start of the main process. Only the local entry knows it. */
export const RESUME = "resume";
