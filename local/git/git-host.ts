// A repository host on loopback: git's own smart HTTP, and GitHub's endpoints for archives and commits.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Transform } from "node:stream";
import { promisify } from "node:util";

export type Fault = {
  /** Part of a path. The fault applies to the next `times` requests whose path contains it. */
  match: string;
  times: number;
  status?: number;
  /** The URL of another host that has the content of this path. */
  moved_to?: string;
  delay_ms?: number;
  /** Bytes of a download or of git's answer after which the connection ends. */
  truncate?: number;
};

type GitHostOptions = {
  root: string;
  port?: number;
  /** Needed to push, and to read repositories of the owner `private`. Other reads need none. */
  tokens?: string[];
  /** `false`: the host has git's protocol only. Default: `true`. */
  archives?: boolean;
};

export type GitHost = {
  url: string;
  /** The newest requests, as `GET /path`. */
  requests: string[];
  fail(fault: Fault): void;
  close(): Promise<void>;
};

type Host = Required<Omit<GitHostOptions, "port">> & {
  faults: Fault[];
  tickets: Map<string, string>;
  requests: string[];
};

type Request = { incoming: IncomingMessage; response: ServerResponse; url: URL; path: string };
type Repository = { owner: string; name: string; directory: string };

const PRIVATE_OWNER = "private";
const MAX_NOTED = 10_000;
const LOOPBACK = /^(127\.0\.0\.1|\[::1\]|localhost|.+\.localhost)$/;
const run = promisify(execFile);

export async function startGitHost(options: GitHostOptions): Promise<GitHost> {
  const host: Host = {
    root: options.root,
    tokens: options.tokens ?? [],
    archives: options.archives ?? true,
    faults: [],
    tickets: new Map(),
    requests: [],
  };
  await mkdir(host.root, { recursive: true });
  const server = createServer((incoming, response) => {
    answer(host, incoming, response).catch((error: unknown) =>
      refuse(response, 500, String(error)),
    );
  });
  const url = await listen(server, options.port ?? 0);
  return {
    url,
    requests: host.requests,
    fail: (fault) => host.faults.push({ ...fault }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
  });
}

async function answer(host: Host, incoming: IncomingMessage, response: ServerResponse) {
  const { hostname } = new URL(`http://${incoming.headers.host}`);
  // Refuses other names: the owner of a web site can make the site's name resolve to this machine.
  if (!LOOPBACK.test(hostname)) return refuse(response, 421, `${hostname} is not this host`);
  const url = new URL(incoming.url ?? "/", "http://127.0.0.1");
  const path = decodeURIComponent(url.pathname);
  const request: Request = { incoming, response, url, path };
  note(host, `${incoming.method} ${path}`);
  const fault = takeFault(host, path);
  if (fault?.delay_ms) await new Promise((resolve) => setTimeout(resolve, fault.delay_ms));
  if (fault?.status) return refuse(response, fault.status, "A requested fault");
  if (fault?.moved_to) {
    const location = `${fault.moved_to}${incoming.url}`;
    return void response.writeHead(302, { location }).end();
  }
  const archive = /^\/repos\/([\w-][\w.-]*)\/([\w-][\w.-]*)\/(tarball|commits)(?:\/(.+))?$/.exec(
    path,
  );
  if (archive && host.archives) return answerApi(host, request, archive);
  const download = /^\/codeload\/([\w.-]+)\/([\w.-]+)\/legacy\.tar\.gz\/([0-9a-f]{40})$/.exec(path);
  if (download && host.archives) return answerDownload(host, request, download, fault);
  const git =
    /^\/([\w-][\w.-]*)\/([\w-][\w.-]*?)(?:\.git)?(\/(?:info\/refs|git-upload-pack|git-receive-pack))$/;
  const smart = git.exec(path);
  if (smart) return answerGit(host, request, smart, fault);
  refuse(response, 404, "Not Found");
}

function note({ requests }: Host, text: string): void {
  requests.push(text);
  if (requests.length > MAX_NOTED) requests.shift();
}

