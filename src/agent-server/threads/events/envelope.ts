import type { z } from "@hono/zod-openapi";
import { isShallow, MAX_DEPTH } from "../../../shared/http/depth.ts";
import { Command } from "./schema.ts";

export type CommandFailure = { error: string; message: string };

export function readCommand(text: string): Command | CommandFailure {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return invalidArgument("A command must be JSON.");
  }
  if (!isShallow(json)) {
    return invalidArgument(`A command must be nested at most ${MAX_DEPTH} levels deep.`);
  }
  const command = Command.safeParse(json);
  if (command.success) return command.data;
  return invalidArgument(`Invalid command: ${issuesOf(command.error)}`);
}

export function isFailure(value: object): value is CommandFailure {
  return "error" in value && "message" in value;
}

export function readParams<T extends z.ZodType>(
  schema: T,
  { method, params }: Pick<Command, "method" | "params">,
): { ok: z.output<T> } | CommandFailure {
  const parsed = schema.safeParse(params ?? {});
  if (parsed.success) return { ok: parsed.data };
  return invalidArgument(`Invalid params of ${method}: ${issuesOf(parsed.error)}`);
}

export function issuesOf(error: z.core.$ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
}

export function invalidArgument(message: string): CommandFailure {
  return { error: "invalid_argument", message };
}
