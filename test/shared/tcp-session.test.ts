import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { IDLE_MS, TcpSession } from "../../src/shared/egress/tcp-session.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Opens a session on a socket whose server sends nothing. */
function open() {
  const { readable } = new TransformStream<Uint8Array, Uint8Array>();
  const close = vi.fn(async () => {});
  const socket = { readable, writable: new WritableStream<Uint8Array>(), close };
  const release = vi.fn();
  const session = new TcpSession(socket as unknown as Socket, "db.example.com", release);
  return { session, close, release };
}

test("a socket without a byte for a quarter of an hour is closed and released", async () => {
  const { close, release } = open();
  await vi.advanceTimersByTimeAsync(IDLE_MS - 1);
  expect(close).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect([close.mock.calls.length, release.mock.calls.length]).toEqual([1, 1]);
});

test("a socket in use stays open", async () => {
  const { session, close } = open();
  for (let n = 0; n < 3; n++) {
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1);
    await session.write(new Uint8Array(1));
  }
  expect(close).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  expect(close).toHaveBeenCalledTimes(1);
});
