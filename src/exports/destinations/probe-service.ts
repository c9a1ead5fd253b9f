import type { Context } from "../../shared/context.ts";
import { egressPolicy } from "../../shared/egress/egress.ts";
import { assertRate } from "../../shared/http/rate-limit.ts";
import { newId } from "../../shared/storage/ids.ts";
import { assertMayExport } from "../access.ts";
import type { DestinationCredentials } from "../credentials-schema.ts";
import {
  type DestinationConfig,
  DestinationProbe,
  type DestinationProbeRequest,
} from "../destination-schema.ts";
import type { S3Target } from "../s3/signing.ts";
import { baseOf, policyFor } from "./base.ts";
import { probe, type UsableDestination } from "./probe.ts";
import { checkRights } from "./rights.ts";
import { toTarget } from "./target.ts";

const PROBES = { name: "destination_probe", calls: 30, in_s: 60 };
/** Limits saves too: each sends requests to a server of the caller's choice, as a probe does. */
const SAVES = { name: "destination_save", calls: 60, in_s: 60 };

/** Checks each right of a destination that is not saved. */
export async function probeDestination(
  ctx: Context,
  { config, credentials }: DestinationProbeRequest,
): Promise<DestinationProbe> {
  assertMayExport(ctx, "start");
  return checkTarget(ctx, config, probeTarget(config, credentials));
}

export async function checkTarget(
  ctx: Context,
  config: DestinationConfig,
  target: S3Target,
): Promise<DestinationProbe> {
  assertRate(ctx, PROBES);
  const key = probeKey(config, newId());
  const found = await checkRights(egressPolicy(ctx.env, "exports"), target, key);
  const is_usable = found.rights.every(
    ({ is_required, status }) => !is_required || status === "granted",
  );
  return DestinationProbe.parse({ is_usable, ...found, policy: policyFor(config) });
}

/** Writes and deletes a probe object before a destination or its new credentials are saved. */
export async function validate(
  ctx: Context,
  id: string,
  config: DestinationConfig,
  credentials: DestinationCredentials,
): Promise<UsableDestination> {
  assertRate(ctx, SAVES);
  return probe(
    egressPolicy(ctx.env, "exports"),
    probeTarget(config, credentials),
    probeKey(config, id),
  );
}

function probeTarget(config: DestinationConfig, credentials: DestinationCredentials): S3Target {
  const isAccelerated = config.config_kwargs_s3?.use_accelerate_endpoint === true;
  const style = isAccelerated ? "virtual" : (config.config_kwargs_s3?.addressing_style ?? "auto");
  return toTarget(config, credentials, style);
}

function probeKey(config: DestinationConfig, id: string): string {
  return `${baseOf(config)}_probe/${id}.txt`;
}
