import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { identify, pageBytesOf, readUsage } from "../../local/processes/processes.ts";

test.runIf(process.platform === "linux")(
  "a process that has ended is gone, also while its parent takes no notice",
  async () => {
    const parent = spawn("sh", ["-c", "sleep 600 & echo $!; exec sleep 600"]);
    onTestFinished(() => void parent.kill("SIGKILL"));
    const [line] = await parent.stdout.take(1).toArray();
    const pid = Number(line);
    expect(await identify(pid)).toMatch(new RegExp(`^${pid} \\d+ `));
    process.kill(pid, "SIGKILL");
    await expect.poll(() => readFile(`/proc/${pid}/stat`, "utf8")).toMatch(/\) Z /);
    expect([await identify(pid), await readUsage(pid)]).toEqual([null, null]);
  },
);

test("the size of a page is that of the kernel, else 4 KiB", () => {
  const vector = Buffer.alloc(48);
  for (const [at, number] of [3n, 64n, 6n, 16_384n].entries())
    vector.writeBigUInt64LE(number, at * 8);
  expect(pageBytesOf(vector)).toBe(16_384);
  expect(pageBytesOf(Buffer.alloc(0))).toBe(4096);
});
