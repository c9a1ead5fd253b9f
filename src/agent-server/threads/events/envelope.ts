import type { z } from "@hono/zod-openapi";
import { isShallow, MAX_DEPTH } from "../../../shared/http/depth.ts";
import { Command } from "./schema.ts";

/** Answer to a command that failed, without the id of the command. */
export type CommandFailure = { type: "error"; error: string; message: string };
export type CommandSuccess = {
  type: "success";
  result: Record<string, unknown>;
  applied_through_seq: number;
};
export type CommandOutcome = CommandSuccess | CommandFailure;

export type ReadResult<T> = { type: "success"; value: T } | CommandFailure;

export function readCommand(text: string): ReadResult<Command> {
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
  if (command.success) return { type: "success", value: command.data };
  return invalidArgument(`Invalid command: ${issuesOf(command.error)}`);
}

export function readParams<T extends z.ZodType>(
  schema: T,
  { method, params }: Pick<Command, "method" | "params">,
): ReadResult<z.output<T>> {
  const parsed = schema.safeParse(params ?? {});
  if (parsed.success) return { type: "success", value: parsed.data };
  return invalidArgument(`Invalid params of ${method}: ${issuesOf(parsed.error)}`);
}

export function issuesOf(error: z.core.$ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
}

export function invalidArgument(message: string): CommandFailure {
  return commandFailure("invalid_argument", message);
}

export function commandFailure(error: string, message: string): CommandFailure {
  return { type: "error", error, message };
}

export type CommandCall = Pick<Command, "method" | "params">;
