import { AppError, invalid, issuesOf } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import { type AttachedFile, type IncomingRun, PAYLOADS } from "../changes.ts";
import { type ExactJson, exactTexts } from "../exact-json.ts";
import { ContainerBudget, type JsonObject } from "../json.ts";
import { MAX_ATTACHMENTS, MAX_NAME_CHARS, MAX_RUNS_PER_BATCH } from "../limits.ts";
import { parseJson } from "./body.ts";
import { type ChangeKind, type RunBatch, readBatch, toIncoming } from "./incoming.ts";
import type { MultipartPart } from "./multipart.ts";

/** Content of one multipart body. */
export type Bundle = RunBatch & {
  files: AttachedFile[];
  feedback: { id: string; body: JsonObject }[];
};

type Draft = {
  kind: ChangeKind;
  id: string;
  main: JsonObject | null;
  texts: Record<string, string>;
};

/** Content of the parts that were read so far. */
type Reading = Bundle & { drafts: Map<string, Draft>; containers: ContainerBudget };

/** Each attachment is an object in R2, which is one subrequest. */
const MAX_FILES = 1000;
/** Feedback of runs of different days takes a subrequest for each day. */
const MAX_FEEDBACK = 1000;
const RUN_PART = /^(post|patch)\.([^.]+)(?:\.(inputs|outputs|events|extra|error|serialized))?$/;
const ATTACHMENT_PART = /^attachment\.([^.]+)\.([^.]+)$/;
const FEEDBACK_PART = /^feedback\.([^.]+)$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export async function readBundle(parts: AsyncIterable<MultipartPart>): Promise<Bundle> {
  const drafts = new Map<string, Draft>();
  const bundle: Bundle = { runs: [], issues: [], files: [], feedback: [] };
  const reading: Reading = { ...bundle, drafts, containers: new ContainerBudget() };
  const refused = new Set<string>();
  for await (const part of parts) {
    try {
      addPart(part, reading);
    } catch (error) {
      bundle.issues.push(...issuesOf(error, ["body", part.name]));
      refused.add(runOf(part));
    }
    if (drafts.size > MAX_RUNS_PER_BATCH) throw tooMany();
  }
  const drafted = [...drafts.values()];
  const whole = drafted.filter(({ id }) => !refused.has(id));
  const { runs, issues } = readBatch(whole.map((draft) => () => toRun(draft)));
  const stored = new Set(runs.map(({ id }) => id));
  for (const { id } of drafted) if (!stored.has(id)) refused.add(id);
  return {
    runs,
    issues: [...bundle.issues, ...issues],
    files: bundle.files.filter(({ run_id }) => !refused.has(run_id)),
    feedback: bundle.feedback.filter(({ body }) => !refused.has(feedbackRunOf(body))),
  };
}

export function tooMany(): AppError {
  const text = `Too many runs: send at most ${MAX_RUNS_PER_BATCH} in a request.`;
  return new AppError("too_large", text);
}

/** Returns the id of the run whose fields a part has, `""` for other parts. One refused part refuses the whole run. */
function runOf({ name }: MultipartPart): string {
  return RUN_PART.exec(name)?.[2]?.toLowerCase() ?? "";
}

/** Returns the id of the run that feedback is about: the root of its trace, if it names only that. */
function feedbackRunOf({ run_id, trace_id }: JsonObject): string {
  return String(run_id ?? trace_id).toLowerCase();
}

function addPart(part: MultipartPart, reading: Reading): void {
  const { name, content_type, data } = part;
  const [, kind, id = "", field] = RUN_PART.exec(name) ?? [];
  if (kind === "post" || kind === "patch") {
    addRunPart(reading, kind, id, field, part);
    return;
  }
  const [, run_id, file] = ATTACHMENT_PART.exec(name) ?? [];
  if (run_id !== undefined && file !== undefined) {
    addFile(reading.files, { run_id: idOf(run_id, name), name: file, content_type, data }, name);
    return;
  }
  const [, feedback_id] = FEEDBACK_PART.exec(name) ?? [];
  if (feedback_id === undefined) throw unknown(name);
  const { value } = jsonOf(part, reading.containers);
  if (!isRecord(value)) throw invalid(["body", name], "must be a JSON object");
  if (reading.feedback.length >= MAX_FEEDBACK) {
    throw invalid(["body", name], `is beyond the ${MAX_FEEDBACK} feedback parts of a request`);
  }
  reading.feedback.push({ id: idOf(feedback_id, name), body: value });
}

/** Adds an attachment. A refused one does not refuse its run or the other attachments. */
function addFile(files: AttachedFile[], file: AttachedFile, part: string): void {
  const problem = problemOf(files, file);
  if (problem !== null) throw invalid(["body", part], problem);
  files.push(file);
}

function problemOf(files: AttachedFile[], { run_id, name }: AttachedFile): string | null {
  if (name.length > MAX_NAME_CHARS)
    return `must have a name of at most ${MAX_NAME_CHARS} characters`;
  if (files.length >= MAX_FILES) return `is beyond the ${MAX_FILES} attachments of a request`;
  const { length } = files.filter((file) => file.run_id === run_id);
  return length < MAX_ATTACHMENTS ? null : `is beyond the ${MAX_ATTACHMENTS} attachments of a run`;
}

function addRunPart(
  { drafts, containers }: Reading,
  kind: ChangeKind,
  id: string,
  field: string | undefined,
  part: MultipartPart,
): void {
  const key = `${kind}.${id}`;
  const draft = drafts.get(key) ?? { kind, id: idOf(id, part.name), main: null, texts: {} };
  drafts.set(key, draft);
  const { value, exact, text } = jsonOf(part, containers);
  if (field === undefined) {
    if (!isRecord(value)) throw invalid(["body", part.name], "must be a JSON object");
    // A part for a field wins over the same field of the main part, in any order of the parts.
    draft.main = { ...value, ...draft.main };
    draft.texts = { ...exactTexts({ value, exact }, PAYLOADS), ...draft.texts };
  } else if (value !== null) {
    draft.main = { ...draft.main, [field]: value };
    draft.texts[field] = text;
  }
}

function toRun({ kind, id, main, texts }: Draft): IncomingRun {
  return toIncoming({ ...main, id }, kind, ["body", `${kind}.${id}`], texts);
}

function jsonOf(
  { name, data }: MultipartPart,
  containers: ContainerBudget,
): ExactJson & { text: string } {
  const text = new TextDecoder().decode(data);
  return { ...parseJson(text, containers, `The part ${name} is not JSON`), text };
}

function idOf(text: string, name: string): string {
  if (UUID.test(text)) return text.toLowerCase();
  throw invalid(["body", name], "the part's name must contain a UUID");
}

function unknown(name: string): AppError {
  return invalid(
    ["body", name],
    "is not a known part; use post.<run id>, patch.<run id>, each also with .inputs, .outputs, .events, .extra, .error or .serialized, feedback.<id>, and attachment.<run id>.<name> without a dot in the name",
  );
}
