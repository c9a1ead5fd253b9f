import { type EgressPolicy, safeFetch } from "../../../shared/egress/egress.ts";
import { AppError } from "../../../shared/errors.ts";
import { BuildFailure } from "../failure.ts";
import { PACKAGE_LIMITS } from "../limits.ts";
import type { Manifest } from "../locks/install-tree.ts";
import { withSlash } from "../locks/tarball-url.ts";
import { retryTransient } from "../retry.ts";

export type Release = Manifest & {
  deprecated?: unknown;
  os?: string[];
  cpu?: string[];
  dist?: { tarball?: string; integrity?: string; shasum?: string };
};
/** The registry's answer for a package: its versions and their manifests. */
export type Packument = {
  "dist-tags"?: Record<string, string>;
  versions?: Record<string, Release>;
};

/** @returns `null` when the registry does not have the package, or refuses the request */
export async function fetchPackument(
  { policy, registry_url }: { policy: EgressPolicy; registry_url: string },
  name: string,
): Promise<Packument | null> {
  const url = withSlash(registry_url) + name.replace("/", "%2f");
  const attempt = async () => {
    const limits = {
      timeout_ms: PACKAGE_LIMITS.timeout_ms,
      max_bytes: PACKAGE_LIMITS.metadata_bytes,
    };
    const headers = { accept: "application/vnd.npm.install-v1+json, application/json;q=0.5" };
    const response = await safeFetch(policy, url, { headers }, limits);
    if (response.ok) return response.json<Packument>();
    await response.body?.cancel();
    if (response.status < 500 && response.status !== 429) return null;
    throw new AppError("unavailable", `The registry returned ${response.status} for ${name}.`);
  };
  return retryTransient(attempt, (error) => AppError.from(error).code === "unavailable").catch(
    (error: unknown) => {
      throw new BuildFailure("dependency_unresolved", AppError.from(error).message, {
        cause: error,
      });
    },
  );
}
