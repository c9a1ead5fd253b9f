import type { BuildFailureReason } from "./contract.ts";

/** Ends a build with a reason for machines and a sentence for people. */
export class BuildFailure extends Error {
  readonly reason: BuildFailureReason;

  constructor(reason: BuildFailureReason, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = "BuildFailure";
    this.reason = reason;
  }
}
