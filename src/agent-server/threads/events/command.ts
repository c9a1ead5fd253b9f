import type { z } from "@hono/zod-openapi";
import { isShallow, MAX_DEPTH } from "../../../shared/http/depth.ts";
import { Command } from "./schema.ts";

/** A command without its id. */
export type CommandCall = Pick<Command, "method" | "params">;

/** Response to a command that failed, without the id of the command. `error` is a code of the protocol. */
export type CommandFailure = { type: "error"; error: string; message: string };
export type CommandSuccess = {
  type: "success";
  result: Record<string, unknown>;
  /** Sequence number of the last event before those that the command causes. */
  applied_through_seq: number;
};
export type CommandOutcome = CommandSuccess | CommandFailure;

export type ParseResult<T> = { type: "success"; value: T } | CommandFailure;

export function parseCommand(text: string): ParseResult<Command> {
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
  return invalidArgument(`Invalid command: ${formatIssues(command.error)}`);
}

export function parseParams<T extends z.ZodType>(
  schema: T,
  { method, params }: CommandCall,
): ParseResult<z.output<T>> {
  const parsed = schema.safeParse(params ?? {});
  if (parsed.success) return { type: "success", value: parsed.data };
  return invalidArgument(`Invalid params of ${method}: ${formatIssues(parsed.error)}`);
}

export function formatIssues(error: z.core.$ZodError): string {
  return error.issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`))
    .join("; ");
}

export function invalidArgument(message: string): CommandFailure {
  return commandFailure("invalid_argument", message);
}

export function commandFailure(error: string, message: string): CommandFailure {
  return { type: "error", error, message };
}
