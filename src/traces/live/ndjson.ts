const CHUNK_CHARS = 64 * 1024;

/** Writes a line of JSON for each value. The types of zod-openapi know no response of this media type. */
export function ndjsonResponse(values: AsyncGenerator<unknown>): never {
  const headers = { "Content-Type": "application/x-ndjson", "Cache-Control": "no-store" };
  return new Response(toLines(values), { headers }) as never;
}

/** Reads no faster than the client. */
function toLines(values: AsyncGenerator<unknown>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let text = "";
      let isDone = false;
      while (!isDone && text.length < CHUNK_CHARS) {
        const result = await values.next();
        isDone = result.done === true;
        if (!isDone) text += `${JSON.stringify(result.value)}\n`;
      }
      if (text !== "") controller.enqueue(encoder.encode(text));
      if (isDone) controller.close();
    },
    async cancel() {
      await values.return(undefined);
    },
  });
}
