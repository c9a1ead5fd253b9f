// Deploys this repository to Heddle and waits until it serves. Node 20 or newer, no packages.
//   node deploy.mjs            create the deployment, or give it a new revision, which becomes the active one
//   node deploy.mjs preview    a revision of this branch at a URL of its own; what serves now goes on serving
// README.md names the variables.
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";

const { env } = process;
const isOnGithub = env.GITHUB_ACTIONS === "true";
const POLL_MS = 1000 * Number(env.HEDDLE_POLL_SECONDS ?? 60);
const GIVE_UP_MS = 1000 * Number(env.HEDDLE_GIVE_UP_SECONDS ?? 1800);
const ATTEMPTS = 4;
const PAUSE_MS = Math.min(POLL_MS, 5000);
const LOG_PAGE = 1000;

class Failure extends Error {}

try {
  process.exitCode = await main(process.argv[2] ?? "deploy");
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  process.exitCode = fail(error.message);
}

async function main(mode) {
  if (mode !== "deploy" && mode !== "preview")
    throw new Failure(`"${mode}" is neither deploy nor preview.`);
  const give_up_at = Date.now() + GIVE_UP_MS;
  const revision = mode === "deploy" ? await deploy() : await preview();
  console.log(`Revision ${revision.id} of ${need("HEDDLE_DEPLOYMENT")} (${ref()}) builds.`);
  output({ deployment_id: revision.deployment_id, revision_id: revision.id });
  const ended = await watch(revision, give_up_at);
  const { status } = ended;
  if (status === "DEPLOYED") return announce(mode, revision);
  if (status === "SKIPPED") {
    console.log(`A newer revision has overtaken ${ended.id}: there is nothing left to wait for.`);
    return 0;
  }
  await printLog(ended);
  const why = ended.status_message === null ? "" : `: ${ended.status_message}`;
  const late = isOver(status) ? "" : ` after ${GIVE_UP_MS / 1000} s; given up`;
  return fail(`Revision ${ended.id} is ${status}${late}${why}`);
}

async function deploy() {
  const name = need("HEDDLE_DEPLOYMENT");
  const found = await find(name);
  const deployment = found ? await patch(found) : await create(name);
  return { id: deployment.latest_revision_id, deployment_id: deployment.id, url: deployment.url };
}

async function create(name) {
  const created = await call("POST", "/v2/deployments", {
    name,
    source: "github",
    source_config: {
      repo_url: repository(),
      deployment_type: env.HEDDLE_DEPLOYMENT_TYPE || "prod",
      build_on_push: false,
      ...(env.HEDDLE_INTEGRATION_ID && { integration_id: env.HEDDLE_INTEGRATION_ID }),
    },
    source_revision_config: source(),
    secrets: secrets(),
  });
  if (created.status !== 409) return expect(created, 201);
  // Another job was faster, or our first attempt went through and its answer was lost.
  const found = await find(name);
  return found ? patch(found) : expect(created, 201);
}

async function patch({ id }) {
  const given = secrets();
  const body = { source_revision_config: source(), ...(given.length > 0 && { secrets: given }) };
  return expect(await call("PATCH", `/v2/deployments/${id}`, body), 200);
}

async function preview() {
  const name = need("HEDDLE_DEPLOYMENT");
  const found = await find(name);
  if (!found)
    throw new Failure(`There is no deployment "${name}" to preview: deploy the main branch first.`);
  const body = { activate: false, source_revision_config: source() };
  return expect(await call("POST", `/v2/deployments/${found.id}/revisions`, body), 201);
}

/** Names are found by their parts; only the whole one is ours. */
async function find(name) {
  for (let offset = 0; ; ) {
    const query = new URLSearchParams({
      name_contains: name,
      limit: "100",
      offset: String(offset),
    });
    const page = expect(await call("GET", `/v2/deployments?${query}`), 200);
    const found = page.resources.find((deployment) => deployment.name === name);
    if (found || page.resources.length < 100) return found;
    offset = page.offset;
  }
}

/** Until it has ended, or the time is over. A server that is down for a while is waited for. */
async function watch({ id, deployment_id }, give_up_at) {
  const path = `/v2/deployments/${deployment_id}/revisions/${id}`;
  for (let revision = { id, deployment_id, status: "CREATING", status_message: null }; ; ) {
    const answer = await ask("GET", path);
    if (isStumble(answer)) console.log(`${now()} ${oneLine(answer)}`);
    else {
      const { status } = revision;
      revision = expect(answer, 200);
      if (revision.status !== status) console.log(`${now()} ${revision.status}`);
    }
    const left_ms = give_up_at - Date.now();
    if (isOver(revision.status) || left_ms <= 0) return revision;
    await pause(Math.min(POLL_MS, left_ms));
  }
}

