/** `test` is empty for a file that could not run. */
export type TestFailure = { file: string; test: string; error: string };

/** Result of one part. `failures` of a part without tests have the log as their file. */
export type Outcome = { passed: number; failures: TestFailure[]; flaky: TestFailure[] };

type PartResult = Outcome & { name: string; seconds: number };

/** The check fails when more files are flaky. */
const MAX_FLAKY_FILES = 2;
const MAX_LISTED = 12;
const MAX_LINES = 60;
const MAX_CHARACTERS = 160;

/** Returns the verdict, and the text that ends the output. Of failed and of flaky tests it lists `MAX_LISTED` each. */
export function summarize(results: readonly PartResult[]): { is_passed: boolean; text: string } {
  const failures = results.flatMap((result) => result.failures);
  const flaky = results.flatMap((result) => result.flaky);
  const flakyFiles = new Set(flaky.map(({ file }) => file)).size;
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  const times = results.map(({ name, seconds }) => `${name} ${seconds} s`).join(", ");
  const tooMany =
    flakyFiles > MAX_FLAKY_FILES
      ? [`${flakyFiles} files are flaky, of which ${MAX_FLAKY_FILES} are accepted.`]
      : [];
  return {
    is_passed: failures.length === 0 && flakyFiles <= MAX_FLAKY_FILES,
    text: [
      ...listOf("Failed", failures),
      ...listOf("Flaky: failed at first and passed alone", flaky),
      ...tooMany,
      `Times: ${times}`,
      `${passed} passed, ${failures.length} failed`,
    ].join("\n"),
  };
}

/** Returns a failure with its stack, for the output before the summary. */
export function detailsOf({ file, test, error }: TestFailure): string {
  return [`${file} > ${test}`, ...error.split("\n").slice(0, MAX_LINES), ""].join("\n");
}

function listOf(title: string, failures: readonly TestFailure[]): string[] {
  if (failures.length === 0) return [];
  const listed = failures.slice(0, MAX_LISTED);
  const rest = failures.length - listed.length;
  return [
    `${title}:`,
    ...listed.flatMap(({ file, test, error }) => [
      `  ${shorten(test === "" ? file : `${file} > ${test}`)}`,
      `    ${shorten(error.trim().split("\n")[0] ?? "")}`,
    ]),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
  ];
}

function shorten(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}...` : text;
}
