import { mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runUnlessCurrent } from "../../scripts/memo.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-memo-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const MINUTE_AGO = Date.now() / 1000 - 60;

/** Writes a file as if long before the step. */
async function write(path: string, text: string, at_s = MINUTE_AGO): Promise<void> {
  await writeFile(path, text);
  await utimes(path, at_s, at_s);
}

/** A step that copies a file, and counts its runs. */
async function stepOf(name: string) {
  const [input, output] = [join(dir, `${name}.in`), join(dir, `${name}.out`)];
  await write(input, "first");
  const done = { runs: 0 };
  const start = (values: unknown = null, during = async () => {}) =>
    runUnlessCurrent({
      file: join(dir, `${name}.json`),
      values,
      outputs: [output],
      async run() {
        done.runs += 1;
        const result = await readFile(input, "utf8");
        await during();
        await writeFile(output, result);
        return { result, inputs: [input, join(dir, `${name}.missing`)] };
      },
    });
  return { input, output, done, start };
}

test("a step whose inputs are unchanged is skipped, with the result of its last run", async () => {
  const { done, start } = await stepOf("same");
  expect(await start()).toBe("first");
  expect(await start()).toBe("first");
  expect(done.runs).toBe(1);
});

test("a changed input, an input that appears, another value or a missing output repeats a step", async () => {
  const { input, output, done, start } = await stepOf("changed");
  await start();
  await write(input, "second");
  expect(await start()).toBe("second");
  await write(join(dir, "changed.missing"), "");
  await start();
  expect(done.runs).toBe(3);
  await start("other");
  expect(done.runs).toBe(4);
  await rm(output);
  await start("other");
  expect(done.runs).toBe(5);
  await start("other");
  expect(done.runs).toBe(5);
});

test("a step that fails, or whose input changes while it runs, is repeated", async () => {
  const { input, done, start } = await stepOf("during");
  await start();
  const fail = () => Promise.reject(new Error("killed"));
  await expect(start("failing", fail)).rejects.toThrow("killed");
  await start();
  expect(done.runs).toBe(3);
  const change = () => write(input, "later", Date.now() / 1000);
  expect(await start("changing", change)).toBe("first");
  await write(input, "later");
  expect(await start("changing")).toBe("later");
});
