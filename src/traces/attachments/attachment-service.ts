import { assertMay } from "../../shared/auth.ts";
import { type Context, jobContext } from "../../shared/context.ts";
import { notFound } from "../../shared/errors.ts";
import { openAttachmentUrl } from "../links/attachment-urls.ts";
import { findRun } from "../query/run-service.ts";
import { assertTraceRate } from "../rates.ts";
import type { Pointers } from "../rows/rows.ts";

/** Returns the bytes of an attachment and their type. */
export async function getAttachment(ctx: Context, run_id: string, name: string) {
  assertMay(ctx, "read");
  assertTraceRate(ctx, "read");
  const { row } = await findRun(ctx, run_id, ["id", "pointers"]);
  const pointers: Pointers = row.pointers ? JSON.parse(row.pointers) : {};
  const attachment = pointers.attachments?.[name];
  const object = attachment ? await ctx.env.ARTIFACTS.get(attachment.key) : null;
  if (!attachment || !object) throw notFound("Attachment", `${run_id}/${name}`);
  return { body: object.body, content_type: attachment.content_type };
}

/** Finds the run of a signed URL again, so that the URL is a 404 once the trace is deleted. */
export async function getAttachmentByUrl(env: Env, token: string) {
  const { workspace_id, run_id, name } = await openAttachmentUrl(env, token);
  return getAttachment(jobContext(env, workspace_id, "attachment_url"), run_id, name);
}
