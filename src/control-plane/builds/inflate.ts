/** Decompresses gzip. The returned stream fails with `tooLarge()` when it has more than `max_bytes`. */
export function inflateGzip(
  stream: ReadableStream<Uint8Array>,
  max_bytes: number,
  tooLarge: () => Error,
): ReadableStream<Uint8Array> {
  let bytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > max_bytes) controller.error(tooLarge());
      else controller.enqueue(chunk);
    },
  });
  return stream
    .pipeThrough(new DecompressionStream("gzip") as ReadableWritablePair<Uint8Array, Uint8Array>)
    .pipeThrough(counter);
}
