import { connect } from "cloudflare:sockets";
import { WorkerEntrypoint } from "cloudflare:workers";
import { AppError } from "../errors.ts";
import { isRuntimePath, portOf, RUNTIME_PATH_REFUSED } from "./addresses.ts";
import { egressRefusal, ownPorts, publicPolicy } from "./egress.ts";

/** Relays of mail refuse it too: agents would send spam from the addresses of the installation. */
const SMTP_PORT = 25;

type Variables = Pick<Env, "EGRESS_AGENT_HOSTS" | "EGRESS_DNS_URL" | "LOCAL_PORTS">;

/** Reaches private addresses for listed hosts. On one machine `fetch` reaches public ones only. */
type Network = { LISTED_HOSTS?: Fetcher };

/** The `globalOutbound` of agents' isolates. Redirects are returned, so that the next hop comes through here again. */
export class Egress extends WorkerEntrypoint<Env & Network, { deployment_id: string }> {
  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    try {
      const refused = await agentRefusal(this.env, url);
      if (refused !== null) return answer(403, `${refused}.`);
    } catch (error) {
      const { status, message } = AppError.from(error);
      return answer(status, message);
    }
    const network = isListed(this.env, url) ? (this.env.LISTED_HOSTS ?? globalThis) : globalThis;
    return network.fetch(request, { redirect: "manual" });
  }

  /** Connects the agent's TCP socket by the rules of `fetch`. A refused one is closed. */
  override async connect(socket: Socket): Promise<void> {
    const { localAddress = "" } = await socket.opened;
    const url = URL.parse(`https://${localAddress}`);
    const refused = url === null ? "no host and port" : await agentRefusal(this.env, url);
    if (url === null || refused !== null || portOf(url) === SMTP_PORT) return socket.close();
    const address = { hostname: url.hostname, port: portOf(url) };
    const network = isListed(this.env, url) ? this.env.LISTED_HOSTS : undefined;
    const upstream = network ? network.connect(address) : connect(address);
    await Promise.all([
      socket.readable.pipeTo(upstream.writable),
      upstream.readable.pipeTo(socket.writable),
    ]);
  }
}

function answer(status: number, text: string): Response {
  return new Response(`Heddle refused this request: ${text}`, { status });
}

/** Agents reach public hosts, and the hosts of EGRESS_AGENT_HOSTS. No switch for other purposes applies to them. */
export async function agentRefusal(env: Variables, url: URL): Promise<string | null> {
  if (isRuntimePath(url)) return RUNTIME_PATH_REFUSED;
  return isListed(env, url) ? null : egressRefusal(publicPolicy(env), url);
}

/** A list that names a port of Heddle's own does not open it. */
function isListed(env: Variables, url: URL): boolean {
  if (ownPorts(env).includes(portOf(url))) return false;
  return env.EGRESS_AGENT_HOSTS.split(",").some((entry) => {
    const listed = URL.parse(`${url.protocol}//${entry.trim()}`);
    return listed !== null && listed.host === url.host;
  });
}
