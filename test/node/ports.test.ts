import { expect, test } from "vitest";
import { freePort } from "../../local/processes/ports.ts";

test("a free port is returned once by a process, a wanted one again", async () => {
  const ports: number[] = [];
  for (let n = 0; n < 2000; n += 1) ports.push(await freePort());
  expect(new Set(ports).size).toBe(ports.length);
  const [port = 0] = ports;
  expect([await freePort(port), await freePort(port)]).toEqual([port, port]);
});
