// Arguments of the calls of agents' code to its host: they are not valid until they are parsed here.
import { z } from "zod";
import type { CheckpointQuery } from "../../../../isolate/checkpoint-contract.ts";
import { plainObject } from "../../../../shared/plain.ts";
import { MAX_NAME_CHARACTERS, MAX_PATH_CHARACTERS } from "../../contract/sizes.ts";
import { parse } from "./answers.ts";
import { MAX_AUTHENTICATE_CHARACTERS, MAX_PAGE_CHECKPOINTS } from "./limits.ts";

const Name = z.string().max(MAX_NAME_CHARACTERS);
const Path = z.string().max(MAX_PATH_CHARACTERS);

const Query = z.object({
  ns: Path.optional(),
  checkpoint_id: Name.optional(),
  before_id: Name.optional(),
  limit: z.number().int().min(0).optional(),
  metadata: plainObject({ nodes: 1000, characters: 64 * 1024, depth: 32 }).optional(),
});

/** Parses a query. Its limit is `MAX_PAGE_CHECKPOINTS` by default, and at most. */
export function parseCheckpointQuery(value: unknown): CheckpointQuery & { limit: number } {
  const {
    ns,
    checkpoint_id,
    before_id,
    limit = MAX_PAGE_CHECKPOINTS,
    metadata,
  } = parse("query", Query, value);
  return {
    limit: Math.min(limit, MAX_PAGE_CHECKPOINTS),
    ...(ns !== undefined && { ns }),
    ...(checkpoint_id !== undefined && { checkpoint_id }),
    ...(before_id !== undefined && { before_id }),
    ...(metadata !== undefined && { metadata }),
  };
}

const Ref = z.tuple([Path, Name.nullable()]);

export function parseCheckpointRef(ns: unknown, checkpoint_id: unknown) {
  return parse("checkpoint", Ref, [ns, checkpoint_id]);
}

const Body = z.string().max(MAX_AUTHENTICATE_CHARACTERS);

export function parseAuthenticateBody(body: unknown): string {
  return parse("body", Body, body);
}
