import { z } from "@hono/zod-openapi";
import { MAX_NAME_CHARACTERS } from "../sizes.ts";

/** Id or namespace of a checkpoint. */
export const CheckpointName = z.string().max(MAX_NAME_CHARACTERS);
