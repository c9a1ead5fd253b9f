/** Parses lines of JSON as they arrive, those of a chunk at once. */
export async function* readJsonLines<T>(response: Response): AsyncGenerator<T[]> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value = "" } = await reader.read();
    const lines = (rest + value).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    yield lines.filter((line) => line !== "").map((line) => JSON.parse(line) as T);
    if (done) return;
  }
}
