import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { scripts } from "../../package.json";

const run = promisify(execFile);
const files = Object.entries(scripts).flatMap(([name, command]) => {
  const file = /^(?:exec )?node (\S+\.ts)$/.exec(command)?.[1];
  return file === undefined ? [] : [[name, file] as const];
});

test("the scripts of package.json are found", () => expect(files.length).toBeGreaterThan(10));

test.concurrent.each(files)(
  "npm run %s -- --help prints what it does, and does nothing else",
  async (_, file) => {
    const { stdout, stderr } = await run(process.execPath, [file, "--help"], { timeout: 60_000 });
    expect(stdout).toMatch(/^[A-Z`].+/);
    expect(stdout.split("\n").length).toBeLessThan(40);
    expect(stderr).toBe("");
  },
  90_000,
);

test.concurrent("an unknown option is an error with the usage", async () => {
  const failed = run(process.execPath, ["scripts/words.ts", "--nope"]);
  await expect(failed).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/--nope.*Prints comments/s),
  });
});
