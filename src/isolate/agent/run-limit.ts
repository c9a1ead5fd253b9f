/** Of what agents are written for, with its default of an hour. 0: a run may take as long as it does. */
const VARIABLE = "BG_JOB_TIMEOUT_SECS";
const DEFAULT_SECONDS = 3600;
/** What a timer takes. */
const MAX_MS = 2 ** 31 - 1;

export class RunTimeoutError extends Error {
  override name = "RunTimeoutError";

  constructor(seconds: number) {
    super(
      `The run took longer than ${seconds} seconds, its limit. Set ${VARIABLE} among the ` +
        "deployment's secrets, or in the env of its configuration, to another number; 0 means no limit.",
    );
  }
}

/** What is no number of seconds is taken for a mistake, and the default holds. */
export function limitOf(env: Record<string, string | undefined>): number {
  const said = env[VARIABLE]?.trim();
  const seconds = said ? Number(said) : Number.NaN;
  return seconds >= 0 ? seconds : DEFAULT_SECONDS;
}

/** `start`: of the first attempt, as ISO text: a run that is tried again has no more time for it. */
export async function withinLimit<T>(
  work: Promise<T>,
  { start, seconds }: { start: string; seconds: number },
  onLate: () => void,
): Promise<T> {
  if (seconds === 0) return work;
  const late = Promise.withResolvers<never>();
  const left = Date.parse(start) + seconds * 1000 - Date.now();
  const timer = setTimeout(
    () => {
      late.reject(new RunTimeoutError(seconds));
      onLate();
    },
    Math.min(Math.max(left, 0), MAX_MS),
  );
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}
