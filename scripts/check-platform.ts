// Checks a running Heddle: a region in Cloudflare, or a local stack. One line a check, then a table of what each tests.
// The exit code is 1 if any failed. Creates agents, runs, traces and deletes them; objects of an export stay in its
// bucket. --url and --key (of a test workspace) are required. --only names a check, several times if needed; --long adds
// those of minutes, and of an hour. --seconds is the length of streams and waits; --bodies and --megabytes are the
// number and the size of bodies of traces that are sent at once. --agents-domain is the variable AGENTS_DOMAIN,
// --region the jurisdiction.
// Agents fetch --fetch-url, and connect to an HTTP server at --tcp-address (host:port). --operator-token is the
// variable OPERATOR_TOKEN. --bucket, --endpoint and --bucket-region name a bucket to export to, AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY its credentials.
import { readOptions } from "./options.ts";
import { BUILD_CHECK } from "./platform/build.ts";
import { HTTP_CHECKS } from "./platform/http-checks.ts";
import { ISOLATE_CHECKS } from "./platform/isolate-checks.ts";
import { LONG_CHECKS } from "./platform/long-checks.ts";
import { REVISION_CHECKS } from "./platform/revision-checks.ts";
import { RUN_CHECKS } from "./platform/run-checks.ts";
import { SERVICE_CHECKS } from "./platform/service-checks.ts";
import { STATE_CHECKS } from "./platform/state-checks.ts";
import { STREAM_CHECKS } from "./platform/stream-checks.ts";
import { type ExportSettings, type Settings, Target } from "./platform/target.ts";
import { TRACE_CHECKS } from "./platform/trace-checks.ts";
import { performAll, toRows } from "./platform/verdicts.ts";
import { toText } from "./simulate/report.ts";

const CHECKS = [
  BUILD_CHECK,
  ...[...SERVICE_CHECKS, ...HTTP_CHECKS, ...RUN_CHECKS, ...STREAM_CHECKS, ...ISOLATE_CHECKS],
  ...[...STATE_CHECKS, ...TRACE_CHECKS, ...REVISION_CHECKS, ...LONG_CHECKS],
];

const { values } = readOptions({
  url: { type: "string" },
  key: { type: "string" },
  only: { type: "string", multiple: true },
  long: { type: "boolean", default: false },
  region: { type: "string" },
  "agents-domain": { type: "string" },
  "fetch-url": { type: "string" },
  "tcp-address": { type: "string" },
  "operator-token": { type: "string" },
  seconds: { type: "string", default: "120" },
  bodies: { type: "string", default: "8" },
  megabytes: { type: "string", default: "20" },
  bucket: { type: "string" },
  endpoint: { type: "string" },
  "bucket-region": { type: "string" },
});

const selected = select(values.only);
const target = new Target(readSettings());
process.once("SIGINT", () => cleanUp().finally(() => process.exit(130)));
const results = await performAll(selected, target, { names: values.only, with_long: values.long });
await cleanUp();
const count = (wanted: string) => results.filter(({ verdict }) => verdict === wanted).length;
console.log(`\n${toText(toRows(results))}`);
console.log(`\n${count("ok")} ok, ${count("skipped")} skipped, ${count("failed")} failed.`);
process.exitCode = count("failed") === 0 ? 0 : 1;

/** Returns the named checks, always with the build of the agent: most checks need it. */
function select(only: string[] | undefined) {
  if (only === undefined) return CHECKS;
  const unknown = only.find((name) => CHECKS.every((check) => check.name !== name));
  if (unknown !== undefined) {
    const names = CHECKS.map(({ name }) => name).join(", ");
    fail(`--only: no check has the name "${unknown}". The checks: ${names}.`);
  }
  return CHECKS.filter((check) => check === BUILD_CHECK || only.includes(check.name));
}

async function cleanUp(): Promise<void> {
  for (const cleanup of target.cleanups.splice(0).reverse()) {
    await cleanup().catch((error) => console.log(`left     ${error.message}`));
  }
}

function readSettings(): Settings {
  const url = required("url", values.url).replace(/\/$/, "");
  return {
    url,
    key: required("key", values.key),
    operator_token: values["operator-token"],
    tcp_address: values["tcp-address"],
    region: values.region,
    agents_domain: values["agents-domain"],
    fetch_url: values["fetch-url"] ?? `${url}/ok`,
    long_seconds: positive("seconds", values.seconds),
    bodies: positive("bodies", values.bodies),
    body_bytes: positive("megabytes", values.megabytes) * 1_000_000,
    export: readExport(),
  };
}

function readExport(): ExportSettings | undefined {
  const { bucket, endpoint, "bucket-region": region } = values;
  if (bucket === undefined) return undefined;
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env;
  return {
    bucket_name: bucket,
    ...(endpoint === undefined ? {} : { endpoint_url: endpoint }),
    ...(region === undefined ? {} : { region }),
    access_key_id: required("AWS_ACCESS_KEY_ID", AWS_ACCESS_KEY_ID),
    secret_access_key: required("AWS_SECRET_ACCESS_KEY", AWS_SECRET_ACCESS_KEY),
  };
}

function required(name: string, value: string | undefined): string {
  if (value) return value;
  return fail(`${name} is missing: npm run check:platform -- --help`);
}

function positive(name: string, text: string): number {
  const number = Number(text);
  return number > 0 ? number : fail(`--${name} is "${text}"; give a number above 0.`);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
