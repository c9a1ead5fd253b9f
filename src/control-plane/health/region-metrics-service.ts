import { isSameSecret } from "../../shared/crypto/signing.ts";
import { AppError } from "../../shared/errors.ts";
import { REGION } from "../../shared/metrics/metrics.ts";
import { sampleLine, toExposition } from "../../shared/metrics/series.ts";
import type { HealthCheck } from "./health-schema.ts";
import { getHealth } from "./health-service.ts";
import { metricsOf } from "./metrics-object.ts";
import { pushMetrics } from "./metrics-push.ts";

/** `OPERATOR_TOKEN` is a secret of the Worker, which may be missing. */
type OperatorEnv = Env & { OPERATOR_TOKEN?: string };

/** @returns Prometheus text */
export async function getRegionMetrics(
  env: OperatorEnv,
  authorization: string | undefined,
): Promise<string> {
  assertOperator(env, authorization);
  await pushMetrics();
  const [{ checks }, totals] = await Promise.all([getHealth(env), metricsOf(env, REGION).list()]);
  return toExposition(new Map(totals)) + healthLines(checks);
}

function assertOperator({ OPERATOR_TOKEN = "" }: OperatorEnv, authorization = ""): void {
  if (OPERATOR_TOKEN === "") {
    const text = "Metrics are off: set the secret OPERATOR_TOKEN of the Worker.";
    throw new AppError("not_found", text);
  }
  const token = /^Bearer +(.+)$/i.exec(authorization)?.[1] ?? "";
  if (!isSameSecret(token, OPERATOR_TOKEN)) {
    const text = "Operator token required: send `Authorization: Bearer <OPERATOR_TOKEN>`.";
    throw new AppError("unauthenticated", text);
  }
}

/** A check without a value has no sample: nothing waits, or its store did not answer. */
function healthLines(checks: HealthCheck[]): string {
  const families = [
    gauge(
      "heddle_health_ok",
      "1 for a check of /v1/health that is ok.",
      checks.map(({ name, status }) => [name, status === "ok" ? 1 : 0]),
    ),
    gauge(
      "heddle_health_value",
      "Value of a check of /v1/health, in its unit.",
      checks.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])),
    ),
  ];
  return families
    .flat()
    .map((line) => `${line}\n`)
    .join("");
}

function gauge(name: string, help: string, samples: [string, number][]): string[] {
  const lines = samples.map(([check, value]) => sampleLine(name, [["check", check]], value));
  return [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, ...lines];
}