/** Answers an archive or a commit. The answer for a private repository without a token is 404, as on public hosts. */
async function answerApi(host: Host, request: Request, match: RegExpExecArray) {
  const [, owner = "", name = "", kind, ref = "HEAD"] = match;
  const repository = toRepository(host, owner, name);
  const { incoming, response } = request;
  const token = credential(incoming);
  if (token !== null && !host.tokens.includes(token))
    return refuse(response, 401, "Bad credentials");
  if (!mayRead(host, owner, token) || !existsSync(repository.directory)) {
    return refuse(response, 404, "Not Found");
  }
  const commit = await resolveCommit(repository, ref);
  if (commit === null) {
    return kind === "commits"
      ? refuse(response, 422, `No commit found for SHA: ${ref}`)
      : refuse(response, 404, "Not Found");
  }
  if (kind === "commits") {
    const [date = "", message = ""] = await describeCommit(repository, commit);
    return send(response, 200, { sha: commit, commit: { message, author: { date } } });
  }
  const ticket = randomBytes(12).toString("hex");
  host.tickets.set(ticket, `${owner}/${name}`);
  const [oldest] = host.tickets.keys();
  if (oldest !== undefined && host.tickets.size > MAX_NOTED) host.tickets.delete(oldest);
  const origin = `http://127.0.0.1:${incoming.socket.localPort}`;
  const location = `${origin}/codeload/${owner}/${name}/legacy.tar.gz/${commit}?token=${ticket}`;
  response.writeHead(302, { location }).end();
}

function answerDownload(host: Host, request: Request, match: RegExpExecArray, fault?: Fault) {
  const [, owner = "", name = "", commit = ""] = match;
  const ticket = request.url.searchParams.get("token") ?? "";
  if (host.tickets.get(ticket) !== `${owner}/${name}`)
    return refuse(request.response, 404, "Not Found");
  host.tickets.delete(ticket);
  const { directory } = toRepository(host, owner, name);
  const folder = `${owner}-${name}-${commit.slice(0, 7)}`;
  request.response.writeHead(200, {
    "content-type": "application/x-gzip",
    "content-disposition": `attachment; filename=${folder}.tar.gz`,
  });
  const archive = ["archive", "--format=tar.gz", `--prefix=${folder}/`, "--end-of-options", commit];
  const child = spawn("git", ["--git-dir", directory, ...archive]);
  child.stdout.pipe(cut(request, fault)).pipe(request.response);
  killWith(request.response, child);
}

async function answerGit(host: Host, request: Request, match: RegExpExecArray, fault?: Fault) {
  const [, owner = "", name = "", rest = ""] = match;
  const repository = toRepository(host, owner, name);
  const { incoming, response, url } = request;
  const token = credential(incoming);
  if (!mayRead(host, owner, token)) return challenge(response, "Bad credentials");
  const pushes = `${url.search} ${rest}`.includes("git-receive-pack");
  if (pushes && token === null) return challenge(response, "A push needs the host's password");
  if (!existsSync(repository.directory)) {
    if (!pushes)
      return token === null ? challenge(response, "Not found") : refuse(response, 404, "Not Found");
    await run("git", ["init", "--quiet", "--bare", "-b", "main", repository.directory]);
  }
  const child = spawn("git", ["http-backend"], {
    env: cgi(host, request, repository, rest, pushes),
  });
  child.stdin.on("error", () => response.destroy());
  incoming.pipe(child.stdin);
  const last = rest === "/git-receive-pack" ? () => pointHead(repository) : async () => undefined;
  child.stdout.pipe(cgiResponse(response, last)).pipe(cut(request, fault)).pipe(response);
  killWith(response, child);
}

function killWith(response: ServerResponse, child: ChildProcess) {
  child.once("error", () => response.destroy());
  response.once("close", () => {
    if (child.exitCode === null) child.kill();
  });
}

function cgi(
  host: Host,
  { incoming, url }: Request,
  repository: Repository,
  rest: string,
  pushes: boolean,
) {
  const header = (name: string) => String(incoming.headers[name] ?? "");
  return {
    PATH: process.env.PATH,
    GIT_PROJECT_ROOT: host.root,
    GIT_HTTP_EXPORT_ALL: "1",
    GIT_PROTOCOL: header("git-protocol"),
    PATH_INFO: `/${repository.owner}/${repository.name}.git${rest}`,
    REQUEST_METHOD: incoming.method,
    QUERY_STRING: url.search.slice(1),
    CONTENT_TYPE: header("content-type"),
    ...(header("content-length") === "" ? {} : { CONTENT_LENGTH: header("content-length") }),
    HTTP_CONTENT_ENCODING: header("content-encoding"),
    // git refuses a push without a user.
    ...(pushes ? { REMOTE_USER: "local" } : {}),
    REMOTE_ADDR: "127.0.0.1",
  };
}

