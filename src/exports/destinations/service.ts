import { and, asc, count, eq, gt, inArray, isNull, or } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { decrypt, encrypt } from "../../shared/crypto/crypto.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import { newId } from "../../shared/storage/ids.ts";
import { inWorkspace, ownRow } from "../../shared/storage/sql.ts";
import { assertMayExport } from "../access.ts";
import { DestinationCredentials } from "../credentials-schema.ts";
import {
  Destination,
  type DestinationCreateRequest,
  type DestinationPatchRequest,
  type DestinationProbe,
} from "../destination-schema.ts";
import { LAST_WRITES_MS } from "../limits.ts";
import type { S3Target } from "../s3/signing.ts";
import { bulk_export_destinations, bulk_exports, type DestinationRow } from "../table.ts";
import { checkTarget, validate } from "./probe-service.ts";
import { toTarget } from "./target.ts";

type Validated = { destination: Destination; warning: string | null };

const MAX_DESTINATIONS = 200;

export async function createDestination(
  ctx: Context,
  { destination_type, display_name, config, credentials }: DestinationCreateRequest,
): Promise<Validated> {
  assertMayExport(ctx, "start");
  await assertRoom(ctx);
  const id = newId();
  const { addressing_style, warning } = await validate(ctx, id, config, credentials);
  const now = new Date().toISOString();
  const [row] = await ctx.db
    .insert(bulk_export_destinations)
    .values({
      id,
      workspace_id: ctx.caller.workspace_id,
      destination_type,
      display_name,
      config,
      addressing_style,
      ...(await encryptCredentials(ctx, id, credentials)),
      created_at: now,
      updated_at: now,
    })
    .returning();
  return { destination: toDestination(row), warning };
}

export async function listDestinations(ctx: Context): Promise<Destination[]> {
  assertMayExport(ctx, "read");
  const rows = await ctx.db
    .select()
    .from(bulk_export_destinations)
    .where(inWorkspace(ctx, bulk_export_destinations))
    .orderBy(asc(bulk_export_destinations.id));
  return rows.map(toDestination);
}

export async function getDestination(ctx: Context, id: string): Promise<Destination> {
  assertMayExport(ctx, "read");
  return toDestination(await find(ctx, id));
}

/**
 * Probes the new credentials before it replaces the old ones. An attempt at a file keeps the credentials it began with.
 */
export async function rotateCredentials(
  ctx: Context,
  id: string,
  { credentials }: DestinationPatchRequest,
): Promise<Validated> {
  assertMayExport(ctx, "start");
  const { config } = await find(ctx, id);
  const { addressing_style, warning } = await validate(ctx, id, config, credentials);
  const updated_at = new Date().toISOString();
  const [row] = await ctx.db
    .update(bulk_export_destinations)
    .set({ addressing_style, updated_at, ...(await encryptCredentials(ctx, id, credentials)) })
    .where(ownRow(ctx, bulk_export_destinations, id))
    .returning();
  if (row === undefined) throw notFound("Destination", id);
  return { destination: toDestination(row), warning };
}

/** Checks each right of the stored credentials. */
export async function probeSavedDestination(ctx: Context, id: string): Promise<DestinationProbe> {
  assertMayExport(ctx, "start");
  const { config } = await find(ctx, id);
  const { target } = await targetOf(ctx, id);
  return checkTarget(ctx, config, target);
}

export async function deleteDestination(ctx: Context, id: string): Promise<void> {
  assertMayExport(ctx, "end");
  await find(ctx, id);
  if (await isReferenced(ctx, id)) {
    const text =
      "An export or a schedule uses this destination: cancel it, and wait half a minute until it has cleaned up.";
    throw new AppError("conflict", text);
  }
  await ctx.db.delete(bulk_export_destinations).where(ownRow(ctx, bulk_export_destinations, id));
}

/**
 * Returns the target with decrypted credentials.
 * @throws AppError `not_found` for a destination of another workspace too
 */
export async function targetOf(
  ctx: Context,
  id: string,
): Promise<{
  target: S3Target;
  prefix: string;
  include_bucket_in_prefix: boolean;
  bucket_name: string;
}> {
  const row = await find(ctx, id);
  const { config, addressing_style } = row;
  const text = await decrypt(ctx.env, row, ownerOf(id));
  const credentials = DestinationCredentials.parse(JSON.parse(text));
  const { prefix, include_bucket_in_prefix, bucket_name } = config;
  const target = toTarget(config, credentials, addressing_style);
  return { target, prefix, include_bucket_in_prefix, bucket_name };
}

async function encryptCredentials(ctx: Context, id: string, credentials: DestinationCredentials) {
  const given = Object.entries(credentials).filter(([, value]) => value != null);
  const text = JSON.stringify(Object.fromEntries(given));
  return {
    credentials_keys: given.map(([name]) => name),
    ...(await encrypt(ctx.env, text, ownerOf(id))),
  };
}

async function assertRoom(ctx: Context): Promise<void> {
  const [row] = await ctx.db
    .select({ destinations: count() })
    .from(bulk_export_destinations)
    .where(inWorkspace(ctx, bulk_export_destinations));
  if ((row?.destinations ?? 0) < MAX_DESTINATIONS) return;
  const text = `A workspace has at most ${MAX_DESTINATIONS} destinations: delete an unused one first.`;
  throw new AppError("conflict", text);
}

async function find(ctx: Context, id: string): Promise<DestinationRow> {
  const [row] = await ctx.db
    .select()
    .from(bulk_export_destinations)
    .where(ownRow(ctx, bulk_export_destinations, id));
  if (row === undefined) throw notFound("Destination", id);
  return row;
}

function toDestination(row: DestinationRow | undefined): Destination {
  return Destination.parse({ ...row, tenant_id: row?.workspace_id });
}

/** Returns the name that binds a ciphertext to the row of its destination. */
export function ownerOf(id: string): string {
  return `destination:${id}`;
}

/** Whether an active export or schedule uses the destination, or an export that has just ended may still write to it. */
async function isReferenced(ctx: Context, destination_id: string): Promise<boolean> {
  const lastWrites = new Date(Date.now() - LAST_WRITES_MS).toISOString();
  const active = await ctx.db.$count(
    bulk_exports,
    and(
      eq(bulk_exports.bulk_export_destination_id, destination_id),
      inWorkspace(ctx, bulk_exports),
      or(
        inArray(bulk_exports.status, ["CREATED", "RUNNING", "INTERVAL_SCHEDULED"]),
        and(gt(bulk_exports.finished_at, lastWrites), isNull(bulk_exports.cleaned_at)),
      ),
    ),
  );
  return active > 0;
}
