// The configuration of a workerd in the pool.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

type ProcessConfig = {
  /** The folder of the script's modules, which the configuration is written to. */
  folder: string;
  /** Cap'n Proto text, like `bindings` and `services`. The other fields are plain. */
  modules: string;
  compatibility_date: string;
  bindings: string[];
  /** The network of the script's `fetch`. */
  outbound: keyof typeof NETWORKS;
  services?: string[];
  /** Classes of objects without storage, which stay in memory until they abort themselves. */
  objects?: string[];
  v8_flags?: string[];
};

/** The name of the script's service. */
const SERVICE = "script";

/** Addresses to which a process may connect. workerd checks an address after the name is resolved. */
const NETWORKS = {
  "public-network": ["public"],
  "any-network": ["public", "private"],
} as const;

export const DEBUG_PORT = '(name = "DEBUG_PORT", workerdDebugPort = void)';
/** Network by which `Egress` reaches the hosts of EGRESS_AGENT_HOSTS, which may be private. */
export const LISTED_HOSTS = '(name = "LISTED_HOSTS", service = "any-network")';
export const LOADER = '(name = "LOADER", workerLoader = ())';

/** Writes the configuration and returns its path. */
export async function writeConfig(config: ProcessConfig): Promise<string> {
  const path = join(config.folder, "process.capnp");
  const networks = await networkServices();
  const objects = (config.objects ?? []).map(
    (name) => `(className = "${name}", ephemeralLocal = void, preventEviction = true)`,
  );
  const text = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "${SERVICE}", worker = (
      modules = ${config.modules},
      compatibilityDate = ${quote(config.compatibility_date)},
      globalOutbound = "${config.outbound}",
      bindings = [${config.bindings.join(", ")}],
      durableObjectNamespaces = [${objects.join(", ")}],
    )),
    ${[...networks, ...(config.services ?? [])].join(",\n    ")}
  ],
  sockets = [(name = "ping", http = (), service = "${SERVICE}")],
  v8Flags = [${(config.v8_flags ?? []).map(quote).join(", ")}],
);
`;
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

export function textBindings(values: Record<string, string>): string[] {
  return Object.entries(values).map(
    ([name, value]) => `(name = ${quote(name)}, text = ${quote(value)})`,
  );
}

async function networkServices(): Promise<string[]> {
  const certificates = (await readCertificates()).map(quote);
  return Object.entries(NETWORKS).map(
    ([name, allow]) => `(name = "${name}", network = (
      allow = [${allow.map(quote).join(", ")}],
      tlsOptions = (trustBrowserCas = true, trustedCertificates = [${certificates.join(", ")}]),
    ))`,
  );
}

/** Returns the certificates of the authorities that workerd trusts beside those of browsers. */
async function readCertificates(): Promise<string[]> {
  const file = process.env.NODE_EXTRA_CA_CERTS;
  if (!file) return [];
  const text = await readFile(file, "utf8");
  return text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
}

/** Quotes a text. Escapes `"`, `\`, and all bytes that are not printable ASCII. */
function quote(text: string): string {
  const bytes = Buffer.from(text).toString("latin1");
  const escaped = bytes.replace(
    /[^ !#-[\]-~]/g,
    (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  return `"${escaped}"`;
}
