import type { BuildFailureReason } from "./contract.ts";
import { cutMessage } from "./text.ts";

/** Ends a build with a machine-readable reason and a message, which is cut at `MESSAGE_CHARACTERS`. */
export class BuildFailure extends Error {
  readonly reason: BuildFailureReason;

  constructor(reason: BuildFailureReason, message: string, options?: { cause: unknown }) {
    super(cutMessage(message), options);
    this.name = "BuildFailure";
    this.reason = reason;
  }
}

export function unresolved(message: string): BuildFailure {
  return new BuildFailure("dependency_unresolved", message);
}
