// What workerd reads to run isolate-host.ts.
import { readFile } from "node:fs/promises";

type HostOptions = {
  /** The bundled script. */
  script: string;
  /** Variables of the main script. Secrets stay in the main process. */
  variables: Record<string, string>;
  /** The service of the main script in the main process. */
  main_service: string;
};

/** As Cap'n Proto text. */
export async function hostConfig(options: HostOptions): Promise<string> {
  const variables = { ...options.variables, MAIN_SERVICE: options.main_service };
  const bindings = Object.entries(variables).map(
    ([name, value]) => `(name = ${quote(name)}, text = ${quote(value)})`,
  );
  bindings.push('(name = "LOADER", workerLoader = ())');
  bindings.push('(name = "DEBUG_PORT", workerdDebugPort = void)');
  const certificates = (await readCertificates()).map(quote);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "host", worker = (
      modules = [(name = "host.js", esModule = ${quote(await readFile(options.script, "utf8"))})],
      compatibilityDate = "2026-11-01",
      globalOutbound = "internet",
      bindings = [${bindings.join(", ")}],
    )),
    (name = "internet", network = (
      allow = ["public", "private"],
      tlsOptions = (trustBrowserCas = true, trustedCertificates = [${certificates.join(", ")}]),
    )),
  ],
  sockets = [(name = "ping", http = (), service = "host")],
);
`;
}

/** Authorities that workerd trusts beside the system's. */
async function readCertificates(): Promise<string[]> {
  const file = process.env.NODE_EXTRA_CA_CERTS;
  if (!file) return [];
  const text = await readFile(file, "utf8");
  return text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
}

/** Every byte that is more than a letter is escaped. */
function quote(text: string): string {
  const bytes = Buffer.from(text).toString("latin1");
  const escaped = bytes.replace(
    /[^ !#-[\]-~]/g,
    (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  return `"${escaped}"`;
}
