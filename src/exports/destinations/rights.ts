import type { EgressPolicy } from "../../shared/egress/egress.ts";
import type { S3Client } from "../s3/client.ts";
import { type S3Problem, UNSUPPORTED } from "../s3/problem.ts";
import type { S3Target } from "../s3/signing.ts";
import { remedyFor } from "./advice.ts";
import { PROBE_BODY, problemOf, writeProbe } from "./probe.ts";

export type RightResult = {
  right: string;
  is_required: boolean;
  needed_for: string;
  status: "granted" | "refused" | "not_checked";
  error: string | null;
  remedy: string | null;
};

export type RightsResult = {
  addressing_style: "virtual" | "path" | null;
  rights: RightResult[];
  leftovers: string[];
};

type Right = Pick<RightResult, "right" | "is_required" | "needed_for">;

const RIGHTS = {
  put: { right: "s3:PutObject", is_required: true, needed_for: "writing files and markers" },
  multipart: {
    right: "s3:PutObject",
    is_required: true,
    needed_for: "writing files of 8 MiB and more in parts",
  },
  list: {
    right: "s3:ListBucketMultipartUploads",
    is_required: false,
    needed_for: "finding parts of failed uploads",
  },
  abort: {
    right: "s3:AbortMultipartUpload",
    is_required: false,
    needed_for: "removing parts of failed uploads",
  },
  get: {
    right: "s3:GetObject",
    is_required: false,
    needed_for: "checking written files, and previews",
  },
  delete: {
    right: "s3:DeleteObject",
    is_required: false,
    needed_for:
      "removing probe objects, markers of exports that did not complete, and old metadata of tables",
  },
} satisfies Record<string, Right>;

type Name = keyof typeof RIGHTS;
type Problems = Partial<Record<Name, S3Problem | null>>;

/** Limits for each check. The request of the caller waits for all of them. */
const LIMITS = { attempts: 2, total_ms: 6000, attempt_ms: 5000, max_delay_ms: 500 };

/** Checks each right that exports use, and deletes its test object if the rights allow it. */
export async function checkRights(
  policy: EgressPolicy,
  target: S3Target,
  key: string,
): Promise<RightsResult> {
  const written = await writeProbe(policy, target, key, LIMITS);
  if (written.client === null) {
    return {
      addressing_style: null,
      rights: toResults({ put: written.problem }, target, key),
      leftovers: [],
    };
  }
  const { client, addressing_style } = written;
  const upload = await checkUpload(client, `${key}.parts`);
  // HEAD needs s3:GetObject.
  const get = await problemOf(() => client.headObject(key));
  const remove = await problemOf(() => client.deleteObject(key));
  const problems: Problems = { put: null, ...upload.problems, get, delete: remove };
  const leftovers = [...(remove === null ? [] : [key]), ...upload.leftovers];
  return { addressing_style, rights: toResults(problems, target, key), leftovers };
}

/** Opens an upload with one part and aborts it, so that no object comes into being. */
async function checkUpload(client: S3Client, key: string) {
  let upload_id: string | null = null;
  const problems: Problems = {};
  problems.multipart = await problemOf(async () => {
    ({ upload_id } = await client.createUpload(key));
    await client.uploadPart(key, upload_id, 1, PROBE_BODY);
  });
  if (upload_id === null) return { problems, leftovers: [] };
  const opened: string = upload_id;
  problems.list = await problemOf(() => client.listUploads(key));
  problems.abort = await problemOf(() => client.abortUpload(key, opened));
  return { problems, leftovers: problems.abort === null ? [] : [`${key} (an open upload)`] };
}

function toResults(problems: Problems, target: S3Target, key: string): RightResult[] {
  return Object.entries(RIGHTS).map(([name, right]) => {
    const problem = problems[name as Name];
    if (problem === undefined)
      return { ...right, status: "not_checked", error: null, remedy: null };
    if (problem === null) return { ...right, status: "granted", error: null, remedy: null };
    return {
      ...right,
      status: "refused",
      error: `${problem.code}: ${problem.message}`,
      remedy: remedyOf(name as Name, problem, target, key),
    };
  });
}

function remedyOf(name: Name, problem: S3Problem, target: S3Target, key: string): string {
  const right = RIGHTS[name];
  // The remedy of a PUT depends on the code.
  if (name === "put") return remedyFor(problem, target, key);
  // Servers refuse with other codes too, so the status decides as well.
  if (problem.code === "AccessDenied" || problem.status === 403) return allow(right, target, key);
  if (UNSUPPORTED.includes(problem.status))
    return `The server does not support this call, which is needed for ${right.needed_for}`;
  return remedyFor(problem, target, key);
}

function allow({ right, needed_for }: Right, { bucket_name }: S3Target, key: string): string {
  return `Allow ${right} for ${key} in the bucket "${bucket_name}": it is needed for ${needed_for}`;
}
