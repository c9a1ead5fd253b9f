/** Whether a host refuses a request only for now: it is down, or limits the rate of requests. */
export function isBusy({ status, headers }: Response): boolean {
  const isLimited =
    status === 403 &&
    (headers.get("x-ratelimit-remaining") === "0" || headers.get("retry-after") !== null);
  return status >= 500 || status === 429 || isLimited;
}
