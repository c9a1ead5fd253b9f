import { z } from "@hono/zod-openapi";
import { AgentPath } from "../threads/schema.ts";

export const UiPath = AgentPath.extend({ agent: z.string().min(1) });
export const UiFilePath = UiPath.extend({ file: z.string().min(1) });

export const UiRequest = z.object({ name: z.string().min(1).max(255) }).openapi("UiRequest");
