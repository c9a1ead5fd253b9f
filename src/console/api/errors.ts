/** Why a request was refused: reasons by the path of a field, such as `quotas.0.limit`. */
export type FieldProblems = Record<string, string>;

type Failure = { message: string; problems: FieldProblems };

/** A refused or failed call. `path` and `status` name what failed, for the person who reads it. */
export class ApiError extends Error {
  readonly status: number;
  readonly path: string;
  readonly request_id: string | null;
  readonly retry_after_s: number | null;
  readonly problems: FieldProblems;

  constructor(
    path: string,
    response: Pick<Response, "status" | "headers">,
    { message, problems }: Failure,
  ) {
    super(message);
    this.name = "ApiError";
    this.path = path;
    this.problems = problems;
    this.status = response.status;
    this.request_id = response.headers.get("X-Request-Id");
    const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
    this.retry_after_s = Number.isFinite(seconds) ? seconds : null;
  }
}

/** No answer arrived: the network, a proxy, or a service that restarts. */
export class UnreachableError extends Error {
  readonly path: string;

  constructor(path: string, cause: unknown) {
    super("The service did not answer.", { cause });
    this.name = "UnreachableError";
    this.path = path;
  }
}

type Detail = { detail?: unknown; error?: unknown; title?: unknown };

/** Reads each of the wire shapes of errors: a detail, a list of issues, a problem, or text. */
export async function readFailure(response: Response): Promise<Failure> {
  const text = await response.text();
  try {
    const { detail, error, title } = JSON.parse(text) as Detail;
    if (!Array.isArray(detail)) return plain(String(detail ?? error ?? title ?? text));
    const issues = detail.map(readIssue);
    const message = issues.map((parts) => parts.join(": ")).join("; ");
    return { message, problems: Object.fromEntries(issues) };
  } catch {
    return plain(text.slice(0, 2000) || `HTTP ${response.status}`);
  }
}

function plain(message: string): Failure {
  return { message, problems: {} };
}

function readIssue(issue: { loc?: unknown[]; msg?: string }): [field: string, reason: string] {
  const field = (issue.loc ?? []).filter((part) => part !== "body").join(".");
  return [field, issue.msg ?? "invalid"];
}

export function problemsOf(error: Error | null): FieldProblems {
  return error instanceof ApiError ? error.problems : {};
}
