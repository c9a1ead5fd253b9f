import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Egress } from "../../src/shared/egress/agent-egress.ts";

const OWN_PORT = 8787;
const MODEL_PORT = 11434;
/** Every switch is on, and an operator has listed the Worker's own port by mistake. */
const open = {
  ...env,
  LOCAL_PORTS: String(OWN_PORT),
  EGRESS_AGENT_HOSTS: `127.0.0.1:${MODEL_PORT}, 127.0.0.1:${OWN_PORT},localhost:${OWN_PORT}`,
};
const SEED = 20261122;

async function statusOf(url: string): Promise<number> {
  const ctx = Object.assign(createExecutionContext(), { props: { deployment_id: "d" } });
  const response = await new Egress(ctx, open).fetch(new Request(url));
  const text = await response.text();
  return text.startsWith("Heddle refused this request: ") ? response.status : 0;
}

describe("an agent is refused", () => {
  test.each([
    `http://127.0.0.1:${OWN_PORT}/cdn-cgi/local/r2/public/heddle-artifacts/artifacts/x.json`,
    `http://127.0.0.1:${OWN_PORT}/ok`,
    `http://localhost:${OWN_PORT}/ok`,
    `https://127.0.0.1:${OWN_PORT}/ok`,
    `http://127.0.0.1:${MODEL_PORT}/cdn-cgi/local/r2/public/x`,
    `http://127.0.0.1:${MODEL_PORT}/v1/%63dn-cgi/x`,
    `http://127.0.0.1:${MODEL_PORT}//CDN-CGI%2fx`,
    `http://127.0.0.1:${MODEL_PORT + 1}/v1`,
    `http://127.0.0.2:${MODEL_PORT}/v1`,
    "https://example.com/cdn-cgi/trace",
    "http://example.com/",
    "https://169.254.169.254/latest/meta-data/",
  ])("%s, with every switch on", async (url) => {
    expect(await statusOf(url)).toBe(403);
  });
});

test("a listed host and port is fetched", async () => {
  const listed = { ...open, EGRESS_AGENT_HOSTS: "127.0.0.1:9" };
  const ctx = Object.assign(createExecutionContext(), { props: { deployment_id: "d" } });
  const fetched = new Egress(ctx, listed).fetch(new Request("http://127.0.0.1:9/v1"));
  await expect(fetched).rejects.toThrow();
});

const byte = fc.integer({ min: 0, max: 255 });
/** IPv4 addresses that are not public, as four bytes. */
const address4 = fc.oneof<fc.Arbitrary<number[]>[]>(
  fc.tuple(fc.constant(127), byte, byte, byte),
  fc.tuple(fc.constant(10), byte, byte, byte),
  fc.tuple(fc.constant(0), byte, byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.constant<number[]>([127, 0, 0, 1]),
  fc.constant<number[]>([169, 254, 169, 254]),
);

type Notation = (bytes: number[]) => string;

const hex = (n: number) => n.toString(16);
const numberOf = (bytes: number[]) => bytes.reduce((sum, each) => sum * 256 + each, 0);
const groups = ([a = 0, b = 0, c = 0, d = 0]: number[]) =>
  `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
const wide = (text: string) =>
  text.replace(/[!-~]/g, (each) => String.fromCharCode(each.charCodeAt(0) + 0xfee0));
const percent = (text: string) =>
  text.replace(/[^.]/g, (each) => `%${hex(each.charCodeAt(0)).padStart(2, "0")}`);

const NOTATIONS: Notation[] = [
  (bytes) => bytes.join("."),
  (bytes) => bytes.map((each) => `0${each.toString(8)}`).join("."),
  (bytes) => bytes.map((each) => `0x${hex(each)}`).join("."),
  (bytes) =>
    bytes.map((each, n) => (n % 2 ? `0X${hex(each)}` : `000${each.toString(8)}`)).join("."),
  (bytes) => String(numberOf(bytes)),
  (bytes) => `0x${hex(numberOf(bytes))}`,
  (bytes) => `0${numberOf(bytes).toString(8)}`,
  ([a = 0, ...rest]) => `${a}.${numberOf(rest)}`,
  ([a = 0, b = 0, ...rest]) => `${a}.0x${hex(b)}.${numberOf(rest)}`,
  (bytes) => `${bytes.join(".")}.`,
  (bytes) => wide(bytes.join(".")),
  (bytes) => bytes.join("\u3002"),
  (bytes) => percent(bytes.join(".")),
  (bytes) => `[::ffff:${bytes.join(".")}]`,
  (bytes) => `[::FFFF:${groups(bytes)}]`,
  (bytes) => `[0:0:0:0:0:ffff:${groups(bytes)}]`,
  (bytes) => `[::${bytes.join(".")}]`,
  (bytes) => `[64:ff9b::${groups(bytes)}]`,
  (bytes) => `[2002:${groups(bytes)}::]`,
];

const NAMES = [
  ..."localhost localhost. LOCALHOST a.localhost ｌｏｃａｌｈｏｓｔ l%6fcalhost".split(" "),
  ..."[::1] [::] [0:0:0:0:0:0:0:1] [::0001] [fe80::1] [fd00::1] [fc00::7] [ff02::1]".split(" "),
  ..."metadata.google.internal printer.local host.lan box.home.arpa x.localdomain intranet".split(
    " ",
  ),
];

const host = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(address4, fc.constantFrom(...NOTATIONS))
      .map(([bytes, write]) => write(bytes)),
  },
  { weight: 1, arbitrary: fc.constantFrom(...NAMES) },
);
const port = fc.oneof(
  fc.constantFrom("", `:${OWN_PORT}`, `:0${OWN_PORT}`, ":80", ":443", `:${MODEL_PORT}`),
  fc.integer({ min: 1, max: 65535 }).map((each) => `:${each}`),
);
const path = fc.constantFrom(
  "/",
  "/ok",
  "/v2/deployments",
  "/cdn-cgi/local/r2/public/heddle-artifacts/x",
  "/%63dn-cgi/local/scheduled",
  "/x/../cdn-cgi/local/platform-proxy",
  "//cdn-cgi/local/email",
  "\\cdn-cgi\\x",
);
const userinfo = fc.constantFrom("", "user@", "user:secret@", "example.com@", "example.com%40@");
const scheme = fc.constantFrom(
  "http://",
  "https://",
  "HTTPS://",
  "https:\\\\",
  "https:/",
  "https:",
);

/** The one URL that the list opens. */
function isModel({ hostname, port: given, pathname }: URL): boolean {
  return hostname === "127.0.0.1" && given === String(MODEL_PORT) && !pathname.includes("cdn-cgi");
}

test("10,000 notations of private hosts reach nothing", async () => {
  const parts = fc.tuple(scheme, userinfo, host, port, path).map((each) => each.join(""));
  let requests = 0;
  await fc.assert(
    fc.asyncProperty(parts, async (text) => {
      const url = URL.parse(text);
      fc.pre(url !== null && !isModel(url));
      // `Request` refuses credentials in a URL; the rules are the same without them.
      url.username = "";
      url.password = "";
      requests += 1;
      expect([text, await statusOf(url.href)]).toEqual([text, 403]);
    }),
    { seed: SEED, numRuns: 10_000 },
  );
  expect(requests).toBe(10_000);
}, 300_000);