/** Reads the header block of a CGI program, then pipes its body; `last` runs before the end. */
function cgiResponse(response: ServerResponse, last: () => Promise<void>): Transform {
  let head: Buffer | null = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (head === null) return done(null, chunk);
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return done();
      const body = head.subarray(end + 4);
      writeHead(response, head.subarray(0, end).toString());
      head = null;
      done(null, body.length > 0 ? body : undefined);
    },
    flush(done) {
      // A failure of `last` is ignored: the push is stored, and the next one points HEAD.
      last().then(
        () => done(),
        () => done(),
      );
    },
  });
}

function writeHead(response: ServerResponse, text: string) {
  const headers = text.split("\r\n").map((line) => line.split(/: (.*)/s));
  const status = headers.find(([name]) => name?.toLowerCase() === "status")?.[1] ?? "200";
  for (const [name, value] of headers) {
    if (name && value && name.toLowerCase() !== "status") response.setHeader(name, value);
  }
  response.writeHead(Number.parseInt(status, 10));
}

function cut({ incoming }: Request, fault?: Fault): Transform {
  let left = fault?.truncate ?? Number.POSITIVE_INFINITY;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const part = left >= chunk.length ? chunk : chunk.subarray(0, left);
      left -= chunk.length;
      done(null, part);
      if (left < 0) incoming.socket.end();
    },
  });
}

/** Points HEAD at a pushed branch while `main` does not exist. */
async function pointHead(repository: Repository) {
  if ((await resolveCommit(repository, "HEAD")) !== null) return;
  const { stdout } = await git(repository, [
    "for-each-ref",
    "--count=1",
    "--format=%(refname)",
    "refs/heads",
  ]);
  const first = stdout.trim();
  if (first) await git(repository, ["symbolic-ref", "HEAD", first]);
}

async function resolveCommit(repository: Repository, ref: string): Promise<string | null> {
  try {
    const { stdout } = await git(repository, [
      "rev-parse",
      "--verify",
      "--quiet",
      "--end-of-options",
      `${ref}^{commit}`,
    ]);
    return stdout.trim();
  } catch {
    return null;
  }
}

/** @returns the author's time and the message */
async function describeCommit(repository: Repository, commit: string): Promise<string[]> {
  const { stdout } = await git(repository, ["show", "-s", "--format=%aI%x00%B", commit]);
  return stdout.split("\0");
}

function git(repository: Repository, args: string[]) {
  return run("git", ["--git-dir", repository.directory, ...args]);
}

function toRepository(host: Host, owner: string, given: string): Repository {
  const name = given.replace(/\.git$/, "");
  return { owner, name, directory: join(host.root, owner, `${name}.git`) };
}

/** A wrong token reads nothing, not even a public repository. */
function mayRead(host: Host, owner: string, token: string | null): boolean {
  return token === null ? owner !== PRIVATE_OWNER : host.tokens.includes(token);
}

function credential(incoming: IncomingMessage): string | null {
  const [scheme = "", value = ""] = (incoming.headers.authorization ?? "").split(" ");
  if (/^(bearer|token)$/i.test(scheme)) return value;
  if (!/^basic$/i.test(scheme)) return null;
  return Buffer.from(value, "base64")
    .toString()
    .replace(/^[^:]*:/, "");
}

function takeFault(host: Host, path: string): Fault | undefined {
  const fault = host.faults.find(({ match, times }) => times > 0 && path.includes(match));
  if (fault) fault.times -= 1;
  return fault;
}

function challenge(response: ServerResponse, message: string) {
  response.setHeader("www-authenticate", 'Basic realm="git"');
  refuse(response, 401, message);
}

function refuse(response: ServerResponse, status: number, message: string) {
  send(response, status, { message });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(body));
}
