/** Returns the origin of URLs in answers: the public one, or that of the request when none is configured. */
export function baseUrl({ BASE_URL }: { BASE_URL: string }, origin: string): string {
  return (BASE_URL || origin).replace(/\/$/, "");
}