function isOver(status) {
  return (
    status === "DEPLOYED" ||
    status.endsWith("_FAILED") ||
    ["SKIPPED", "INTERRUPTED"].includes(status)
  );
}

async function printLog({ id, deployment_id }) {
  const path = `/v1/projects/${deployment_id}/revisions/${id}/build_logs`;
  // Lines of a build are somebody's text: none of them may be a command to the runner.
  const token = randomUUID();
  if (isOnGithub) console.log(`::group::Build log of ${id}\n::stop-commands::${token}`);
  for (let offset = null; ; ) {
    const page = expect(await call("POST", path, { order: "asc", limit: LOG_PAGE, offset }), 200);
    for (const { timestamp, level, message } of page.logs)
      console.log(`${timestamp} ${level} ${message}`);
    if (page.logs.length < LOG_PAGE || page.next_offset === null) break;
    offset = page.next_offset;
  }
  if (isOnGithub) console.log(`::${token}::\n::endgroup::`);
}

function announce(mode, { id, url }) {
  output({ url });
  const text = `${mode === "preview" ? "Preview" : "Deployed"}: ${url}`;
  console.log(text);
  if (env.GITHUB_STEP_SUMMARY)
    appendFileSync(env.GITHUB_STEP_SUMMARY, `${text} (revision \`${id}\`)\n`);
  return 0;
}

function source() {
  return { repo_ref: ref(), langgraph_config_path: env.HEDDLE_CONFIG_PATH || "langgraph.json" };
}

/** On a pull request its own branch; GITHUB_REF_NAME is the merge that GitHub tried. */
function ref() {
  return env.HEDDLE_REF || env.GITHUB_HEAD_REF || need("GITHUB_REF_NAME");
}

function repository() {
  return env.HEDDLE_REPO_URL || `${need("GITHUB_SERVER_URL")}/${need("GITHUB_REPOSITORY")}`;
}

/** HEDDLE_SECRETS names variables: they become secrets of the deployment. */
function secrets() {
  const names = (env.HEDDLE_SECRETS ?? "").split(/[\s,]+/).filter(Boolean);
  return names.map((name) => ({ name, value: need(name) }));
}

function need(name) {
  if (env[name]) return env[name];
  throw new Failure(`${name} is not set; see examples/ci/README.md.`);
}

/** Asks again where the network or the server stumbles; any other answer is final. */
async function call(method, path, body) {
  for (let attempt = 1; ; attempt++) {
    const answer = await ask(method, path, body);
    if (!isStumble(answer)) return answer;
    const text = `${method} ${path}: ${oneLine(answer)}`;
    if (attempt === ATTEMPTS) throw new Failure(text);
    console.log(`${text}; trying again`);
    await pause(Math.max(PAUSE_MS * attempt, 1000 * Number(answer.retry_after ?? 0)));
  }
}

async function ask(method, path, body) {
  const headers = {
    "x-api-key": need("HEDDLE_API_KEY"),
    ...(env.HEDDLE_TENANT_ID && { "x-tenant-id": env.HEDDLE_TENANT_ID }),
    ...(body && { "content-type": "application/json" }),
  };
  const url = `${need("HEDDLE_URL").replace(/\/+$/, "")}${path}`;
  const init = { method, headers, body: body && JSON.stringify(body) };
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(60_000) });
    const retry_after = response.headers.get("retry-after");
    return { status: response.status, text: await response.text(), retry_after };
  } catch (error) {
    return { status: 0, text: String(error.cause ?? error), retry_after: null };
  }
}

function isStumble({ status }) {
  return status === 0 || status === 429 || status >= 500;
}

function oneLine({ status, text }) {
  return `${status === 0 ? "no answer" : `status ${status}`} ${JSON.stringify(text.slice(0, 200))}`;
}

function expect({ status, text }, wanted) {
  if (status === wanted) return JSON.parse(text);
  const hint = status === 401 ? " Is HEDDLE_API_KEY right, and of this installation?" : "";
  throw new Failure(`Heddle answers ${status}: ${detailOf(text)}${hint}`);
}

function detailOf(text) {
  try {
    const { detail } = JSON.parse(text);
    return typeof detail === "string" ? detail : JSON.stringify(detail);
  } catch {
    return text.slice(0, 500);
  }
}

function output(values) {
  if (!env.GITHUB_OUTPUT) return;
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`);
  appendFileSync(env.GITHUB_OUTPUT, lines.join(""));
}

/** On GitHub the command alone, which holds every line: what failed may quote somebody's text. */
function fail(text) {
  const escaped = text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  if (isOnGithub) console.log(`::error::${escaped}`);
  else console.error(text);
  return 1;
}

function now() {
  return new Date().toISOString();
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
