import { type Check, Skipped, type Target } from "./target.ts";

/** `names`: checks that were requested by name. Of these, long ones run without `with_long`. */
export type Selection = { names: string[] | undefined; with_long: boolean };
type Verdict = "ok" | "skipped" | "failed";
type Result = { check: Check; verdict: Verdict; text: string; ms: number };

/** Runs the checks in their order, and prints a line after each. */
export async function performAll(checks: Check[], target: Target, selection: Selection) {
  const results: Result[] = [];
  for (const check of checks) {
    const started = Date.now();
    const [verdict, text] = await perform(check, target, selection);
    const result = { check, verdict, text, ms: Date.now() - started };
    console.log(`${verdict.padEnd(8)} ${check.name.padEnd(18)} ${text}`);
    results.push(result);
  }
  return results;
}

async function perform(
  check: Check,
  target: Target,
  { with_long, names }: Selection,
): Promise<[Verdict, string]> {
  const isWanted = with_long || names?.includes(check.name);
  if (check.is_long && !isWanted) return ["skipped", "it takes minutes: give --long"];
  if (check.not_local !== undefined && target.isLocal)
    return ["skipped", `not on a local stack: ${check.not_local}`];
  try {
    return ["ok", await check.run(target)];
  } catch (error) {
    return [error instanceof Skipped ? "skipped" : "failed", textOf(error)];
  }
}

/** Returns the text of an error with those of its causes: an error of `fetch` has its reason in the cause. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${textOf(error.cause)}`;
}

/** Returns the rows of a table: check, verdict, time and the limit that the check tests. */
export function toRows(results: Result[]): string[][] {
  const head = ["check", "verdict", "seconds", "tests"];
  const rows = results.map(({ check, verdict, ms }) => {
    return [check.name, verdict, (ms / 1000).toFixed(1), check.limit];
  });
  return [head, ...rows];
}
