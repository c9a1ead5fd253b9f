import type { BuildFailureReason } from "./contract.ts";
import { PACKAGE_LIMITS } from "./limits.ts";
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

/** @throws BuildFailure when an agent has more packages than a build installs */
export function assertPackageCount(count: number) {
  if (count <= PACKAGE_LIMITS.count) return;
  throw unresolved(
    `package.json leads to more than ${PACKAGE_LIMITS.count} packages: remove dependencies.`,
  );
}
