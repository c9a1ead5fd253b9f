import { expect, test } from "vitest";
import { AppError } from "../../src/shared/errors.ts";
import { AdmittedBody, admitted, chunksOf, joined } from "../../src/shared/http/body.ts";

const BYTES = new Uint8Array(1_000_000).map((_, n) => n % 251);

function bodyOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new Blob([bytes]).stream();
}

test("a body is read whole, and reserved as it arrives", async () => {
  let reserved = 0;
  const read = new AdmittedBody(bodyOf(BYTES), BYTES.length, async (bytes) => {
    reserved += bytes;
  });
  const whole = new Uint8Array(await new Response(read.stream).arrayBuffer());
  expect(whole).toEqual(BYTES);
  expect([reserved, read.failure]).toEqual([BYTES.length, null]);
});

test("a stream that code made is read whole", async () => {
  const chunks = [BYTES.subarray(0, 10), BYTES.subarray(10)];
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks.shift();
      if (chunk) controller.enqueue(chunk);
      else controller.close();
    },
  });
  const read = new AdmittedBody(stream, BYTES.length, async () => {});
  expect(new Uint8Array(await new Response(read.stream).arrayBuffer())).toEqual(BYTES);
});

test("a failure while a body is read is kept", async () => {
  const read = new AdmittedBody(bodyOf(BYTES), BYTES.length - 1, async () => {});
  await expect(new Response(read.stream).json()).rejects.toThrow();
  expect(read.failure?.status).toBe(413);
});

test("a body that pauses is refused", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  void writer.write(BYTES.subarray(0, 10)).catch(() => {});
  const read = joined(admitted(chunksOf(readable, 50), BYTES.length, async () => {}));
  expect(await read.catch(AppError.from)).toMatchObject({ status: 408 });
});

test("a body that comes too slowly is refused, though it never pauses", async () => {
  let sent = 0;
  const slow = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await scheduler.wait(20);
      sent += 1;
      controller.enqueue(new Uint8Array(10));
    },
  });
  const read = joined(admitted(chunksOf(slow, 200), BYTES.length, async () => {}));
  expect(await read.catch(AppError.from)).toMatchObject({ status: 408 });
  expect(sent).toBeGreaterThan(1);
});
