import type { Reporter, TestCase } from "vitest/node";

/** Prints why tests failed that passed when they were tried again: each is a bug, of the test at least. */
export class SecondAttempts implements Reporter {
  onTestCaseResult(test: TestCase): void {
    if (!test.diagnostic()?.flaky) return;
    const errors = test.result().errors ?? [];
    const why = errors.map(({ stack, message }) => stack ?? message).join("\n");
    const name = `${test.module.relativeModuleId} > ${test.fullName}`;
    process.stdout.write(`Passed at the second attempt: ${name}\n${why}\n`);
  }
}
