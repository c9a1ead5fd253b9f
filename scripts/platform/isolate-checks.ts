import { assert, type Check, Skipped, type Target } from "./target.ts";

const AT_ONCE = 20;
/** The platform's default was 1,000 until 2026. */
const MANY = 1100;
const WARM_RUNS = 10;
/** Addresses of clouds' metadata, of private networks and of the machine. */
const PRIVATE = [
  ...["http://169.254.169.254/latest/meta-data/", "https://10.0.0.1/", "https://localhost/"],
  ...["https://[::1]/", "https://metadata.google.internal/"],
];

export const ISOLATE_CHECKS: Check[] = [
  {
    name: "parallel fetches",
    limit: "6 connections that wait for headers",
    run: (target) => checkFetches(target, AT_ONCE),
  },
  {
    name: "many fetches",
    limit: "subrequests of an invocation",
    run: (target) => checkFetches(target, MANY),
  },
  { name: "egress", limit: "globalOutbound with props", run: checkEgress },
  { name: "TCP", limit: "connect() behind a second Worker", run: checkTcp },
  { name: "own server", limit: "stub of an entrypoint in props", run: checkOwnServer },
  { name: "surroundings", limit: "bindings of an isolate", run: checkSurroundings },
  { name: "clock", limit: "timers, Date of an isolate", run: checkClock },
  { name: "warm isolate", limit: "reuse of a loaded isolate", run: checkWarm },
  { name: "agent log", limit: "tails of a dynamic Worker", run: checkLog },
  { name: "location", limit: "objects at work in the jurisdiction", run: checkLocation },
];

type Fetched = { answered: number; failed: number[] };

async function checkFetches(target: Target, count: number): Promise<string> {
  const input = { url: target.settings.fetch_url, count, at_once: AT_ONCE };
  const { answered, failed } = await target.probe<Fetched>("fetches", input);
  assert(answered === count, `${answered} of ${count} fetches succeeded, others got ${failed}`);
  return `${count} fetches of ${input.url}, ${AT_ONCE} at once, are answered`;
}

type Answers = { answers: { status: number; text: string }[] };

async function checkEgress(target: Target): Promise<string> {
  const { answers } = await target.probe<Answers>("reads", { urls: PRIVATE });
  const allowed = PRIVATE.filter((_, n) => answers[n]?.status !== 403);
  assert(allowed.length === 0, `agents reach ${allowed}: ${JSON.stringify(answers)}`);
  return `${PRIVATE.length} private addresses are refused with a 403`;
}

async function checkTcp(target: Target): Promise<string> {
  const { tcp_address } = target.settings;
  if (tcp_address === undefined) throw new Skipped("give --tcp-address of an HTTP server");
  const url = new URL(`https://${tcp_address}`);
  const text = `GET / HTTP/1.0\r\nHost: ${url.hostname}\r\n\r\n`;
  const input = { host: url.hostname, port: Number(url.port || 443), text };
  const { answer } = await target.probe<{ answer: string }>("connects", input);
  assert(answer.startsWith("HTTP/"), `${tcp_address} answered ${answer.slice(0, 200)}`);
  return `${tcp_address} answered ${answer.split("\r\n")[0]}`;
}

async function checkOwnServer(target: Target): Promise<string> {
  const called = await target.probe<{ status: number; answer: unknown }>("calls", { text: "own" });
  assert(Object(called.answer).echo === "own", `a call of itself got ${JSON.stringify(called)}`);
  return "an agent runs another graph of its deployment";
}

/** Names that only Heddle's own Worker has. */
const SECRET_NAMES = /ENCRYPTION|OPERATOR|OIDC|EGRESS|LOADER|CLOUDFLARE/;

async function checkSurroundings(target: Target): Promise<string> {
  const found = await target.probe<{ names: string[]; generates_code: boolean }>("surroundings");
  const secret = found.names.filter((name) => SECRET_NAMES.test(name));
  assert(secret.length === 0, `an agent reads the variables ${secret}`);
  assert(!found.generates_code, "an agent can generate code from text");
  return `an agent reads ${found.names.length} variables, none of them the Worker's`;
}

async function checkClock(target: Target): Promise<string> {
  const ms = 1000;
  const probe = await target.probe<{ waited_ms: number; now: number }>("waits", { ms });
  const wrong_ms = Math.abs(Date.now() - probe.now);
  assert(probe.waited_ms >= ms * 0.9, `a timer of ${ms} ms ended after ${probe.waited_ms} ms`);
  assert(wrong_ms < 60_000, `the clock of an isolate is wrong by ${wrong_ms} ms`);
  return `a timer of ${ms} ms took ${probe.waited_ms} ms`;
}

async function checkWarm(target: Target): Promise<string> {
  const isolates = new Set<string>();
  for (let n = 0; n < WARM_RUNS; n += 1) {
    isolates.add((await target.probe<{ isolate: string }>("identity")).isolate);
  }
  assert(isolates.size < WARM_RUNS, `${WARM_RUNS} runs in sequence loaded an isolate each`);
  return `${WARM_RUNS} runs in sequence had ${isolates.size} isolates`;
}

async function checkLog(target: Target): Promise<string> {
  const text = `platform-check-${Date.now()}`;
  const { thread_id } = await target.client.threads.create();
  const { run_id } = await target.client.runs.create(thread_id, "prints", { input: { text } });
  await target.client.runs.join(thread_id, run_id);
  const path = `/v1/projects/${target.agent.id}/deploy_logs`;
  const lines = await target.poll("line of the agent in its log", async () => {
    const { logs } = await target.json<{ logs: object[] }>("POST", path, { query: text });
    return logs.length >= 2 ? logs : null;
  });
  return `the log has ${lines.length} lines of a run that printed and threw`;
}

const EUROPE =
  "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split(" ");
const COUNTRIES: Record<string, string[]> = { eu: EUROPE, us: ["US"] };

/** An isolate works where its object does. The platform names the country of the request. */
async function checkLocation(target: Target): Promise<string> {
  const { region, url } = target.settings;
  const countries = COUNTRIES[region ?? ""];
  if (countries === undefined) throw new Skipped("give --region eu or us");
  const urls = [`${url}/cdn-cgi/trace`];
  const { answers } = await target.probe<Answers>("reads", { urls });
  const text = answers[0]?.text ?? "";
  const read = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(text)?.[1] ?? "";
  assert(read("loc") !== "", `${urls[0]} answered ${text.slice(0, 200)}`);
  assert(countries.includes(read("loc")), `an agent of ${region} works in ${read("loc")}`);
  return `an agent works in ${read("loc")}, data center ${read("colo")}`;
}
