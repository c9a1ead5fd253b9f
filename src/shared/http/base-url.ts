/** Where an answer's URLs begin. `origin` of the request counts only where the installation names no public one. */
export function baseUrl({ BASE_URL }: { BASE_URL: string }, origin: string): string {
  return (BASE_URL || origin).replace(/\/$/, "");
}
